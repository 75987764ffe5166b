/** Adds up what was recorded: windows of one worker, and workers of one server. Nothing is averaged. */
import { mergeHistograms } from '../../base/histogram.js'
import type {
  ArrivalSnapshot,
  ConnectionSnapshot,
  OperationWindowSnapshot,
  RareMeasure,
  WorkerWindowSnapshot,
} from '../worker-snapshots.js'

/** `peak` is the sum over workers, or the most over windows: the caller says which it merges. */
function mergeArrivals(
  parts: readonly ArrivalSnapshot[],
  peak: (peaks: readonly number[]) => number,
): ArrivalSnapshot {
  const times = (of: (part: ArrivalSnapshot) => number | null): number[] =>
    parts.flatMap((part) => of(part) ?? [])
  const first = times(({ firstAt }) => firstAt)
  const last = times(({ lastAt }) => lastAt)
  return {
    gap: mergeHistograms(parts.map(({ gap }) => gap)).snapshot(),
    gapSquares: sumOf(parts, (part) => part.gapSquares),
    seen: mergeHistograms(parts.map(({ seen }) => seen)).snapshot(),
    area: sumOf(parts, ({ area }) => area),
    peak: peak(parts.map((part) => part.peak)),
    busy: sumOf(parts, ({ busy }) => busy),
    firstAt: first.length === 0 ? null : Math.min(...first),
    lastAt: last.length === 0 ? null : Math.max(...last),
  }
}

/** @param parts of one operation, at least one */
export function mergeOperations(
  parts: readonly OperationWindowSnapshot[],
  peak: (peaks: readonly number[]) => number,
  name = parts[0]!.name,
): OperationWindowSnapshot {
  const rare = new Set(parts.flatMap((part) => Object.keys(part.rare) as RareMeasure[]))
  const merged = [...rare].map((what) => [
    what,
    mergeHistograms(parts.map((part) => part.rare[what] ?? null)).snapshot(),
  ])
  return {
    name,
    arrivals: sumOf(parts, ({ arrivals }) => arrivals),
    completed: sumOf(parts, ({ completed }) => completed),
    aborted: sumOf(parts, ({ aborted }) => aborted),
    inFlight: sumOf(parts, ({ inFlight }) => inFlight),
    bytesIn: sumOf(parts, ({ bytesIn }) => bytesIn),
    bytesOut: sumOf(parts, ({ bytesOut }) => bytesOut),
    statuses: mergePairs(parts.map(({ statuses }) => statuses)),
    faults: mergePairs(parts.map(({ faults }) => faults)),
    service: mergeHistograms(parts.map(({ service }) => service)).snapshot(),
    rare: Object.fromEntries(merged),
    ...mergeArrivals(parts, peak),
  }
}

export function mergeByName(
  operations: readonly OperationWindowSnapshot[],
  peak: (peaks: readonly number[]) => number,
): OperationWindowSnapshot[] {
  const groups = new Map<string, OperationWindowSnapshot[]>()
  for (const operation of operations) {
    groups.set(operation.name, [...(groups.get(operation.name) ?? []), operation])
  }
  return [...groups.values()].map((group) => (group.length === 1 ? group[0]! : mergeOperations(group, peak)))
}

/** Windows of one worker that follow each other, the oldest first; at least one. */
export function mergeWorkerParts(parts: readonly WorkerWindowSnapshot[]): WorkerWindowSnapshot {
  if (parts.length === 1) return parts[0]!
  const last = parts.at(-1)!
  return {
    ...last,
    fromMs: parts[0]!.fromMs,
    operations: mergeByName(
      parts.flatMap(({ operations }) => operations),
      maximumOf,
    ),
    total: mergeArrivals(
      parts.map(({ total }) => total),
      maximumOf,
    ),
    connections: mergeConnections(parts.map(({ connections }) => connections)),
    cpuMs: sumOf(parts, ({ cpuMs }) => cpuMs),
    lag: mergeHistograms(parts.map(({ lag }) => lag)).snapshot(),
    // A stall over an edge is seen from both sides.
    stalls: [
      ...new Map(parts.flatMap(({ stalls }) => stalls.map((s) => [`${s.kind} ${s.startMs}`, s]))).values(),
    ],
  }
}

function mergeConnections(parts: readonly ConnectionSnapshot[]): ConnectionSnapshot {
  return {
    opened: sumOf(parts, ({ opened }) => opened),
    closed: sumOf(parts, ({ closed }) => closed),
    peak: maximumOf(parts.map(({ peak }) => peak)),
    area: sumOf(parts, ({ area }) => area),
    now: parts.at(-1)!.now,
  }
}

export function maximumOf(values: readonly number[]): number {
  return values.reduce((top, value) => Math.max(top, value), 0)
}

export function sumOf<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}

function mergePairs<K>(lists: readonly (readonly (readonly [K, number])[])[]): [K, number][] {
  const sums = new Map<K, number>()
  for (const list of lists) for (const [key, n] of list) sums.set(key, (sums.get(key) ?? 0) + n)
  return [...sums]
}
