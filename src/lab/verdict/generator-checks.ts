/** V10 to V14: did the generator keep up, with which pattern, and over which connections? */
import type { LoopClass } from '../run-summary.js'
import { indexOfDispersion } from '../sums.js'
import { type CheckFinding, fail, failWhenQuiet, pass, type ReportEvidence, skip, warn } from './evidence.js'
import { AGREES } from './loop-class.js'
import { stepLengthOf } from './observed-load.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

/** From here on the generator is busy enough to disturb itself. */
const GENERATOR_BUSY = 0.8
/** From here on a rate is what the generator can do, not what the server can. */
const GENERATOR_FULL = 0.95

/** V10: a generator without CPU time left measures itself. */
export function checkGeneratorCpu(evidence: ReportEvidence): CheckFinding {
  const { report, due, truth, latenessP99: late, latenessLimit, busy } = evidence
  if (report.cpuCores <= 0) return skip("the generator's CPU time was not measured")
  const share = report.cpuShare
  const reason = `the generator used ${formatPercent(share)} % of its ${formatNumber(report.cpuCores)} core${report.cpuCores === 1 ? '' : 's'}`
  if (share < GENERATOR_BUSY && busy && due === null) {
    return warn(`${reason}, at its own pace: its rate may be what other programs left it`)
  }
  if (share < GENERATOR_BUSY) return pass(`${reason}, below ${formatPercent(GENERATOR_BUSY)} %`)
  const onTime = late !== null && late <= latenessLimit
  if (due !== null && onTime && truth.total.arrivals >= 0.99 * due) {
    return pass(`${reason}, and yet sent on time (p99 ${formatMs(late)} ms late): it spins while it waits`)
  }
  if (share < GENERATOR_FULL) return warn(`${reason}, above ${formatPercent(GENERATOR_BUSY)} %`)
  return fail(`${reason}: ${formatNumber(report.rps)}/s is its ceiling and a lower bound of the server's`)
}

/** V11: an open loop that sends late measures too little. */
export function checkLateness(evidence: ReportEvidence): CheckFinding {
  const { report, latenessP99: late, latenessLimit } = evidence
  if (report.loop !== 'open') return skip('a closed loop has no due times')
  if (late === null) return checkHiddenLateness(evidence)
  const reason = `one request in a hundred left ${formatMs(late)} ms or more after it was due, the limit is ${formatMs(latenessLimit)} ms`
  return late <= latenessLimit ? pass(reason) : failWhenQuiet(evidence, reason)
}

/** A tool that hides its due times is no better for it: what it adds to the latencies shows all the same. */
function checkHiddenLateness({ claims, expected, report }: ReportEvidence): CheckFinding {
  const hidden = 'the tool does not tell when its requests were due'
  const added = claims
    .filter(({ p }) => expected !== null && p <= 0.99)
    .map(({ name, p, ms }) => ({ name, ms, due: expected!.quantile(p) }))
    .filter(({ ms, due }) => ms - due > AGREES * due + report.quantum + 2)
    .sort((a, b) => b.ms - b.due - (a.ms - a.due))[0]
  if (added === undefined) return skip(hidden)
  const { name, ms, due } = added
  return warn(
    `${hidden}; ${name} ${formatMs(ms)} ms, where the schedule saw ${formatMs(due)} ms: ${formatMs(ms - due)} ms are its own`,
  )
}

const EVEN = 0.3
/** How far from 1 the figures of a Poisson schedule may be. */
const POISSON_SLACK = 0.3
/** An index above is no chance: the schedule itself is uneven. */
export const BURSTY = 2
/** Programs that took three quarters of the machine made a schedule less uneven than this: the tool sends in bursts. */
const BURSTY_BY_DESIGN = 10

/** V12: are the arrivals spread as a constant or a Poisson schedule is? */
export function checkPattern(evidence: ReportEvidence, loopClass: LoopClass): CheckFinding {
  const { truth, declaredRate, stalls } = evidence
  if (declaredRate === null) return skip('a closed loop without a rate has no pattern')
  if (truth.total.arrivals < 20) return skip(`${formatNumber(truth.total.arrivals)} arrivals show no pattern`)
  const index = arrivalDispersion(evidence)
  // A stall leaves one long gap in the arrivals of a client that stops with the server.
  const cv = stalls === null || loopClass === 'open' ? truth.total.gap.cv : null
  const figures = `dispersion ${formatRatio(index)} of the counts${cv === null ? '' : `, variation ${formatRatio(cv)} of the gaps`}`
  if (index > BURSTY) {
    const bursty = `bursty: ${figures}, where ${formatNumber(declaredRate)}/s at even gaps have at most ${EVEN} and Poisson has 1`
    return index > BURSTY_BY_DESIGN ? fail(bursty) : failWhenQuiet(evidence, bursty)
  }
  const found = recognizePattern(index, cv, evidence.quiet.length)
  if (found === null) return warn(`neither constant nor Poisson: ${figures}`)
  const wanted = truth.expect?.pattern
  return wanted !== undefined && wanted !== found
    ? fail(`${found}, where ${wanted} was expected: ${figures}`)
    : pass(`${found}: ${figures}`)
}

function recognizePattern(index: number, cv: number | null, steps: number): 'constant' | 'poisson' | null {
  // The index of few steps is a matter of chance.
  const slack = Math.max(POISSON_SLACK, steps < 10 ? 0 : 3 * Math.sqrt(2 / (steps - 1)))
  if (index <= EVEN && (cv === null || cv <= EVEN)) return 'constant'
  return Math.abs(index - 1) <= slack && (cv === null || Math.abs(cv - 1) <= POISSON_SLACK) ? 'poisson' : null
}

/** Variance over mean of the arrivals per step, without the stalls where the series allows it. */
export function arrivalDispersion({ quiet, truth, series }: ReportEvidence): number {
  if (quiet.length < 10 || stepLengthOf(series) === 0) return truth.total.gap.dispersion
  return indexOfDispersion(quiet.map(({ arrivals }) => arrivals))
}

/** V13: as many connections as asked for, opened once. An open loop's number is the most it may use. */
export function checkConnections({ truth, report }: ReportEvidence): CheckFinding {
  const { peak, opened } = truth.connections
  const asked = report.connections
  if (asked === 0 || peak === 0) return skip('the number of connections is unknown')
  const slack = 1 + 0.05 * asked
  const reason = `${formatNumber(asked)} connections asked for, at most ${formatNumber(peak)} at once, ${formatNumber(opened)} opened`
  if (peak > asked + slack) return warn(`${reason}: more than asked for`)
  if (report.loop === 'closed' && peak < asked - slack) return warn(`${reason}: fewer than asked for`)
  return opened > peak * 1.1 + 1 ? warn(`${reason}: they did not stay open`) : pass(reason)
}

/** V14: a rate that the connections cannot carry. */
export function checkConnectionCap(evidence: ReportEvidence): CheckFinding {
  const { truth, report, declaredRate, due } = evidence
  const busy = truth.connections.shareBusy
  if (declaredRate === null || due === null)
    return skip('a closed loop without a rate always uses all its connections')
  if (busy === null) return skip('the server was not told how many connections to expect')
  const reason = `all connections were busy ${formatPercent(busy)} % of the time, ${formatNumber(truth.total.arrivals)} of ${formatNumber(due)} due requests arrived`
  if (busy <= 0.2 || truth.total.arrivals >= 0.99 * due) return pass(reason)
  const mean = Math.max(truth.total.service.mean, report.mean ?? 0)
  return failWhenQuiet(
    evidence,
    `connection-limited: ${reason}; ${formatNumber(declaredRate)}/s of ${formatNumber(mean)} ms each need ${formatNumber(connectionsNeeded(declaredRate, mean))} connections, ${formatNumber(report.connections)} were given`,
  )
}

/**
 * Connections that an open loop needs so that it never has to wait for one: requests in flight spread like Poisson
 * around `rate` times the mean, and four deviations above it are as good as never.
 */
function connectionsNeeded(rate: number, meanMs: number): number {
  const inFlight = (rate * meanMs) / 1000
  return Math.ceil(inFlight + 4 * Math.sqrt(inFlight))
}
