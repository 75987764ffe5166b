/** Adds up what was recorded: windows of one worker, and workers of one server. Nothing is averaged. */
import type { HistogramSnapshot } from '../../base/histogram.js'
import { NOTHING, Tally } from '../recorder/tally.js'
import type { ConnectionPart, FlowPart, OperationPart, Rare, WorkerPart } from '../wire.js'

export function mergeHistograms(parts: readonly HistogramSnapshot[]): HistogramSnapshot {
  const full = parts.filter(({ count }) => count > 0)
  if (full.length < 2) return full[0] ?? NOTHING
  const tally = new Tally()
  for (const part of full) tally.merge(part)
  return tally.snapshot()
}

/** `peak` is the sum over workers, or the most over windows: the caller says which it merges. */
function mergeFlows(parts: readonly FlowPart[], peak: (peaks: readonly number[]) => number): FlowPart {
  const times = (of: (part: FlowPart) => number | null): number[] => parts.flatMap((part) => of(part) ?? [])
  const first = times(({ firstAt }) => firstAt)
  const last = times(({ lastAt }) => lastAt)
  return {
    gap: mergeHistograms(parts.map(({ gap }) => gap)),
    gapSquares: sum(parts, (part) => part.gapSquares),
    seen: mergeHistograms(parts.map(({ seen }) => seen)),
    area: sum(parts, ({ area }) => area),
    peak: peak(parts.map((part) => part.peak)),
    busy: sum(parts, ({ busy }) => busy),
    firstAt: first.length === 0 ? null : Math.min(...first),
    lastAt: last.length === 0 ? null : Math.max(...last),
  }
}

/** @param parts of one operation, at least one */
export function mergeOperations(
  parts: readonly OperationPart[],
  peak: (peaks: readonly number[]) => number,
  name = parts[0]!.name,
): OperationPart {
  const rare = new Set(parts.flatMap((part) => Object.keys(part.rare) as Rare[]))
  const merged = [...rare].map((what) => [
    what,
    mergeHistograms(parts.map((part) => part.rare[what] ?? NOTHING)),
  ])
  return {
    name,
    arrivals: sum(parts, ({ arrivals }) => arrivals),
    completed: sum(parts, ({ completed }) => completed),
    aborted: sum(parts, ({ aborted }) => aborted),
    inFlight: sum(parts, ({ inFlight }) => inFlight),
    bytesIn: sum(parts, ({ bytesIn }) => bytesIn),
    bytesOut: sum(parts, ({ bytesOut }) => bytesOut),
    statuses: mergePairs(parts.map(({ statuses }) => statuses)),
    faults: mergePairs(parts.map(({ faults }) => faults)),
    service: mergeHistograms(parts.map(({ service }) => service)),
    rare: Object.fromEntries(merged),
    ...mergeFlows(parts, peak),
  }
}

export function byName(
  operations: readonly OperationPart[],
  peak: (peaks: readonly number[]) => number,
): OperationPart[] {
  const groups = new Map<string, OperationPart[]>()
  for (const operation of operations) {
    groups.set(operation.name, [...(groups.get(operation.name) ?? []), operation])
  }
  return [...groups.values()].map((group) => (group.length === 1 ? group[0]! : mergeOperations(group, peak)))
}

/** Windows of one worker that follow each other, the oldest first; at least one. */
export function mergeWorkerParts(parts: readonly WorkerPart[]): WorkerPart {
  if (parts.length === 1) return parts[0]!
  const last = parts.at(-1)!
  return {
    ...last,
    fromMs: parts[0]!.fromMs,
    operations: byName(
      parts.flatMap(({ operations }) => operations),
      most,
    ),
    total: mergeFlows(
      parts.map(({ total }) => total),
      most,
    ),
    connections: mergeConnections(parts.map(({ connections }) => connections)),
    cpuMs: sum(parts, ({ cpuMs }) => cpuMs),
    lag: mergeHistograms(parts.map(({ lag }) => lag)),
    // A stall over an edge is seen from both sides.
    stalls: [
      ...new Map(parts.flatMap(({ stalls }) => stalls.map((s) => [`${s.kind} ${s.startMs}`, s]))).values(),
    ],
  }
}

function mergeConnections(parts: readonly ConnectionPart[]): ConnectionPart {
  return {
    opened: sum(parts, ({ opened }) => opened),
    closed: sum(parts, ({ closed }) => closed),
    peak: most(parts.map(({ peak }) => peak)),
    area: sum(parts, ({ area }) => area),
    now: parts.at(-1)!.now,
  }
}

export function most(values: readonly number[]): number {
  return values.reduce((top, value) => Math.max(top, value), 0)
}

export function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}

function mergePairs<K>(lists: readonly (readonly (readonly [K, number])[])[]): [K, number][] {
  const sums = new Map<K, number>()
  for (const list of lists) for (const [key, n] of list) sums.set(key, (sums.get(key) ?? 0) + n)
  return [...sums]
}
