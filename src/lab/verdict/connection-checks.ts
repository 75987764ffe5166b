/** V13 and V14: the connections that a tool was told to use. */
import { connectionsNeeded } from '../expected.js'
import { type Finding, fail, notApplicable, ok, warn } from './check.js'
import type { Evidence } from './evidence.js'
import { number, percent } from './wording.js'

/** V13: as many connections as asked for, opened once. An open loop's number is the most it may use. */
export function connections({ truth, report }: Evidence): Finding {
  const { peak, opened } = truth.connections
  const asked = report.connections
  if (asked === 0 || peak === 0) return notApplicable('the number of connections is unknown')
  const slack = 1 + 0.05 * asked
  const reason = `${number(asked)} connections asked for, at most ${number(peak)} at once, ${number(opened)} opened`
  if (peak > asked + slack) return warn(`${reason}: more than asked for`)
  if (report.loop === 'closed' && peak < asked - slack) return warn(`${reason}: fewer than asked for`)
  return opened > peak * 1.1 + 1 ? warn(`${reason}: they did not stay open`) : ok(reason)
}

/** V14: a rate that the connections cannot carry. */
export function connectionCap({ truth, report, declaredRate, seconds }: Evidence): Finding {
  const busy = truth.connections.shareBusy
  if (declaredRate === null)
    return notApplicable('a closed loop without a rate always uses all its connections')
  if (busy === null) return notApplicable('the server was not told how many connections to expect')
  const due = declaredRate * seconds
  const reason = `all connections were busy ${percent(busy)} % of the time, ${number(truth.total.arrivals)} of ${number(due)} due requests arrived`
  if (busy <= 0.2 || truth.total.arrivals >= 0.99 * due) return ok(reason)
  const mean = Math.max(truth.total.service.mean, report.mean ?? 0)
  return fail(
    `connection-limited: ${reason}; ${number(declaredRate)}/s of ${number(mean)} ms each need ${number(connectionsNeeded(declaredRate, mean))} connections, ${number(report.connections)} were given`,
  )
}
