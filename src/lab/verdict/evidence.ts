/** Everything the checks need, worked out once from a run and a tool's report of it. */
import type { LoadToolReport, RunSummary, SeriesStep, ValidityCheck } from '../run-summary.js'
import { countMatching } from '../sums.js'
import { expectLatency, quantilePoints } from './expected-latency.js'
import { type ActiveSpan, observeLoad, plannedStalls } from './observed-load.js'

export type ReportEvidence = Readonly<ReturnType<typeof gatherEvidence>>

/** `series`: the steps of the run's window, `atMs` counted from its start; may be empty. */
export function gatherEvidence(truth: RunSummary, series: readonly SeriesStep[], report: LoadToolReport) {
  const { active, quiet } = observeLoad(truth, series)
  const seconds = scheduledSeconds(truth, report, active)
  const stalls = plannedStalls(truth)
  const declaredRate = report.rate ?? truth.expect?.rate ?? null
  const stopped = stalls === null ? 0 : Math.min(stalls.totalMs / 1000, seconds * 0.95)
  const pace = declaredRate ?? (seconds > 0 ? truth.total.arrivals / (seconds - stopped) : 0)
  const poisson = truth.expect?.pattern === 'poisson'
  const dueInStalls = stalls === null ? 0 : (pace * stalls.totalMs) / 1000
  // Of a Poisson schedule chance decides about less than half of so many at three deviations, their root.
  const leastDueInStalls = poisson ? 36 : 10
  const foreignCores = coresOfOthers(truth, report)
  return {
    truth,
    report,
    series,
    /** Cores that programs other than server and tool kept busy meanwhile; null where that is unknown. */
    foreignCores,
    /** What depends on the machine says nothing then. */
    busy: foreignCores !== null && foreignCores > foreignLimit(truth),
    /** Requests that the tool can have under way: connections times pipelining. */
    capacity: report.connections * (report.pipelining ?? 1),
    /** Arrivals per second that the tool, or else its user, declared; null for a closed loop at its own pace. */
    declaredRate,
    /** `declaredRate`, or the pace that a closed loop kept while the server was not stopped. */
    pace,
    /** How long the schedule ran within the window, in seconds. */
    seconds,
    /** Requests that the declared rate makes in that time; null without one. */
    due: declaredRate === null ? null : declaredRate * seconds,
    /** Whether chance decides when the expected schedule sends. */
    poisson,
    /** When requests came, by the series; null without one. */
    active,
    /** Steps in which the load was on and no stall or its aftermath was. */
    quiet,
    /** Stops made on purpose; null when there were none. */
    stalls,
    /** Requests that the schedule has while the server stands on purpose. */
    dueInStalls,
    /** Fewer cannot tell a client that sent them from one that did not. */
    leastDueInStalls,
    /** Arrivals while the server stood, over those due there; null without a planned stall or with too few due. */
    openness: stalls === null || dueInStalls < leastDueInStalls ? null : stalls.arrivals / dueInStalls,
    /** What the declared schedule must have seen; null when it is unknown or the server recorded nothing. */
    expected: expectLatency({ truth, stalls, pace, seconds, startMs: toolStartMs(truth, report, active) }),
    /** The tool's percentiles, ascending. */
    claims: quantilePoints(report.percentiles),
    /** Requests that the tool gave up. Tools write `timeout` in several ways. */
    timeouts: countMatching(report.errors, /time.?(d.)?out/i),
    /** p99 of sent − due in milliseconds, as the server computed it from headers or as the tool says; null unknown. */
    latenessP99: latenessP99(truth, report),
    /** The greatest lateness that does not show in the latencies. */
    latenessLimit: Math.max(1, 0.1 * (report.percentiles.p50 ?? truth.total.service.percentiles.p50 ?? 0)),
  }
}

/**
 * Cores beyond which programs outside of a run make server and tool look slow and late: a twentieth of the machine, because
 * on one with cores to spare they are given others.
 */
export const foreignLimit = ({ environment }: RunSummary): number =>
  Math.max(2, Number(environment.cores ?? 2)) / 20

/** A tool that does not tell what it used itself cannot be told from the others. */
export function coresOfOthers(
  { others }: RunSummary,
  { cpuShare, cpuCores, wallS, cpuS }: LoadToolReport,
): number | null {
  const toolS = cpuS ?? cpuShare * cpuCores * wallS
  return others === undefined || toolS === 0 ? null : Math.max(0, others.cores - toolS / others.seconds)
}

/** The window may be longer than the tool's run, and the run longer than its schedule by the drain at its end. */
function scheduledSeconds({ window }: RunSummary, report: LoadToolReport, active: ActiveSpan | null): number {
  const lengths = [window.seconds, report.durationS, active?.seconds ?? 0].filter((length) => length > 0)
  return lengths.length === 0 ? 0 : Math.min(...lengths)
}

/** When the tool began, in milliseconds of the window. */
function toolStartMs({ window }: RunSummary, report: LoadToolReport, active: ActiveSpan | null): number {
  if (report.startNs === undefined) return active?.fromMs ?? 0
  return Math.max(0, Number(BigInt(report.startNs) - BigInt(window.fromNs)) / 1e6)
}

function latenessP99({ total }: RunSummary, report: LoadToolReport): number | null {
  return (total.lateness.count > 0 ? total.lateness.percentiles.p99 : report.latenessP99) ?? null
}

/** The least number of steps of a tool's clock that make a latency more than its rounding. */
export const LEAST_QUANTA = 10

/** What a check found, before it is given its number and name. */
export type CheckFinding = Pick<ValidityCheck, 'result' | 'reason'>

export const pass = (reason: string): CheckFinding => ({ result: 'ok', reason })
export const warn = (reason: string): CheckFinding => ({ result: 'warn', reason })
export const fail = (reason: string): CheckFinding => ({ result: 'fail', reason })
/** A failure that a busy machine alone may be the reason of: strict on a quiet one. */
export const failWhenQuiet = ({ busy }: ReportEvidence, reason: string): CheckFinding =>
  busy ? { result: 'busy', reason } : fail(reason)
/** The data does not allow the check; the reason says what is missing. */
export const skip = (reason: string): CheckFinding => ({ result: 'n/a', reason })
