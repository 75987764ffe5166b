/** The stops that the server made on purpose, and how many requests came in spite of them. */
import type { RunStall, RunSummary } from '../run-summary.js'

/** A stop of one worker within the window, in milliseconds from the window's start. */
interface WorkerStop {
  readonly worker: number
  readonly fromMs: number
  readonly toMs: number
}

export interface PlannedStalls {
  readonly stops: readonly WorkerStop[]
  /** Length of the longest stop of a worker. */
  readonly longestMs: number
  /** Time of the window in which a worker stood, as a mean over the workers. */
  readonly totalMs: number
  /** Requests that reached the server while it stood. */
  readonly arrivals: number
  /** Requests that came within 5 ms after the stops. */
  readonly burst: number
  readonly kinds: readonly ('hold' | 'block')[]
}

/** Null when no request was ever held nor the loop ever blocked on purpose. */
export function plannedStalls(truth: RunSummary): PlannedStalls | null {
  const planned = truth.stalls.filter(isPlanned)
  if (planned.length === 0) return null
  const stops = planned.map((stall) => toWorkerStop(truth, stall))
  const lengths = stops.map(({ fromMs, toMs }) => toMs - fromMs)
  return {
    stops,
    longestMs: Math.max(...lengths),
    totalMs: sum(lengths) / workerCount(truth),
    arrivals: sum(planned.map(arrivalsIn)),
    burst: sum(planned.map((stall) => stall.arrivals5msAfter)),
    kinds: [...new Set(planned.map(({ kind }) => kind as 'hold' | 'block'))],
  }
}

/** A pause of accepting stops new connections only: what flows on open ones says nothing about the loop. */
function isPlanned({ kind }: RunStall): boolean {
  return kind === 'hold' || kind === 'block'
}

/** All stalls that clients could feel, unplanned ones included. */
export function feltStops(truth: RunSummary): WorkerStop[] {
  return truth.stalls.filter(({ kind }) => kind !== 'accept-pause').map((stall) => toWorkerStop(truth, stall))
}

function workerCount({ workers }: RunSummary): number {
  return Math.max(1, workers.length)
}

function toWorkerStop({ window }: RunSummary, { worker, startNs, endNs }: RunStall): WorkerStop {
  const from = BigInt(window.fromNs)
  return {
    worker,
    fromMs: Number(BigInt(startNs) - from) / 1e6,
    toMs: Number(BigInt(endNs) - from) / 1e6,
  }
}

/**
 * A blocked loop parses nothing: what came meanwhile waits in the kernel, one request for each connection unless the
 * client pipelines, so the connections heard from right after the end are the requests that had come.
 */
function arrivalsIn({ kind, arrivalsDuring, arrivals100msAfter, connectionsAfter }: RunStall): number {
  return kind === 'hold'
    ? arrivalsDuring
    : Math.max(arrivalsDuring, Math.min(arrivals100msAfter, connectionsAfter))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
