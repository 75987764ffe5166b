/** Series of several workers as one. */
import type { HistogramSnapshot } from '../../base/histogram.js'
import type { SeriesStep } from '../run-summary.js'
import { type OperationSeriesSnapshot, STEP_MS, type WorkerSeriesSnapshot } from '../worker-snapshots.js'
import { maximumOf, sumOf } from './merge.js'
import { MILLISECONDS, quantileValues } from './quantiles.js'

interface SeriesQuestion {
  /** Start of the first step, ms on the shared clock; `atMs` counts from `originMs`. */
  readonly fromMs: number
  readonly toMs: number
  readonly originMs: number
  readonly stepMs: number
  /** One operation; all together when absent. */
  readonly operation?: string
}

/**
 * Steps over all workers. Counts add up; `inFlightMax` over several workers is the sum of their maxima, an upper
 * bound; percentiles come from the added histograms. Steps that a worker does not have count as empty.
 */
export function mergeSeries(parts: readonly WorkerSeriesSnapshot[], question: SeriesQuestion): SeriesStep[] {
  const { fromMs, toMs, originMs, stepMs } = question
  const width = Math.max(1, Math.round(stepMs / STEP_MS))
  const from = Math.floor(fromMs / STEP_MS)
  const last = Math.max(...parts.map(endStepOf), from)
  const to = Math.min(Math.ceil(toMs / STEP_MS), last)
  const steps: SeriesStep[] = []
  for (let step = from; step + width <= to; step += width) {
    const rows = parts.map((part) => stepFiguresOf(part, step, width, question.operation))
    steps.push(toSeriesStep(rows, step * STEP_MS - originMs))
  }
  return steps
}

/** Arrivals per step of 100 ms, over all workers and operations or one. */
export function arrivalsPerStep(
  parts: readonly WorkerSeriesSnapshot[],
  fromMs: number,
  toMs: number,
  operation?: string,
): number[] {
  const from = Math.ceil(fromMs / STEP_MS)
  const to = Math.floor(toMs / STEP_MS)
  return Array.from({ length: Math.max(0, to - from) }, (_, i) =>
    sumOf(parts, (part) => stepFiguresOf(part, from + i, 1, operation).arrivals),
  )
}

interface StepFigures {
  readonly arrivals: number
  readonly completions: number
  readonly errors: number
  readonly inFlightMax: number
  readonly connections: number
  readonly lagMax: number
  readonly cpuShare: number
  readonly histograms: readonly (readonly number[])[]
}

function stepFiguresOf(
  part: WorkerSeriesSnapshot,
  step: number,
  width: number,
  operation: string | undefined,
): StepFigures {
  const begin = Math.max(0, step - part.first)
  const end = Math.max(begin, step + width - part.first)
  const cut = <T>(list: readonly T[]): readonly T[] => list.slice(begin, end)
  const chosen = operation === undefined ? Object.values(part.operations) : [part.operations[operation]]
  const operations = chosen.filter((each): each is OperationSeriesSnapshot => each !== undefined)
  const total = (of: (each: OperationSeriesSnapshot) => readonly number[]): number =>
    sumOf(operations, (each) => sumOf(cut(of(each)), (n) => n))
  const peaks = operation === undefined ? part.inFlightMax : (operations[0]?.inFlightMax ?? [])
  return {
    arrivals: total(({ arrivals }) => arrivals),
    completions: total(({ completions }) => completions),
    errors: total(({ errors }) => errors),
    inFlightMax: maximumOf(cut(peaks)),
    connections: maximumOf(cut(part.connections)),
    lagMax: maximumOf(cut(part.lagMax)),
    cpuShare: sumOf(cut(part.cpuShare), (share) => share) / width,
    histograms: operations.flatMap(({ histograms }) => cut(histograms)),
  }
}

function toSeriesStep(rows: readonly StepFigures[], atMs: number): SeriesStep {
  const [p50 = 0, p99 = 0] = quantileValues(
    expandHalfBuckets(rows.flatMap(({ histograms }) => histograms)),
    [0.5, 0.99],
    MILLISECONDS,
  )
  return {
    atMs,
    arrivals: sumOf(rows, ({ arrivals }) => arrivals),
    completions: sumOf(rows, ({ completions }) => completions),
    errors: sumOf(rows, ({ errors }) => errors),
    inFlightMax: sumOf(rows, ({ inFlightMax }) => inFlightMax),
    connections: sumOf(rows, ({ connections }) => connections),
    lagMax: maximumOf(rows.map(({ lagMax }) => lagMax)),
    cpuShare: sumOf(rows, ({ cpuShare }) => cpuShare),
    p50,
    p99,
  }
}

/** Half buckets counted into the upper one of the two that each stands for: in the middle of the pair. */
function expandHalfBuckets(histograms: readonly (readonly number[])[]): HistogramSnapshot {
  const counts = new Map<number, number>()
  for (const pairs of histograms) {
    for (let i = 0; i < pairs.length; i += 2) {
      const half = pairs[i]!
      counts.set(half, (counts.get(half) ?? 0) + pairs[i + 1]!)
    }
  }
  const sorted = [...counts].sort(([a], [b]) => a - b)
  const count = sumOf(sorted, ([, n]) => n)
  const top = sorted.at(-1)
  const max = top === undefined ? 0 : Number.POSITIVE_INFINITY
  // Spread over both buckets of the pair, so that the middle of a half bucket is the middle.
  return { count, sum: 0, max, buckets: sorted.flatMap(([half, n]) => spreadOverPair(half * 2, n)) }
}

function spreadOverPair(bucket: number, n: number): number[] {
  const low = Math.floor(n / 2)
  return low === 0 ? [bucket, n] : [bucket, low, bucket + 1, n - low]
}

function endStepOf({ first, connections }: WorkerSeriesSnapshot): number {
  return first + connections.length
}
