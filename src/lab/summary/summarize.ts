/** What the workers recorded, as the summary of a run. */

import { NOTHING } from '../recorder/tally.js'
import type { Expectation, OperationTruth, RunSummary, Stall, WorkerTruth } from '../truth.js'
import type { FlowPart, OperationPart, Rare, SeriesPart, WorkerPart } from '../wire.js'
import { byName, mergeOperations, sum } from './merge.js'
import type { MergedGaps } from './merged-gaps.js'
import { quantiles, THINGS } from './quantiles.js'
import { arrivalsPerStep } from './series.js'

/** What is known about a run without asking anybody. */
interface RunFacts {
  readonly id: string
  readonly label: string
  readonly expect: Expectation | null
  readonly state: RunSummary['state']
  readonly seed: number
  readonly delays: RunSummary['delays']
  readonly marks: readonly string[]
  readonly stale: readonly number[]
  readonly slices: { readonly seconds: number; readonly count: number }
  readonly environment: RunSummary['environment']
}

/**
 * @param series the steps of the window, for the index of dispersion; may be empty
 * @param gaps between the arrivals of all workers; without them each worker's own are added up
 */
export function summarize(
  facts: RunFacts,
  parts: readonly WorkerPart[],
  series: readonly SeriesPart[],
  window: { readonly fromMs: number; readonly toMs: number },
  gaps: MergedGaps | null = null,
): RunSummary {
  const seconds = Math.max(0, window.toMs - window.fromMs) / 1000
  const all = parts.flatMap(({ operations }) => operations)
  const truth = (part: OperationPart): OperationTruth =>
    operationTruth(part, seconds, dispersion(series, part, part.name === TOTAL ? undefined : part.name))
  const operations = byName(all, added).map((part) => [part.name, truth(part)] as const)
  const { stale, marks, ...known } = facts
  return {
    ...known,
    marks: [...new Set([...marks, ...parts.flatMap((part) => part.marks)])],
    window: { fromNs: nanoseconds(window.fromMs), toNs: nanoseconds(window.toMs), seconds },
    total: truth({ ...totalOf(parts, all), ...gaps }),
    operations: Object.fromEntries(operations),
    connections: connectionsOf(parts, seconds, facts.expect),
    workers: parts.map((part) => workerTruth(part)),
    stalls: parts.flatMap((part) => part.stalls.map((stall) => stallOf(stall, part.worker, window.toMs))),
    ...(stale.length > 0 && { stale }),
  }
}

const TOTAL = ''

/** Counts are those of the operations; arrivals and concurrency were recorded over all of them together. */
function totalOf(parts: readonly WorkerPart[], operations: readonly OperationPart[]): OperationPart {
  const flows = parts.map(({ total }): OperationPart => ({ ...EMPTY, ...total }))
  const counts = operations.map((operation): OperationPart => ({ ...operation, ...STILL }))
  return mergeOperations([EMPTY, ...flows, ...counts], added, TOTAL)
}

const STILL: FlowPart = {
  gap: NOTHING,
  gapSquares: 0,
  seen: NOTHING,
  area: 0,
  peak: 0,
  busy: 0,
  firstAt: null,
  lastAt: null,
}
const EMPTY: OperationPart = {
  name: TOTAL,
  arrivals: 0,
  completed: 0,
  aborted: 0,
  inFlight: 0,
  bytesIn: 0,
  bytesOut: 0,
  statuses: [],
  faults: [],
  service: NOTHING,
  rare: {},
  ...STILL,
}

function operationTruth(part: OperationPart, seconds: number, index: number): OperationTruth {
  const { arrivals, completed, aborted, inFlight, bytesIn, bytesOut, gap, gapSquares } = part
  const rare = (what: Rare) => quantiles(part.rare[what] ?? NOTHING)
  return {
    arrivals,
    completed,
    aborted,
    inFlight,
    statuses: Object.fromEntries(part.statuses.map(([status, n]) => [String(status), n])),
    bytesIn,
    bytesOut,
    faults: Object.fromEntries(part.faults),
    rate: seconds > 0 ? arrivals / seconds : 0,
    ...(part.firstAt !== null && { firstArrivalNs: nanoseconds(part.firstAt) }),
    ...(part.lastAt !== null && { lastArrivalNs: nanoseconds(part.lastAt) }),
    service: quantiles(part.service),
    delayError: rare('delayError'),
    gap: { ...quantiles(gap), cv: variation(gap.count, gap.sum, gapSquares), dispersion: index },
    concurrency: {
      seen: quantiles(part.seen, THINGS),
      max: part.peak,
      mean: seconds > 0 ? part.area / (seconds * 1000) : 0,
    },
    lateness: rare('lateness'),
    wait: rare('wait'),
    firstChunk: rare('firstChunk'),
    chunkGap: rare('chunkGap'),
    chunks: quantiles(part.rare.chunks ?? NOTHING, THINGS),
    backpressure: rare('backpressure'),
  }
}

/** Standard deviation over mean. */
function variation(count: number, total: number, squares: number): number {
  if (count === 0 || total === 0) return 0
  const mean = total / count
  return Math.sqrt(Math.max(0, squares / count - mean * mean)) / mean
}

/** Variance over mean of the arrivals per 100 ms, from the first to the last arrival; 0 where nothing can be said. */
function dispersion(series: readonly SeriesPart[], part: FlowPart, operation: string | undefined): number {
  if (part.firstAt === null || part.lastAt === null || series.length === 0) return 0
  const counts = arrivalsPerStep(series, part.firstAt, part.lastAt, operation)
  if (counts.length < 2) return 0
  const mean = sum(counts, (n) => n) / counts.length
  if (mean === 0) return 0
  return sum(counts, (n) => (n - mean) ** 2) / (counts.length - 1) / mean
}

function connectionsOf(
  parts: readonly WorkerPart[],
  seconds: number,
  expect: Expectation | null,
): RunSummary['connections'] {
  const area = sum(parts, ({ connections }) => connections.area)
  const shares = parts.map(({ total, connections }) => ({ busy: total.busy, weight: connections.area }))
  const weight = sum(shares, (share) => share.weight)
  const busy = weight === 0 ? 0 : sum(shares, (share) => share.busy * share.weight) / weight
  return {
    peak: sum(parts, ({ connections }) => connections.peak),
    opened: sum(parts, ({ connections }) => connections.opened),
    closed: sum(parts, ({ connections }) => connections.closed),
    mean: seconds > 0 ? area / (seconds * 1000) : 0,
    shareBusy: expect?.connections === undefined || seconds === 0 ? null : busy / (seconds * 1000),
  }
}

function workerTruth({ worker, cpuMs, fromMs, toMs, lag }: WorkerPart): WorkerTruth {
  return { worker, cpuShare: toMs > fromMs ? cpuMs / (toMs - fromMs) : 0, lag: quantiles(lag) }
}

function stallOf(
  { startMs, endMs, ...counts }: WorkerPart['stalls'][number],
  worker: number,
  now: number,
): Stall {
  return { worker, startNs: nanoseconds(startMs), endNs: nanoseconds(endMs ?? now), ...counts }
}

/** Decimal text: nanoseconds outgrow the numbers that JSON keeps exactly. */
export function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}

export function added(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
