/** Series of several workers as one. */
import type { HistogramSnapshot } from '../../base/histogram.js'
import type { SeriesStep } from '../run-summary.js'
import { maximumOf, sumMembers, sumOf } from '../sums.js'
import {
  OPERATION_STEP_COLUMNS,
  type OperationSeriesSnapshot,
  STEP_MS,
  type WorkerSeriesSnapshot,
} from '../worker-snapshots.js'
import { MILLISECONDS, valuesAtPercentiles } from './quantiles.js'

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
    const figures = parts.map((part) => stepFiguresOf(part, step, width, question.operation))
    steps.push(toSeriesStep(figures, step * STEP_MS - originMs))
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

/** What one worker did in one step, or in several that are taken together. */
type StepFigures = Omit<SeriesStep, 'atMs' | 'p50' | 'p99'> & Pick<OperationSeriesSnapshot, 'histograms'>

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
  const operations = chosen.filter((each) => each !== undefined)
  const total = (column: 'arrivals' | 'completions' | 'errors'): number =>
    sumOf(operations, (each) => sumOf(cut(each[column]), (n) => n))
  const peaks = operation === undefined ? part.inFlightMax : (operations[0]?.inFlightMax ?? [])
  return {
    arrivals: total('arrivals'),
    completions: total('completions'),
    errors: total('errors'),
    inFlightMax: maximumOf(cut(peaks)),
    connections: maximumOf(cut(part.connections)),
    lagMax: maximumOf(cut(part.lagMax)),
    cpuShare: sumOf(cut(part.cpuShare), (share) => share) / width,
    histograms: operations.flatMap(({ histograms }) => cut(histograms)),
  }
}

const COLUMNS = [...OPERATION_STEP_COLUMNS, 'connections', 'lagMax', 'cpuShare'] as const

function toSeriesStep(figures: readonly StepFigures[], atMs: number): SeriesStep {
  const histogram = expandHalfBuckets(figures.flatMap(({ histograms }) => histograms))
  const [p50 = 0, p99 = 0] = valuesAtPercentiles(histogram, [50, 99], MILLISECONDS)
  return {
    atMs,
    ...sumMembers(figures, COLUMNS),
    lagMax: maximumOf(figures.map(({ lagMax }) => lagMax)),
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
