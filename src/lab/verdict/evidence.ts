/** Everything the checks need, worked out once from a run and a tool's report of it. */
import type { LoadToolReport, RunSummary, SeriesStep, ValidityCheck } from '../run-summary.js'
import { type ExpectedLatency, expectLatency, probabilityOf } from './expected-latency.js'
import {
  type ActiveSpan,
  activeSpan,
  type PlannedStalls,
  plannedStalls,
  quietSteps,
} from './observed-load.js'

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

export interface QuantileClaim {
  /** As the tool's report names it: `p99.9`. */
  readonly name: string
  /** 0 to 1. */
  readonly p: number
  readonly ms: number
}

/** The least number of steps of a tool's clock that make a latency more than its rounding. */
export const LEAST_QUANTA = 10

/** The report's percentiles, ascending by probability; names that are none are left out. */
function latencyClaims({ percentiles }: LoadToolReport): QuantileClaim[] {
  return Object.entries(percentiles)
    .map(([name, ms]) => ({ name, p: probabilityOf(name), ms }))
    .filter(({ p, ms }) => p > 0 && p < 1 && Number.isFinite(ms))
    .sort((a, b) => a.p - b.p)
}

/** What a check found, before it is given its number and name. */
export interface CheckFinding {
  readonly result: ValidityCheck['result']
  readonly reason: string
}

export const passCheck = (reason: string): CheckFinding => ({ result: 'ok', reason })
export const warnCheck = (reason: string): CheckFinding => ({ result: 'warn', reason })
export const failCheck = (reason: string): CheckFinding => ({ result: 'fail', reason })
/** The data does not allow the check; the reason says what is missing. */
export const skipCheck = (reason: string): CheckFinding => ({ result: 'n/a', reason })
