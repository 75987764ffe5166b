/** From raw rounds to the figures of the table, with the reasons to doubt them. */
import { type HistogramSnapshot, mergeHistograms, type QuantileSummary } from '../../src/base/histogram.js'
import { medianOfKnown, quantileError } from '../harness/figures/statistics.js'
import { judgeBar, overRounds } from './bars.js'
import { errorTotal, type RoundFigures, type SideFigures, type SideName } from './job.js'
import type { Expectation, Scenario } from './scenarios.js'

/** A side over all rounds: medians, except errors, which are added up. */
export type SideSummary = ReturnType<typeof sideSummary>
/** What callers of streams saw, all rounds together; milliseconds. */
export type StreamSummary = NonNullable<ReturnType<typeof streamSummary>>
export type ItemCost = ReturnType<typeof costPerItem>
export type ScenarioSummary = ReturnType<typeof summarize>

/** From this share of its core on, a rate is what the generator could ask, not what the server could answer. */
export const GENERATOR_CEILING = 0.95

/** A round whose two sides together got this much less CPU than the others was disturbed from outside. */
const DISTURBED_BELOW = 0.95

/** Cores that other programs may use before a round counts as disturbed; the runner itself needs a little. */
const FOREIGN_TOLERATED = 0.1

/** Sums up one scenario. `connections` is the number used, which an option may have changed. */
export function summarize(scenario: Scenario, connections: number, rounds: readonly RoundFigures[]) {
  const ours = sideSummary(rounds.map((round) => round.ours))
  const floor = otherSummary(rounds, 'floor')
  return {
    name: scenario.name,
    operation: scenario.operation,
    note: scenario.note,
    connections,
    floorKind: scenario.floor.kind,
    ours,
    floor,
    /** Another gateway under the same load. */
    peer: otherSummary(rounds, 'peer'),
    /** Our rate over the peer's, paired by round. */
    peerRatio: overRounds(({ ours, peer }) => (peer === null ? null : ours.rate / peer.rate), rounds),
    rateRatio: overRounds('rateRatio', rounds),
    cpuRatio: overRounds('cpuRatio', rounds),
    bars: (scenario.bars ?? []).map((bar) => judgeBar(bar, rounds)),
    perItem: scenario.itemsVisited === undefined ? null : costPerItem(scenario.itemsVisited, rounds),
    poll: pollSummary(rounds),
    checks: (scenario.expect ?? []).map((expected) => checkExpectation(expected, ours, rounds)),
    warnings: [
      ...ceilingWarnings(ours, floor),
      ...foreignLoadWarnings(rounds),
      ...disturbanceWarnings(rounds),
      ...littleWarnings(connections, rounds),
      ...errorWarnings(rounds),
    ],
  }
}

function otherSummary(rounds: readonly RoundFigures[], name: 'floor' | 'peer'): SideSummary | null {
  const sides = rounds.flatMap((round) => round[name] ?? [])
  return sides.length === 0 ? null : sideSummary(sides)
}

function sideSummary(sides: readonly SideFigures[]) {
  return {
    rate: medianOfKnown(sides.map((side) => side.rate)) ?? 0,
    p50: medianOfKnown(sides.map((side) => side.latency?.p50)),
    p99: medianOfKnown(sides.map((side) => side.latency?.p99)),
    errors: sides.reduce((sum, side) => sum + errorTotal(side), 0),
    cpuUsPerRequest: medianOfKnown(sides.map((side) => side.cpuUsPerRequest)),
    serverShare: medianOfKnown(sides.map((side) => side.serverShare)),
    generatorShare: medianOfKnown(sides.map((side) => side.generatorShare)),
    rssBytes: medianOfKnown(sides.map((side) => side.rssBytes)),
    /** All rounds in one histogram; null when the tool keeps none. */
    merged: mergedQuantiles(sides.map((side) => side.histogram)),
    /** Null where no stream was looked into. */
    stream: streamSummary(sides),
    /** What the side adds to a call, milliseconds; null where that was not asked. */
    added: addedSummary(sides),
  }
}

function streamSummary(sides: readonly SideFigures[]) {
  const streams = sides.flatMap(({ stream, seconds }) => (stream === null ? [] : [{ ...stream, seconds }]))
  if (streams.length === 0) return null
  return {
    /** Median over the rounds. */
    tokensPerSecond: medianOfKnown(streams.map(({ tokens, seconds }) => tokens / seconds)) ?? 0,
    firstToken: mergeHistograms(streams.map(({ firstToken }) => firstToken)).quantiles(),
    /** CPU microseconds of the server. */
    cpuUsPerToken: medianOfKnown(
      sides.map(({ cpuUsPerRequest, completed, stream }) =>
        cpuUsPerRequest === null || !stream ? null : (cpuUsPerRequest * completed) / stream.tokens,
      ),
    ),
    gap: mergeHistograms(streams.map(({ gap }) => gap)).quantiles(),
  }
}

function addedSummary(sides: readonly SideFigures[]) {
  const all = sides.flatMap(({ added }) => added ?? [])
  if (all.length === 0) return null
  const middle = (of: 'p50' | 'p99') => medianOfKnown(all.map((one) => one[of])) ?? 0
  return { p50: middle('p50'), p99: middle('p99'), max: Math.max(...all.map(({ max }) => max)) }
}

function mergedQuantiles(snapshots: readonly (HistogramSnapshot | null)[]): QuantileSummary | null {
  const all = mergeHistograms(snapshots)
  return all.count === 0 ? null : all.quantiles()
}

/** Server CPU per item visited, and the median reply time on one connection per item; nanoseconds. */
function costPerItem(items: number, rounds: readonly RoundFigures[]) {
  const cpuUs = medianOfKnown(rounds.map((round) => round.ours.cpuUsPerRequest))
  const soloMs = medianOfKnown(rounds.map((round) => round.solo?.latency?.p50))
  const floorUs = medianOfKnown(rounds.map((round) => round.floor?.cpuUsPerRequest))
  return {
    items,
    cpuNs: cpuUs === null ? null : (cpuUs * 1e3) / items,
    latencyNs: soloMs === null ? null : (soloMs * 1e6) / items,
    floorNs: floorUs === null ? null : (floorUs * 1e3) / items,
  }
}

/** The light caller beside the load, all rounds together; latency from due time, ms. */
function pollSummary(rounds: readonly RoundFigures[]) {
  const latency = mergeHistograms(rounds.map((round) => round.ours.poll?.latency ?? null))
  if (latency.count === 0) return null
  const lateness = mergeHistograms(rounds.map((round) => round.ours.poll?.lateness ?? null))
  return { latency: latency.quantiles(), latenessP99: lateness.quantile(0.99), count: latency.count }
}

/** The delays are drawn from 400 ms: a short run misses the true quantile by chance, so three standard errors are allowed. */
function checkExpectation(expected: Expectation, ours: SideSummary, rounds: readonly RoundFigures[]) {
  const { figure } = expected
  if (figure === 'serverShare') {
    return checkRange('server CPU share', ours.serverShare, expected.min, expected.max, 0)
  }
  const count = rounds.reduce((sum, round) => sum + round.ours.completed, 0)
  const center = (expected.min + expected.max) / 2
  const chance = 3 * quantileError(figure === 'p50' ? 0.5 : 0.99, 400, count)
  const half = Math.max((expected.max - expected.min) / 2, chance)
  return checkRange(`${figure} ms`, (ours.merged ?? ours)[figure], center - half, center + half, 1)
}

function checkRange(name: string, value: number | null, min: number, max: number, digits: number) {
  const places = digits === 0 ? 3 : digits
  const shown = value === null ? 'not measured' : value.toFixed(places)
  const good = value !== null && value >= min && value <= max
  return { text: `${name}: ${shown}, expected ${min.toFixed(places)} to ${max.toFixed(places)}`, good }
}

function ceilingWarnings(ours: SideSummary, floor: SideSummary | null): string[] {
  const atCeiling = (side: SideSummary | null) => (side?.generatorShare ?? 0) >= GENERATOR_CEILING
  const said = {
    ours: 'on our side: our rate and its ratio are lower bounds',
    floor: "on the floor: the floor's rate is a lower bound, the rate ratio an upper bound",
    both: 'on both sides: both rates are lower bounds and their ratio says nothing; read the CPU ratio',
  }
  if (!atCeiling(ours) && !atCeiling(floor)) return []
  const where = !atCeiling(floor) ? 'ours' : atCeiling(ours) ? 'both' : 'floor'
  return [`the generator was at its ceiling ${said[where]}`]
}

/** Cores taken by programs outside the run, by round, for sides that lost more than the tolerated share. */
function foreignLoadWarnings(rounds: readonly RoundFigures[]): string[] {
  const sides = (['ours', 'floor'] as const).flatMap((name) => {
    const shares = rounds.map((round) => round[name]?.foreignShare ?? 0)
    if (shares.every((share) => share < FOREIGN_TOLERATED)) return []
    return [`${name} ${shares.map((share) => share.toFixed(2)).join(', ')}`]
  })
  return sides.length === 0 ? [] : [`other programs used the cores meanwhile, by round: ${sides.join('; ')}`]
}

/** Names rounds that got less CPU than their peers. They stay in: choosing after the fact is not measuring. */
function disturbanceWarnings(rounds: readonly RoundFigures[]): string[] {
  const sides = (['ours', 'floor'] as const).flatMap((name) => {
    const shares = rounds.map((round) => (round[name]?.serverShare ?? 0) + (round[name]?.generatorShare ?? 0))
    const usual = medianOfKnown(shares) ?? 0
    const low = shares.flatMap((value, round) => (value < DISTURBED_BELOW * usual ? [round + 1] : []))
    return low.length === 0 ? [] : [`${name} in round ${low.join(', ')}`]
  })
  return sides.length === 0 ? [] : [`over 5 % less CPU than in the other rounds: ${sides.join('; ')}`]
}

/**
 * Little's law: in a closed loop rate times mean latency is the number of connections. A tool for which it does
 * not hold did not time what callers waited. wrk is known for that at saturation, so only histograms are held to it.
 */
function littleWarnings(connections: number, rounds: readonly RoundFigures[]): string[] {
  const off = rounds.flatMap(({ ours }, round) => {
    if (ours.histogram === null || ours.latency === null || ours.completed === 0) return []
    const implied = (ours.rate * ours.latency.mean) / 1000
    // Requests cut off at the two ends of the measurement weigh more the fewer there are.
    const allowed = 0.05 + connections / ours.completed
    return Math.abs(implied / connections - 1) <= allowed ? [] : [`round ${round + 1}: ${implied.toFixed(1)}`]
  })
  return off.length === 0
    ? []
    : [`rate times mean latency should be ${connections} requests in flight but is, ${off.join(', ')}`]
}

function errorWarnings(rounds: readonly RoundFigures[]): string[] {
  const silent = rounds.flatMap(({ ours }, round) => (ours.completed === 0 ? [round + 1] : []))
  const unanswered = silent.length === 0 ? [] : [`ours: no reply at all in round ${silent.join(', ')}`]
  return unanswered.concat(failureWarnings(rounds))
}

function failureWarnings(rounds: readonly RoundFigures[]): string[] {
  const names: readonly (SideName | 'solo')[] = ['ours', 'floor', 'peer', 'solo']
  return names.flatMap((name) => {
    const sides = rounds.flatMap((round) => (round[name] === null ? [] : [round[name]]))
    if (sides.every((side) => errorTotal(side) === 0)) return []
    const sum = (pick: (side: SideFigures) => number) => sides.reduce((total, side) => total + pick(side), 0)
    const counts = [
      `${sum(({ errors }) => errors.non2xx)} replies outside 2xx`,
      `${sum(({ errors }) => errors.timeouts)} timeouts`,
      `${sum(({ errors }) => errors.resets)} lost connections`,
      `${sum(({ errors }) => errors.incomplete)} incomplete answers`,
      `${sum(({ poll }) => poll?.errors ?? 0)} failed polls`,
    ]
    return [`${name}: ${counts.join(', ')}`]
  })
}
