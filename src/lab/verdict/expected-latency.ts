/** What an open client on the declared schedule must have measured, given what the server did in the window. */
import { seededRandom } from '../../base/random.js'
import type { DistributionSummary, RunSummary } from '../run-summary.js'
import { type PlannedStalls, stopsClientsFelt } from './observed-load.js'

export interface ExpectedLatency {
  readonly mean: number
  readonly max: number
  /** Milliseconds at a probability of 0 to 1. */
  readonly quantile: (p: number) => number
  /** Whether a stop of the server decides about this quantile. */
  readonly stalled: (p: number) => boolean
}

interface ExpectedLatencyInput {
  readonly truth: RunSummary
  readonly stalls: PlannedStalls | null
  /** Arrivals per second. */
  readonly pace: number
  readonly seconds: number
  /** First arrival, milliseconds from the window's start. */
  readonly startMs: number
}

/** Golden ratio less one: multiples of it, without their whole part, spread evenly. */
const GOLDEN = 0.6180339887498949

/** Arrivals in a replay: how dense a schedule is does not change how long its requests wait. */
const REPLAYED = 10_000

/** Less than this a tool's clock may round away. */
const LEAST_STALL_MS = 10

/** Null when there is no schedule, or no request to learn the service time from. */
export function expectLatency(seen: ExpectedLatencyInput): ExpectedLatency | null {
  const { truth, pace, seconds } = seen
  if (truth.total.service.count === 0 || pace <= 0 || seconds <= 0) return null
  const base = baseQuantile(truth.total.service, heldShare(seen))
  const sorted = Float64Array.from(replaySchedulePerWorker(seen, base)).sort()
  return {
    mean: sorted.reduce((total, value) => total + value, 0) / sorted.length,
    max: sorted.at(-1) ?? 0,
    quantile: (p) => quantileOfSorted(sorted, p),
    stalled: (p) => {
      const expected = quantileOfSorted(sorted, p)
      return expected - base(p) > Math.max(LEAST_STALL_MS, 0.1 * expected)
    },
  }
}

/** Each worker's share of the schedule, against its own stops. */
function replaySchedulePerWorker(seen: ExpectedLatencyInput, base: (p: number) => number): number[] {
  const { truth, stalls, seconds, startMs } = seen
  const schedule = scheduleArrivals(
    truth.expect?.pattern ?? 'constant',
    coveringStart(startMs, seconds, stalls),
    seconds * 1000,
    REPLAYED,
  )
  const stops = stopsClientsFelt(truth)
  const workers = [...new Set([...truth.workers, ...stops].map(({ worker }) => worker))]
  if (workers.length === 0) workers.push(0)
  return workers.flatMap((worker, turn) =>
    replayArrivals(
      schedule.filter((_, index) => index % workers.length === turn),
      stops.filter((stop) => stop.worker === worker),
      (index) => base(((index + 1) * GOLDEN) % 1),
    ),
  )
}

/** A window may open before the tool is up: a schedule that would end before a stop is moved so that it meets it. */
function coveringStart(startMs: number, seconds: number, stalls: PlannedStalls | null): number {
  const last = Math.max(0, ...(stalls?.stops ?? []).map(({ toMs }) => toMs))
  return Math.max(startMs, last - seconds * 1000)
}

/** Share of the recorded service times that hold a wait for the end of a hold. */
function heldShare({ truth, stalls }: ExpectedLatencyInput): number {
  if (stalls === null || !stalls.kinds.includes('hold')) return 0
  return Math.min(0.9, stalls.arrivals / Math.max(1, truth.total.arrivals))
}

/**
 * The quantiles of the service without its held part, straight between the recorded ones. Where nothing is recorded the
 * curve goes on as it rose before: below the median twice as far as from there to the upper quartile, and above the
 * last quantile that no held request is in.
 */
function baseQuantile({ percentiles, mean, max }: DistributionSummary, held: number): (p: number) => number {
  const recorded = quantilePoints(percentiles)
  if (recorded.length < 2) return () => mean
  const at = (p: number) => (recorded.find((point) => Math.abs(point.p - p) < 1e-9) ?? recorded[0]!).ms
  const least = { p: 0, ms: Math.max(0, 3 * at(0.5) - 2 * at(0.75)) }
  if (held === 0) {
    const curve = [least, ...recorded, { p: 1, ms: max }]
    return (p) => interpolate(curve, p)
  }
  // A request held for a moment only may hide just below the share of the held ones.
  const clean = [least, ...recorded.filter(({ p }) => p <= 1 - 1.02 * held)]
  return clean.length < 2 ? () => least.ms : (p) => interpolate(clean, p * (1 - held))
}

/** Straight between the points of an ascending curve of two or more, and beyond its end as between the last two. */
function interpolate(curve: readonly Pick<QuantilePoint, 'p' | 'ms'>[], p: number): number {
  const next = curve.findIndex((point) => point.p >= p)
  const end = next < 0 ? curve.length - 1 : Math.max(1, next)
  const [low, high] = [curve[end - 1]!, curve[end]!]
  return low.ms + ((high.ms - low.ms) * (p - low.p)) / (high.p - low.p)
}

// ── Replay ──────────────────────────────────────────────────────────────────

/** A stop of the server; milliseconds on the clock of the arrivals. */
interface ServerStop {
  readonly fromMs: number
  readonly toMs: number
}

/** Latencies of `arrivalsMs` in their order: the wait for the end of the stops it meets, and its time of service. */
export function replayArrivals(
  arrivalsMs: readonly number[],
  stops: readonly ServerStop[],
  delayOf: (index: number) => number,
): number[] {
  const ordered = stops.toSorted((a, b) => a.fromMs - b.fromMs)
  return arrivalsMs.map((arrival, index) => {
    let served = arrival
    // Behind one stop the next may have begun.
    for (const { fromMs, toMs } of ordered) if (served >= fromMs && served < toMs) served = toMs
    return served - arrival + delayOf(index)
  })
}

/** So many arrivals spread over a stretch of time, in milliseconds, ascending; Poisson ones are about that many. */
export function scheduleArrivals(
  pattern: 'constant' | 'poisson',
  fromMs: number,
  forMs: number,
  count: number,
): number[] {
  const gapMs = forMs / count
  if (pattern === 'constant') return Array.from({ length: count }, (_, i) => fromMs + (i + 0.5) * gapMs)
  // From a fixed seed, so that a verdict can be repeated.
  const draw = seededRandom(0)
  const nextGap = () => -Math.log(1 - draw()) * gapMs
  const arrivals: number[] = []
  for (let at = fromMs + nextGap(); at < fromMs + forMs; at += nextGap()) arrivals.push(at)
  return arrivals
}

/** The least of ascending values that a share `p` of all do not exceed; 0 for none. */
function quantileOfSorted(sorted: ArrayLike<number>, p: number): number {
  const rank = Math.max(1, Math.ceil(p * sorted.length - 1e-9))
  return sorted[rank - 1] ?? 0
}

export interface QuantilePoint {
  /** As reports name it: `p99.9`. */
  readonly name: string
  /** 0 to 1. */
  readonly p: number
  readonly ms: number
}

/** Named percentiles, ascending by probability; names that are none are left out. */
export function quantilePoints(percentiles: DistributionSummary['percentiles']): QuantilePoint[] {
  return Object.entries(percentiles)
    .filter(([name]) => name.startsWith('p'))
    .map(([name, ms]) => ({ name, p: Number(name.slice(1)) / 100, ms }))
    .filter(({ p, ms }) => p > 0 && p < 1 && Number.isFinite(ms))
    .sort((a, b) => a.p - b.p)
}
