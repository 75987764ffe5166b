/** Adds up what was recorded: windows of one worker, and workers of one server. Nothing is averaged. */
import { Histogram, type HistogramSnapshot, mergeHistograms } from '../../base/histogram.js'
import { maximumOf, sumMembers, sumOf } from '../sums.js'
import {
  type ArrivalSnapshot,
  type ArrivalTimes,
  OPERATION_COUNTS,
  type OperationWindowSnapshot,
  RARE_MEASURES,
  type WorkerWindowSnapshot,
} from '../worker-snapshots.js'

/** The sum over workers, or the most over windows: the caller says which it merges. */
type MergePeaks = (peaks: readonly number[]) => number

export function mergeArrivals(parts: readonly ArrivalSnapshot[], mergePeaks: MergePeaks): ArrivalSnapshot {
  const first = parts.flatMap(({ firstAt }) => firstAt ?? [])
  const last = parts.flatMap(({ lastAt }) => lastAt ?? [])
  return {
    ...sumMembers(parts, ['gapSquares', 'area', 'busy']),
    gap: mergeHistograms(parts.map(({ gap }) => gap)).snapshot(),
    seen: mergeHistograms(parts.map(({ seen }) => seen)).snapshot(),
    peak: mergePeaks(parts.map(({ peak }) => peak)),
    firstAt: first.length === 0 ? null : Math.min(...first),
    lastAt: last.length === 0 ? null : Math.max(...last),
  }
}

export function mergeOperations(
  name: string,
  parts: readonly OperationWindowSnapshot[],
  mergePeaks: MergePeaks,
): OperationWindowSnapshot {
  const known = RARE_MEASURES.filter((measure) => parts.some(({ rare }) => rare[measure] !== undefined))
  const rare = known.map((measure) => {
    return [measure, mergeHistograms(parts.map((part) => part.rare[measure] ?? null)).snapshot()] as const
  })
  return {
    name,
    ...sumMembers(parts, OPERATION_COUNTS),
    statuses: mergePairs(parts.map(({ statuses }) => statuses)),
    faults: mergePairs(parts.map(({ faults }) => faults)),
    service: mergeHistograms(parts.map(({ service }) => service)).snapshot(),
    rare: Object.fromEntries(rare),
    ...mergeArrivals(parts, mergePeaks),
  }
}

export function mergeByName(
  operations: readonly OperationWindowSnapshot[],
  mergePeaks: MergePeaks,
): OperationWindowSnapshot[] {
  const groups = new Map<string, OperationWindowSnapshot[]>()
  for (const operation of operations) {
    groups.set(operation.name, [...(groups.get(operation.name) ?? []), operation])
  }
  return Array.from(groups, ([name, [only, ...others]]) =>
    others.length === 0 ? only! : mergeOperations(name, [only!, ...others], mergePeaks),
  )
}

/** Windows of one worker that follow each other, the oldest first; at least one. */
export function mergeWorkerParts(parts: readonly WorkerWindowSnapshot[]): WorkerWindowSnapshot {
  if (parts.length === 1) return parts[0]!
  const last = parts.at(-1)!
  const connections = parts.map((part) => part.connections)
  const operations = parts.flatMap((part) => part.operations)
  const totals = parts.map(({ total }) => total)
  return {
    ...last,
    fromMs: parts[0]!.fromMs,
    operations: mergeByName(operations, maximumOf),
    total: mergeArrivals(totals, maximumOf),
    connections: {
      ...sumMembers(connections, ['opened', 'closed', 'area']),
      peak: maximumOf(connections.map(({ peak }) => peak)),
      now: last.connections.now,
    },
    cpuMs: sumOf(parts, ({ cpuMs }) => cpuMs),
    lag: mergeHistograms(parts.map(({ lag }) => lag)).snapshot(),
    // A stall over an edge is seen from both sides.
    stalls: [
      ...new Map(parts.flatMap(({ stalls }) => stalls.map((s) => [`${s.kind} ${s.startMs}`, s]))).values(),
    ],
  }
}

function mergePairs<K>(lists: readonly (readonly (readonly [K, number])[])[]): [K, number][] {
  const sums = new Map<K, number>()
  for (const list of lists) for (const [key, n] of list) sums.set(key, (sums.get(key) ?? 0) + n)
  return [...sums]
}

// ── Gaps ────────────────────────────────────────────────────────────────────

/** Gaps between the arrivals of all workers together. */
export interface MergedGaps {
  readonly gap: HistogramSnapshot
  readonly gapSquares: number
}

export function mergeGaps(workers: readonly ArrivalTimes[]): MergedGaps {
  const times = Float64Array.from(workers.flatMap((arrivals) => [...decodeArrivalTimes(arrivals)])).sort()
  const histogram = new Histogram()
  let gapSquares = 0
  for (let i = 1; i < times.length; i++) {
    const gap = times[i]! - times[i - 1]!
    histogram.record(gap)
    gapSquares += gap * gap
  }
  return { gap: histogram.snapshot(), gapSquares }
}

function* decodeArrivalTimes({ firstMs, gaps }: ArrivalTimes): Generator<number> {
  if (firstMs === null) return
  const bytes = Buffer.from(gaps, 'base64')
  let time = firstMs
  yield time
  for (let at = 0; at + 4 <= bytes.byteLength; at += 4) yield (time += bytes.readFloatLE(at))
}
