/** What kind of client a run has shown a tool to be. */
import type { LoopClass } from '../run-summary.js'
import type { ReportEvidence } from './evidence.js'
import type { QuantilePoint } from './expected-latency.js'

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
  if (evidence.openness === null) return classWithoutStall(evidence)
  if (evidence.openness >= opennessThreshold(evidence)) return 'open'
  if (agreesWithSchedule(evidence)) return 'corrected'
  return caughtUpAfterStall(evidence) ? 'closed' : 'omitting'
}

/** The openness of an open loop: a Poisson schedule has less than is due in a stall by chance. */
export function opennessThreshold({ poisson, dueInStalls }: ReportEvidence): number {
  return poisson ? Math.min(OPEN_FROM, 1 - 3 / Math.sqrt(dueInStalls)) : OPEN_FROM
}

/** A tool may count a request that it gave up as a sample of the time it waited. */
export function isSynthetic({ report, timeouts }: ReportEvidence): boolean {
  const { samples, done } = report
  return samples !== undefined && samples > (done + timeouts) * (1 + SAMPLES_SLACK)
}

function isCensored({ stalls, report, timeouts }: ReportEvidence): boolean {
  const limited = report.censor !== undefined && stalls !== null && stalls.longestMs >= report.censor
  return limited || timeouts > 0
}

/**
 * Whether the printed latencies hold the stall although its requests never came. Of a tool that says it corrects it is
 * enough that one percentile and most of the mean do: whether it corrects rightly is a question for V7.
 */
function agreesWithSchedule({ expected, claims, report }: ReportEvidence): boolean {
  if (expected === null) return false
  const stalled = claims.filter(({ p }) => expected.stalled(p))
  const near = ({ p, ms }: QuantilePoint) =>
    Math.abs(ms - expected.quantile(p)) <= AGREES * expected.quantile(p) + report.quantum
  const { mean } = report
  if (report.corrected) return stalled.some(near) && (mean === undefined || mean >= 0.5 * expected.mean)
  // A single late answer may lie at the right place by luck: the mean holds all that waited.
  const meanAgrees =
    mean === undefined || Math.abs(mean - expected.mean) <= MEAN_AGREES * expected.mean + report.quantum
  return stalled.length > 0 && stalled.every(near) && meanAgrees
}

/** Whether all that was owed came at once after the stall, so that no request is missing, only its wait. */
function caughtUpAfterStall({ due, dueInStalls, stalls, truth }: ReportEvidence): boolean {
  if (due === null || stalls === null) return false
  const owed = dueInStalls - stalls.arrivals
  return Math.abs(due - truth.total.arrivals) <= 0.01 * due && stalls.burst >= 0.5 * owed
}

/** Without a stall only timing that the tool itself measured proves an open loop. */
function classWithoutStall({ report, latenessP99, latenessLimit }: ReportEvidence): LoopClass {
  if (report.loop === 'closed') return 'closed'
  return latenessP99 !== null && latenessP99 <= latenessLimit ? 'open' : 'unknown'
}
