/** Series of several workers as one. */
import type { HistogramSnapshot } from '../../base/histogram.js'
import type { SeriesStep } from '../truth.js'
import { type OperationSeriesPart, type SeriesPart, STEP_MS } from '../wire.js'
import { most, sum } from './merge.js'
import { MILLISECONDS, valuesAt } from './quantiles.js'

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
export function mergeSeries(parts: readonly SeriesPart[], question: SeriesQuestion): SeriesStep[] {
  const { fromMs, toMs, originMs, stepMs } = question
  const width = Math.max(1, Math.round(stepMs / STEP_MS))
  const from = Math.floor(fromMs / STEP_MS)
  const last = Math.max(...parts.map(endOf), from)
  const to = Math.min(Math.ceil(toMs / STEP_MS), last)
  const steps: SeriesStep[] = []
  for (let step = from; step + width <= to; step += width) {
    const rows = parts.map((part) => rowOf(part, step, width, question.operation))
    steps.push(stepOf(rows, step * STEP_MS - originMs))
  }
  return steps
}

/** Arrivals per step of 100 ms, over all workers and operations or one. */
export function arrivalsPerStep(
  parts: readonly SeriesPart[],
  fromMs: number,
  toMs: number,
  operation?: string,
): number[] {
  const from = Math.ceil(fromMs / STEP_MS)
  const to = Math.floor(toMs / STEP_MS)
  return Array.from({ length: Math.max(0, to - from) }, (_, i) =>
    sum(parts, (part) => rowOf(part, from + i, 1, operation).arrivals),
  )
}

interface Row {
  readonly arrivals: number
  readonly completions: number
  readonly errors: number
  readonly inFlightMax: number
  readonly connections: number
  readonly lagMax: number
  readonly cpuShare: number
  readonly histograms: readonly (readonly number[])[]
}

function rowOf(part: SeriesPart, step: number, width: number, operation: string | undefined): Row {
  const begin = Math.max(0, step - part.first)
  const end = Math.max(begin, step + width - part.first)
  const cut = <T>(list: readonly T[]): readonly T[] => list.slice(begin, end)
  const chosen = operation === undefined ? Object.values(part.operations) : [part.operations[operation]]
  const operations = chosen.filter((each): each is OperationSeriesPart => each !== undefined)
  const total = (of: (each: OperationSeriesPart) => readonly number[]): number =>
    sum(operations, (each) => sum(cut(of(each)), (n) => n))
  const peaks = operation === undefined ? part.inFlightMax : (operations[0]?.inFlightMax ?? [])
  return {
    arrivals: total(({ arrivals }) => arrivals),
    completions: total(({ completions }) => completions),
    errors: total(({ errors }) => errors),
    inFlightMax: most(cut(peaks)),
    connections: most(cut(part.connections)),
    lagMax: most(cut(part.lagMax)),
    cpuShare: sum(cut(part.cpuShare), (share) => share) / width,
    histograms: operations.flatMap(({ histograms }) => cut(histograms)),
  }
}

function stepOf(rows: readonly Row[], atMs: number): SeriesStep {
  const [p50 = 0, p99 = 0] = valuesAt(
    histogramOf(rows.flatMap(({ histograms }) => histograms)),
    [0.5, 0.99],
    MILLISECONDS,
  )
  return {
    atMs,
    arrivals: sum(rows, ({ arrivals }) => arrivals),
    completions: sum(rows, ({ completions }) => completions),
    errors: sum(rows, ({ errors }) => errors),
    inFlightMax: sum(rows, ({ inFlightMax }) => inFlightMax),
    connections: sum(rows, ({ connections }) => connections),
    lagMax: most(rows.map(({ lagMax }) => lagMax)),
    cpuShare: sum(rows, ({ cpuShare }) => cpuShare),
    p50,
    p99,
  }
}

/** Half buckets counted into the upper one of the two that each stands for: in the middle of the pair. */
function histogramOf(histograms: readonly (readonly number[])[]): HistogramSnapshot {
  const counts = new Map<number, number>()
  for (const pairs of histograms) {
    for (let i = 0; i < pairs.length; i += 2) {
      const half = pairs[i]!
      counts.set(half, (counts.get(half) ?? 0) + pairs[i + 1]!)
    }
  }
  const sorted = [...counts].sort(([a], [b]) => a - b)
  const count = sum(sorted, ([, n]) => n)
  const top = sorted.at(-1)
  const max = top === undefined ? 0 : Number.POSITIVE_INFINITY
  // Spread over both buckets of the pair, so that the middle of a half bucket is the middle.
  return { count, sum: 0, max, buckets: sorted.flatMap(([half, n]) => spread(half * 2, n)) }
}

function spread(bucket: number, n: number): number[] {
  const low = Math.floor(n / 2)
  return low === 0 ? [bucket, n] : [bucket, low, bucket + 1, n - low]
}

function endOf({ first, connections }: SeriesPart): number {
  return first + connections.length
}
