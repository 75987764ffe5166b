/** What the server's own record says of the load: when it was on, and when the server stood. */
import type { RunStall, RunSummary, SeriesStep } from '../run-summary.js'
import { addUp, sumOf } from '../sums.js'

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
  // A pause of accepting stops new connections only: what flows on open ones says nothing about the loop.
  const planned = truth.stalls.filter(({ kind }) => kind === 'hold' || kind === 'block')
  if (planned.length === 0) return null
  const stops = planned.map((stall) => toWorkerStop(truth, stall))
  const lengths = stops.map(({ fromMs, toMs }) => toMs - fromMs)
  return {
    stops,
    longestMs: Math.max(...lengths),
    totalMs: addUp(lengths) / Math.max(1, truth.workers.length),
    arrivals: sumOf(planned, arrivalsIn),
    burst: sumOf(planned, (stall) => stall.arrivals5msAfter),
    kinds: [...new Set(planned.map(({ kind }) => kind as 'hold' | 'block'))],
  }
}

/** All stalls that clients could feel, unplanned ones included. */
export function stopsClientsFelt(truth: RunSummary): WorkerStop[] {
  return truth.stalls.filter(({ kind }) => kind !== 'accept-pause').map((stall) => toWorkerStop(truth, stall))
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

// ── When the load was on ─────────────────────────────────────────────────────

export interface ActiveSpan {
  readonly fromMs: number
  readonly seconds: number
}

/** After a stall a client sends what it owes; its pace is its own again after this many milliseconds. */
const AFTERMATH_MS = 200

/** When the load was on, and the steps of that time in which no worker stood or had just stood. */
interface ObservedLoad {
  /** Null without arrivals to tell it from. */
  readonly active: ActiveSpan | null
  readonly quiet: readonly SeriesStep[]
}

/**
 * From the first arrival to the last, to a fraction of a step. A client that sends in bursts is active until the next
 * burst would be due, so the longest pause between arrivals (stalls aside) belongs to the end.
 */
export function observeLoad(truth: RunSummary, series: readonly SeriesStep[]): ObservedLoad {
  const stepMs = stepLengthOf(series)
  const first = series.findIndex(({ arrivals }) => arrivals > 0)
  const last = series.findLastIndex(({ arrivals }) => arrivals > 0)
  if (stepMs === 0 || last - first < 3) return { active: null, quiet: [] }
  const stops = stopsClientsFelt(truth)
  const isDisturbed = ({ atMs }: SeriesStep): boolean =>
    stops.some((stop) => atMs + stepMs > stop.fromMs && atMs < stop.toMs + AFTERMATH_MS)
  const inner = series.slice(first + 1, last)
  const busy = inner.filter(({ arrivals }) => arrivals > 0)
  const usual = sumOf(busy, ({ arrivals }) => arrivals) / Math.max(1, busy.length)
  const filled = (step: SeriesStep) => Math.min(1, step.arrivals / Math.max(1, usual)) * stepMs
  const fromMs = series[first + 1]!.atMs - filled(series[first]!)
  const pauseMs = longestPause(inner, isDisturbed) * stepMs
  const endMs = series[last]!.atMs + (pauseMs > 0 ? stepMs : filled(series[last]!)) + pauseMs
  const toMs = Math.min(endMs, Math.max(truth.window.seconds * 1000, series[last]!.atMs))
  return {
    active: { fromMs, seconds: (toMs - fromMs) / 1000 },
    quiet: series.filter((step) => step.atMs >= fromMs && step.atMs + stepMs <= toMs && !isDisturbed(step)),
  }
}

/** Most steps in a row without an arrival, disturbed ones aside. */
function longestPause(steps: readonly SeriesStep[], isDisturbed: (step: SeriesStep) => boolean): number {
  let longest = 0
  let pause = 0
  for (const step of steps) {
    pause = step.arrivals > 0 || isDisturbed(step) ? 0 : pause + 1
    longest = Math.max(longest, pause)
  }
  return longest
}

/** Milliseconds; 0 where nothing tells it. */
export function stepLengthOf(series: readonly SeriesStep[]): number {
  return series.length < 2 ? 0 : series[1]!.atMs - series[0]!.atMs
}
