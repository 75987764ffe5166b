/** What the workers recorded, as the summary of a run. */
import { EMPTY_HISTOGRAM } from '../../base/histogram.js'
import type {
  DistributionSummary,
  LoadExpectation,
  OperationSummary,
  RunSummary,
  WorkerSummary,
} from '../run-summary.js'
import { addUp, indexOfDispersion, pickMembers, sumMembers, sumOf } from '../sums.js'
import {
  OPERATION_COUNTS,
  type OperationWindowSnapshot,
  RARE_MEASURES,
  type RareMeasure,
  type WorkerSeriesSnapshot,
  type WorkerWindowSnapshot,
} from '../worker-snapshots.js'
import { type MergedGaps, mergeArrivals, mergeByName, mergeOperations } from './merge.js'
import { summarizeDistribution, THINGS, unitOf } from './quantiles.js'
import { arrivalsPerStep } from './series.js'

/** What is known about a run without asking the workers. */
type RunFacts = Pick<
  RunSummary,
  'id' | 'label' | 'expect' | 'state' | 'seed' | 'delays' | 'marks' | 'slices' | 'environment'
> & {
  readonly stale: readonly number[]
  /** Cores that all processes but the supervisor kept busy over so many seconds; null where that is unknown. */
  readonly machine: { readonly seconds: number; readonly cores: number } | null
}

/**
 * @param series the steps of the window, for the index of dispersion; may be empty
 * @param gaps between the arrivals of all workers; without them each worker's own are added up
 */
export function summarizeRun(
  facts: RunFacts,
  parts: readonly WorkerWindowSnapshot[],
  series: readonly WorkerSeriesSnapshot[],
  window: { readonly fromMs: number; readonly toMs: number },
  gaps: MergedGaps | null = null,
): RunSummary {
  const seconds = Math.max(0, window.toMs - window.fromMs) / 1000
  const all = parts.flatMap(({ operations }) => operations)
  const summaryOf = (part: OperationWindowSnapshot, name?: string): OperationSummary => {
    const { firstAt, lastAt } = part
    const isKnown = firstAt !== null && lastAt !== null && series.length > 0
    const counts = isKnown ? arrivalsPerStep(series, firstAt, lastAt, name) : []
    return summarizeOperation(part, seconds, indexOfDispersion(counts))
  }
  const operations = mergeByName(all, addUp).map((part) => [part.name, summaryOf(part, part.name)] as const)
  const { stale, marks, machine, ...known } = facts
  const workers = parts.map(summarizeWorker)
  const own = sumOf(workers, ({ cpuShare }) => cpuShare)
  return {
    ...known,
    marks: [...new Set([...marks, ...parts.flatMap((part) => part.marks)])],
    window: { fromNs: nanosecondText(window.fromMs), toNs: nanosecondText(window.toMs), seconds },
    total: summaryOf({ ...totalOf(parts, all), ...gaps }),
    operations: Object.fromEntries(operations),
    connections: summarizeConnections(parts, seconds, facts.expect),
    workers,
    ...(machine !== null && {
      others: { seconds: machine.seconds, cores: Math.max(0, machine.cores - own) },
    }),
    stalls: parts.flatMap(({ worker, stalls }) =>
      stalls.map(({ startMs, endMs, ...counts }) => ({
        worker,
        startNs: nanosecondText(startMs),
        endNs: nanosecondText(endMs ?? window.toMs),
        ...counts,
      })),
    ),
    ...(stale.length > 0 && { stale }),
  }
}

/** Counts are those of the operations; arrivals and concurrency were recorded over all of them together. */
function totalOf(
  parts: readonly WorkerWindowSnapshot[],
  operations: readonly OperationWindowSnapshot[],
): OperationWindowSnapshot {
  const totals = parts.map(({ total }) => total)
  return { ...mergeOperations('', operations, addUp), ...mergeArrivals(totals, addUp) }
}

/** @param dispersion variance over mean of the arrivals per 100 ms, from the first to the last arrival */
function summarizeOperation(
  part: OperationWindowSnapshot,
  seconds: number,
  dispersion: number,
): OperationSummary {
  const { arrivals, gap, gapSquares, firstAt, lastAt } = part
  const rare = RARE_MEASURES.map((measure) => {
    return [measure, summarizeDistribution(part.rare[measure] ?? EMPTY_HISTOGRAM, unitOf(measure))] as const
  })
  return {
    ...pickMembers(part, OPERATION_COUNTS),
    statuses: Object.fromEntries(part.statuses),
    faults: Object.fromEntries(part.faults),
    rate: seconds > 0 ? arrivals / seconds : 0,
    ...(firstAt !== null && { firstArrivalNs: nanosecondText(firstAt) }),
    ...(lastAt !== null && { lastArrivalNs: nanosecondText(lastAt) }),
    service: summarizeDistribution(part.service),
    gap: {
      ...summarizeDistribution(gap),
      cv: coefficientOfVariation(gap.count, gap.sum, gapSquares),
      dispersion,
    },
    concurrency: {
      seen: summarizeDistribution(part.seen, THINGS),
      max: part.peak,
      mean: seconds > 0 ? part.area / (seconds * 1000) : 0,
    },
    ...(Object.fromEntries(rare) as Record<RareMeasure, DistributionSummary>),
  }
}

/** Standard deviation over mean. */
function coefficientOfVariation(count: number, total: number, squares: number): number {
  if (count === 0 || total === 0) return 0
  const mean = total / count
  return Math.sqrt(Math.max(0, squares / count - mean * mean)) / mean
}

function summarizeConnections(
  parts: readonly WorkerWindowSnapshot[],
  seconds: number,
  expect: LoadExpectation | null,
): RunSummary['connections'] {
  const connections = parts.map((part) => part.connections)
  const { area, ...counts } = sumMembers(connections, ['peak', 'opened', 'closed', 'area'])
  // A worker's share of busy time counts as much as its share of the connections.
  const busy = area === 0 ? 0 : sumOf(parts, (part) => part.total.busy * part.connections.area) / area
  return {
    ...counts,
    mean: seconds > 0 ? area / (seconds * 1000) : 0,
    shareBusy: expect?.connections === undefined || seconds === 0 ? null : busy / (seconds * 1000),
  }
}

function summarizeWorker({ worker, cpuMs, fromMs, toMs, lag }: WorkerWindowSnapshot): WorkerSummary {
  return { worker, cpuShare: toMs > fromMs ? cpuMs / (toMs - fromMs) : 0, lag: summarizeDistribution(lag) }
}

/** Decimal text: nanoseconds outgrow the numbers that JSON keeps exactly. */
export function nanosecondText(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}
