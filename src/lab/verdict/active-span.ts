/** When the load was on, by the server's series. */
import type { RunSummary, SeriesStep } from '../run-summary.js'
import { feltStops } from './planned-stalls.js'

export interface ActiveSpan {
  readonly fromMs: number
  readonly toMs: number
  readonly seconds: number
}

/** After a stall a client sends what it owes; its pace is its own again after this many milliseconds. */
const AFTERMATH_MS = 200

/**
 * From the first arrival to the last, to a fraction of a step. A client that sends in bursts is active until the next
 * burst would be due, so the longest pause between arrivals (stalls aside) belongs to the end. Null without arrivals.
 */
export function activeSpan(truth: RunSummary, series: readonly SeriesStep[]): ActiveSpan | null {
  const stepMs = stepLengthOf(series)
  const first = series.findIndex(({ arrivals }) => arrivals > 0)
  const last = series.findLastIndex(({ arrivals }) => arrivals > 0)
  if (stepMs === 0 || last - first < 3) return null
  const inner = series.slice(first + 1, last)
  const busy = inner.filter(({ arrivals }) => arrivals > 0)
  const usual = busy.reduce((total, { arrivals }) => total + arrivals, 0) / Math.max(1, busy.length)
  const filled = (step: SeriesStep) => Math.min(1, step.arrivals / Math.max(1, usual)) * stepMs
  const fromMs = series[first + 1]!.atMs - filled(series[first]!)
  const pauseMs = longestPause(truth, inner, stepMs) * stepMs
  const endMs = series[last]!.atMs + (pauseMs > 0 ? stepMs : filled(series[last]!)) + pauseMs
  const toMs = Math.min(endMs, Math.max(truth.window.seconds * 1000, series[last]!.atMs))
  return { fromMs, toMs, seconds: (toMs - fromMs) / 1000 }
}

/** The steps in which the load was on and no worker stood or had just stood. */
export function quietSteps(
  truth: RunSummary,
  series: readonly SeriesStep[],
  active: ActiveSpan | null,
): SeriesStep[] {
  if (active === null) return []
  const stepMs = stepLengthOf(series)
  const disturbed = createDisturbanceTest(truth, stepMs)
  return series.filter(
    (step) => step.atMs >= active.fromMs && step.atMs + stepMs <= active.toMs && !disturbed(step),
  )
}

export function stepLengthOf(series: readonly SeriesStep[]): number {
  return series.length < 2 ? 0 : series[1]!.atMs - series[0]!.atMs
}

function longestPause(truth: RunSummary, steps: readonly SeriesStep[], stepMs: number): number {
  const disturbed = createDisturbanceTest(truth, stepMs)
  let longest = 0
  let pause = 0
  for (const step of steps) {
    pause = step.arrivals > 0 || disturbed(step) ? 0 : pause + 1
    longest = Math.max(longest, pause)
  }
  return longest
}

function createDisturbanceTest(truth: RunSummary, stepMs: number): (step: SeriesStep) => boolean {
  const stops = feltStops(truth)
  return ({ atMs }) => stops.some(({ fromMs, toMs }) => atMs + stepMs > fromMs && atMs < toMs + AFTERMATH_MS)
}
