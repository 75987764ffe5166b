/** V13 and V14: the connections that a tool was told to use. */
import { connectionsNeeded } from '../expected.js'
import { type CheckFinding, failed, notApplicable, passed, warned } from './check.js'
import type { ReportEvidence } from './evidence.js'
import { formatNumber, formatPercent } from './wording.js'

/** V13: as many connections as asked for, opened once. An open loop's number is the most it may use. */
export function checkConnections({ truth, report }: ReportEvidence): CheckFinding {
  const { peak, opened } = truth.connections
  const asked = report.connections
  if (asked === 0 || peak === 0) return notApplicable('the number of connections is unknown')
  const slack = 1 + 0.05 * asked
  const reason = `${formatNumber(asked)} connections asked for, at most ${formatNumber(peak)} at once, ${formatNumber(opened)} opened`
  if (peak > asked + slack) return warned(`${reason}: more than asked for`)
  if (report.loop === 'closed' && peak < asked - slack) return warned(`${reason}: fewer than asked for`)
  return opened > peak * 1.1 + 1 ? warned(`${reason}: they did not stay open`) : passed(reason)
}

/** V14: a rate that the connections cannot carry. */
export function checkConnectionCap({ truth, report, declaredRate, seconds }: ReportEvidence): CheckFinding {
  const busy = truth.connections.shareBusy
  if (declaredRate === null)
    return notApplicable('a closed loop without a rate always uses all its connections')
  if (busy === null) return notApplicable('the server was not told how many connections to expect')
  const due = declaredRate * seconds
  const reason = `all connections were busy ${formatPercent(busy)} % of the time, ${formatNumber(truth.total.arrivals)} of ${formatNumber(due)} due requests arrived`
  if (busy <= 0.2 || truth.total.arrivals >= 0.99 * due) return passed(reason)
  const mean = Math.max(truth.total.service.mean, report.mean ?? 0)
  return failed(
    `connection-limited: ${reason}; ${formatNumber(declaredRate)}/s of ${formatNumber(mean)} ms each need ${formatNumber(connectionsNeeded(declaredRate, mean))} connections, ${formatNumber(report.connections)} were given`,
  )
}
