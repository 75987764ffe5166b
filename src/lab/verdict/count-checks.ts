/** V1 and V2: do client and server count the same requests, over the same time? */

import type { LoadToolReport } from '../run-summary.js'
import { addUp, countMatching } from '../sums.js'
import { type CheckFinding, fail, failWhenQuiet, pass, type ReportEvidence, skip, warn } from './evidence.js'
import { formatNumber, formatPercent } from './wording.js'

/** Clocks and windows of two programs never start and end at the same instant. */
const EDGE_SHARE = 0.001

/** V1: what arrived and was not answered to the client was in flight when the client stopped, or failed. */
export function checkConservation(evidence: ReportEvidence): CheckFinding {
  const { truth, report } = evidence
  const contradiction = findCountContradiction(report)
  if (contradiction !== null) return fail(contradiction)
  const longer = clientCountedLonger(evidence)
  if (longer !== null) return skip(longer)
  const total = compareCounts(evidence, 'requests', truth.total.arrivals, report.done)
  if (total.result === 'fail' || Object.keys(report.statuses).length === 0) return total
  const good = compareCounts(
    evidence,
    '2xx answers',
    countSuccesses(truth.total.statuses),
    countSuccesses(report.statuses),
  )
  if (good.result === 'fail') return good
  return warnIfOverCounted(evidence) ?? total
}

function compareCounts(
  { truth, report, capacity }: ReportEvidence,
  what: string,
  server: number,
  client: number,
): CheckFinding {
  const lost = addUp(Object.values(report.errors))
  const slack = EDGE_SHARE * truth.total.arrivals
  const missing = server - client
  const counts = `the server counted ${formatNumber(server)} ${what}, the client ${formatNumber(client)}`
  const allowance = `${formatNumber(capacity)} may be under way at the stop${lost > 0 ? `, ${formatNumber(lost)} failed` : ''}`
  if (missing < -slack) return fail(`${counts}: ${formatNumber(-missing)} of them never reached the server`)
  if (missing > capacity + lost + slack)
    return fail(`${counts}: ${formatNumber(missing)} are gone, where ${allowance}`)
  return pass(`${counts}: ${formatNumber(missing)} more, where ${allowance}`)
}

/** A tool may count what it meant to send. */
function warnIfOverCounted({ truth, report, capacity }: ReportEvidence): CheckFinding | null {
  const { arrivals } = truth.total
  if (report.sent === undefined || report.sent <= arrivals * (1 + EDGE_SHARE) + capacity) return null
  return warn(
    `the client says it sent ${formatNumber(report.sent)} requests, ${formatNumber(arrivals)} arrived`,
  )
}

/** A tool that counts from before the window on cannot be compared with the window's counts. */
function clientCountedLonger({ truth, report }: ReportEvidence): string | null {
  const { seconds } = truth.window
  return report.durationS > seconds * 1.02 + 0.5
    ? `the client counted over ${formatNumber(report.durationS)} s, the window has ${formatNumber(seconds)} s`
    : null
}

function countSuccesses(statuses: Readonly<Record<string, number>>): number {
  return countMatching(statuses, /^2(xx|\d\d)$/)
}

/** V2: requests per second, both over the time in which the load was on. */
export function checkRate(evidence: ReportEvidence): CheckFinding {
  const { truth, report, stalls } = evidence
  const overSeconds = clientCountedLonger(evidence) === null ? loadSeconds(evidence) : truth.window.seconds
  if (overSeconds <= 0 || truth.total.completed === 0) return skip('the server answered nothing')
  const served = truth.total.completed / overSeconds
  const off = (report.rps - served) / served
  const reason = `the client says ${formatNumber(report.rps)} requests/s, the server answered ${formatNumber(served)}/s over ${overSeconds.toFixed(1)} s (${off < 0 ? '−' : '+'}${formatPercent(Math.abs(off))} %)`
  if (Math.abs(off) <= 0.01) return pass(reason)
  // A few percent come from time that one side counts and the other does not. A tool that waits at its end for what is
  // under way may count as long as a slow answer takes; the waits of a stop say nothing about its end.
  const slow = stalls === null ? (truth.total.service.percentiles.p99 ?? 0) : 0
  const drain = slow / 1000 / Math.max(1, report.durationS)
  return off <= 0.05 && off >= -Math.max(0.05, Math.min(0.15, drain))
    ? warn(reason)
    : failWhenQuiet(evidence, reason)
}

/** The series tells to about a step when the load began and ended: within that the client's own time is better. */
const SERIES_EDGE_S = 0.15

function loadSeconds({ active, seconds, report }: ReportEvidence): number {
  if (active === null) return seconds
  return Math.abs(active.seconds - report.durationS) <= SERIES_EDGE_S ? report.durationS : active.seconds
}

/** The report's schema refuses other counts that exclude each other; null for a report that may be true. */
function findCountContradiction({ done, statuses }: LoadToolReport): string | null {
  const byStatus = addUp(Object.values(statuses))
  if (byStatus === 0 || Math.abs(byStatus - done) <= 0.001 * done) return null
  return `the client's statuses add up to ${formatNumber(byStatus)}, its answers to ${formatNumber(done)}`
}
