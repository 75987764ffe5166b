/** V1 and V2: do client and server count the same requests, over the same time? */

import { type Finding, fail, notApplicable, ok, warn } from './check.js'
import { countContradictions } from './contradictions.js'
import type { Evidence } from './evidence.js'
import { number, percent } from './wording.js'

/** Clocks and windows of two programs never start and end at the same instant. */
const EDGE_SHARE = 0.001

/** V1: what arrived and was not answered to the client was in flight when the client stopped, or failed. */
export function conservation(evidence: Evidence): Finding {
  const { truth, report } = evidence
  const contradictions = countContradictions(report)
  if (contradictions.length > 0) return fail(contradictions.join('; '))
  const longer = countsLonger(evidence)
  if (longer !== null) return notApplicable(longer)
  const total = countsAgree(evidence, 'requests', truth.total.arrivals, report.done)
  if (total.result === 'fail' || Object.keys(report.statuses).length === 0) return total
  const good = countsAgree(
    evidence,
    '2xx answers',
    successes(truth.total.statuses),
    successes(report.statuses),
  )
  if (good.result === 'fail') return good
  return overCounted(evidence) ?? total
}

function countsAgree(
  { truth, report, capacity }: Evidence,
  what: string,
  server: number,
  client: number,
): Finding {
  const lost = Object.values(report.errors).reduce((total, count) => total + count, 0)
  const slack = EDGE_SHARE * truth.total.arrivals
  const missing = server - client
  const counts = `the server counted ${number(server)} ${what}, the client ${number(client)}`
  const allowance = `${number(capacity)} may be under way at the stop${lost > 0 ? `, ${number(lost)} failed` : ''}`
  if (missing < -slack) return fail(`${counts}: ${number(-missing)} of them never reached the server`)
  if (missing > capacity + lost + slack)
    return fail(`${counts}: ${number(missing)} are gone, where ${allowance}`)
  return ok(`${counts}: ${number(missing)} more, where ${allowance}`)
}

/** A tool may count what it meant to send. */
function overCounted({ truth, report, capacity }: Evidence): Finding | null {
  const { arrivals } = truth.total
  if (report.sent === undefined || report.sent <= arrivals * (1 + EDGE_SHARE) + capacity) return null
  return warn(`the client says it sent ${number(report.sent)} requests, ${number(arrivals)} arrived`)
}

/** A tool that counts from before the window on cannot be compared with the window's counts. */
function countsLonger({ truth, report }: Evidence): string | null {
  const { seconds } = truth.window
  return report.durationS > seconds * 1.02 + 0.5
    ? `the client counted over ${number(report.durationS)} s, the window has ${number(seconds)} s`
    : null
}

function successes(statuses: Readonly<Record<string, number>>): number {
  return Object.entries(statuses).reduce(
    (total, [status, count]) => (/^2(xx|\d\d)$/.test(status) ? total + count : total),
    0,
  )
}

/** V2: requests per second, both over the time in which the load was on. */
export function rate(evidence: Evidence): Finding {
  const { truth, report } = evidence
  const overSeconds = countsLonger(evidence) === null ? loadSeconds(evidence) : truth.window.seconds
  if (overSeconds <= 0 || truth.total.completed === 0) return notApplicable('the server answered nothing')
  const served = truth.total.completed / overSeconds
  const off = (report.rps - served) / served
  const reason = `the client says ${number(report.rps)} requests/s, the server answered ${number(served)}/s over ${overSeconds.toFixed(1)} s (${off < 0 ? '−' : '+'}${percent(Math.abs(off))} %)`
  if (Math.abs(off) <= 0.01) return ok(reason)
  // A few percent come from time that one side counts and the other does not, such as a drain at the end.
  return Math.abs(off) <= 0.05 ? warn(reason) : fail(reason)
}

/** The series tells to about a step when the load began and ended: within that the client's own time is better. */
const SERIES_EDGE_S = 0.15

function loadSeconds({ active, seconds, report }: Evidence): number {
  if (active === null) return seconds
  return Math.abs(active.seconds - report.durationS) <= SERIES_EDGE_S ? report.durationS : active.seconds
}
