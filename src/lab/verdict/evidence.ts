/** Everything the checks need, worked out once from a run and a tool's report of it. */
import type { LoadToolReport, RunSummary, SeriesStep } from '../run-summary.js'
import { type ActiveSpan, activeSpan, quietSteps } from './active-span.js'
import { type ExpectedLatency, expectLatency } from './expected-latency.js'
import { latencyClaims, type QuantileClaim } from './latency-claims.js'
import { type PlannedStalls, plannedStalls } from './planned-stalls.js'

export interface ReportEvidence {
  readonly truth: RunSummary
  readonly report: LoadToolReport
  readonly series: readonly SeriesStep[]
  /** Requests that the tool can have under way: connections times pipelining. */
  readonly capacity: number
  /** Arrivals per second that the tool, or else its user, declared; null for a closed loop at its own pace. */
  readonly declaredRate: number | null
  /** `declaredRate`, or the pace that a closed loop kept while the server was not stopped. */
  readonly pace: number
  /** How long the schedule ran within the window, in seconds. */
  readonly seconds: number
  /** When requests came, by the series; null without one. */
  readonly active: ActiveSpan | null
  /** Steps in which the load was on and no stall or its aftermath was. */
  readonly quiet: readonly SeriesStep[]
  /** Stops made on purpose; null when there were none. */
  readonly stalls: PlannedStalls | null
  /** What the declared schedule must have seen; null when the schedule is unknown or the server recorded nothing. */
  readonly expected: ExpectedLatency | null
  /** The tool's percentiles, ascending. */
  readonly claims: readonly QuantileClaim[]
}

/** `series`: the steps of the run's window, `atMs` counted from its start; may be empty. */
export function gatherEvidence(
  truth: RunSummary,
  series: readonly SeriesStep[],
  report: LoadToolReport,
): ReportEvidence {
  const active = activeSpan(truth, series)
  const seconds = scheduledSeconds(truth, report, active)
  const stalls = plannedStalls(truth)
  const declaredRate = report.rate ?? truth.expect?.rate ?? null
  const stopped = stalls === null ? 0 : Math.min(stalls.totalMs / 1000, seconds * 0.95)
  const pace = declaredRate ?? (seconds > 0 ? truth.total.arrivals / (seconds - stopped) : 0)
  return {
    truth,
    report,
    series,
    capacity: report.connections * (report.pipelining ?? 1),
    declaredRate,
    pace,
    seconds,
    active,
    quiet: quietSteps(truth, series, active),
    stalls,
    expected: expectLatency({ truth, stalls, pace, seconds, startMs: toolStartMs(truth, report, active) }),
    claims: latencyClaims(report),
  }
}

/** The window may be longer than the tool's run, and the run longer than its schedule by the drain at its end. */
function scheduledSeconds({ window }: RunSummary, report: LoadToolReport, active: ActiveSpan | null): number {
  const lengths = [window.seconds, report.durationS, active?.seconds ?? 0]
  const known = lengths.filter((length) => length > 0)
  return known.length === 0 ? 0 : Math.min(...known)
}

/** When the tool began, in milliseconds of the window. */
function toolStartMs({ window }: RunSummary, report: LoadToolReport, active: ActiveSpan | null): number {
  if (report.startNs === undefined) return active?.fromMs ?? 0
  return Math.max(0, Number(BigInt(report.startNs) - BigInt(window.fromNs)) / 1e6)
}
