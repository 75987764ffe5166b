/** What kind of client a run has shown a tool to be. */
import type { LoopClass } from '../run-summary.js'
import { countMatching } from '../sums.js'
import type { QuantileClaim, ReportEvidence } from './evidence.js'

/** From this share of the scheduled arrivals on a client on an even schedule went on sending while the server stood. */
const OPEN_FROM = 0.95
/** A latency within this share of the expected one agrees with it. */
export const AGREES = 0.05
/** A mean moves with every late answer. */
export const MEAN_AGREES = 0.2
/** More samples than answers, by this share, are made up. */
export const SAMPLES_SLACK = 0.01

/** The reasons are the checks'; the order here is from the surest sign to the weakest. */
export function classifyLoop(evidence: ReportEvidence): LoopClass {
  if (isSynthetic(evidence)) return 'synthetic'
  if (isCensored(evidence)) return 'censored'
  const share = measureOpenness(evidence)
  if (share === null) return classWithoutStall(evidence)
  if (share >= opennessThreshold(evidence)) return 'open'
  if (agreesWithSchedule(evidence)) return 'corrected'
  return caughtUpAfterStall(evidence) ? 'closed' : 'omitting'
}

/**
 * Arrivals while the server stood, over those that the schedule has there; null without a planned stall, or where too
 * few are due to tell a client that sent them from one that did not.
 */
export function measureOpenness(evidence: ReportEvidence): number | null {
  const due = arrivalsDueInStalls(evidence)
  return due < leastDueArrivals(evidence) ? null : evidence.stalls!.arrivals / due
}

/** Requests that the schedule has while the server stands on purpose. */
export function arrivalsDueInStalls({ stalls, pace }: ReportEvidence): number {
  return stalls === null ? 0 : (pace * stalls.totalMs) / 1000
}

/** Of a Poisson schedule chance decides about less than half of so many at three deviations, their root. */
export function leastDueArrivals(evidence: ReportEvidence): number {
  return isPoisson(evidence) ? 36 : 10
}

/** The openness of an open loop: a Poisson schedule has less than is due in a stall by chance. */
export function opennessThreshold(evidence: ReportEvidence): number {
  return isPoisson(evidence)
    ? Math.min(OPEN_FROM, 1 - 3 / Math.sqrt(arrivalsDueInStalls(evidence)))
    : OPEN_FROM
}

export function isPoisson({ truth }: ReportEvidence): boolean {
  return truth.expect?.pattern === 'poisson'
}

/** A tool may count a request that it gave up as a sample of the time it waited. */
export function isSynthetic(evidence: ReportEvidence): boolean {
  const { samples, done } = evidence.report
  return samples !== undefined && samples > (done + countTimeouts(evidence)) * (1 + SAMPLES_SLACK)
}

/** Requests that the tool gave up. Tools write `timeout` in several ways. */
export function countTimeouts({ report }: ReportEvidence): number {
  return countMatching(report.errors, /time.?(d.)?out/i)
}

function isCensored(evidence: ReportEvidence): boolean {
  const { stalls, report } = evidence
  const limited = report.censor !== undefined && stalls !== null && stalls.longestMs >= report.censor
  return limited || countTimeouts(evidence) > 0
}

/**
 * Whether the printed latencies hold the stall although its requests never came. Of a tool that says it corrects it is
 * enough that one percentile and most of the mean do: whether it corrects rightly is a question for V7.
 */
function agreesWithSchedule(evidence: ReportEvidence): boolean {
  const { expected, claims, report } = evidence
  if (expected === null) return false
  const stalled = claims.filter(({ p }) => expected.stalled(p))
  const near = ({ p, ms }: QuantileClaim) =>
    Math.abs(ms - expected.quantile(p)) <= AGREES * expected.quantile(p) + report.quantum
  const { mean } = report
  if (report.corrected) return stalled.some(near) && (mean === undefined || mean >= 0.5 * expected.mean)
  // A single late answer may lie at the right place by luck: the mean holds all that waited.
  const meanAgrees =
    mean === undefined || Math.abs(mean - expected.mean) <= MEAN_AGREES * expected.mean + report.quantum
  return stalled.length > 0 && stalled.every(near) && meanAgrees
}

/** Whether all that was owed came at once after the stall, so that no request is missing, only its wait. */
function caughtUpAfterStall({ declaredRate, seconds, stalls, truth }: ReportEvidence): boolean {
  if (declaredRate === null || stalls === null) return false
  const due = declaredRate * seconds
  const owed = (declaredRate * stalls.totalMs) / 1000 - stalls.arrivals
  return Math.abs(due - truth.total.arrivals) <= 0.01 * due && stalls.burst >= 0.5 * owed
}

/** Without a stall only timing that the tool itself measured proves an open loop. */
function classWithoutStall(evidence: ReportEvidence): LoopClass {
  if (evidence.report.loop === 'closed') return 'closed'
  const late = latenessP99(evidence)
  return late !== null && late <= latenessLimit(evidence) ? 'open' : 'unknown'
}

/** p99 of sent − due in milliseconds, as the server computed it from headers or as the tool says; null unknown. */
export function latenessP99({ truth, report }: ReportEvidence): number | null {
  if (truth.total.lateness.count > 0) return truth.total.lateness.percentiles.p99 ?? null
  return report.latenessP99 ?? null
}

/** The greatest lateness that does not show in the latencies. */
export function latenessLimit({ truth, report }: ReportEvidence): number {
  const typical = report.percentiles.p50 ?? truth.total.service.percentiles.p50 ?? 0
  return Math.max(1, 0.1 * typical)
}
