/** V3, V4 and V5: can the printed latencies be read, do they fit the rate, and the server's own? */
import type { LoopClass } from '../truth.js'
import { type Finding, fail, notApplicable, ok, warn } from './check.js'
import { latencyContradictions } from './contradictions.js'
import type { Evidence } from './evidence.js'
import { LEAST_QUANTA } from './latency-claims.js'
import { ms, number, ratio } from './wording.js'

/** V3: a latency of less than ten steps of the tool's clock is its rounding. */
export function quantum({ claims, report }: Evidence): Finding {
  const least = LEAST_QUANTA * report.quantum
  const printed = [
    ...claims,
    ...(report.mean === undefined || claims.length > 0 ? [] : [{ name: 'mean', ms: report.mean }]),
  ]
  if (printed.length === 0) return notApplicable('the tool prints no latency')
  const coarse = printed.filter(({ ms: value }) => value < least)
  const top = coarse.at(-1)
  const step = `10 steps of its ${ms(report.quantum)} ms`
  if (top === undefined) return ok(`${printed[0]!.name} ${ms(printed[0]!.ms)} ms is at least ${step}`)
  const reason = `${top.name} ${ms(top.ms)} ms is below ${step}: ${coarse.map(({ name }) => name).join(', ')} cannot be read`
  return coarse.length === printed.length ? fail(reason) : warn(reason)
}

/** V4: rate times mean latency is the number of requests under way. */
export function little(evidence: Evidence, loopClass: LoopClass): Finding {
  const { report, declaredRate, stalls } = evidence
  if (report.mean === undefined) return notApplicable('the tool prints no mean')
  const implied = (report.rps * report.mean) / 1000
  if (declaredRate === null) return littleClosed(evidence, implied)
  if (loopClass === 'corrected')
    return notApplicable('latencies from the due time count waits in the tool too')
  if (stalls?.kinds.includes('block')) {
    return notApplicable('while its loop was blocked the server could not see what was under way')
  }
  return littleOpen(evidence, implied)
}

function littleClosed({ capacity, report }: Evidence, implied: number): Finding {
  if (capacity === 0) return notApplicable('the number of connections is unknown')
  const share = implied / capacity
  const reason = `${number(report.rps)}/s times the mean of ${ms(report.mean ?? 0)} ms makes ${number(implied)} requests under way, the tool keeps ${number(capacity)} (ratio ${ratio(share)})`
  return share >= 0.95 && share <= 1.05 ? ok(reason) : fail(reason)
}

/** Round trip and timer of a client on the same machine: what no server sees of a latency, in milliseconds. */
const UNSEEN_MS = 1

/** Both sides as time spent by all requests together, so that it does not matter when each began to count. */
function littleOpen({ truth, report }: Evidence, implied: number): Finding {
  const { concurrency, arrivals, aborted, lateness, wait } = truth.total
  if (arrivals === 0 || report.durationS <= 0) return notApplicable('nothing arrived')
  const seen = (concurrency.mean * truth.window.seconds) / report.durationS
  const unseenMs = UNSEEN_MS + report.quantum + lateness.mean + wait.mean
  // What the client killed at its end took time at the server and is in no sample.
  const killed = (aborted * (report.mean ?? 0)) / 1000 / report.durationS
  const slack = 0.05 * seen + killed + (report.rps * unseenMs) / 1000
  const reason = `${number(report.rps)}/s times the mean of ${ms(report.mean ?? 0)} ms makes ${number(implied)} requests under way, the server saw ${number(seen)}`
  return Math.abs(implied - seen) <= slack ? ok(reason) : fail(reason)
}

/** Both histograms round by up to 1.6 %. */
const ROUNDING = 0.03

/** V5: nobody gets an answer sooner than it was made. */
export function floor({ truth, report, claims }: Evidence): Finding {
  const contradictions = latencyContradictions(report)
  if (contradictions.length > 0) return fail(contradictions.join('; '))
  const { count, percentiles } = truth.total.service
  const pairs = claims
    .filter(({ p }) => p >= 0.5 && p <= 0.999)
    .flatMap(({ name, ms: client }) => {
      const server = percentiles[name]
      return server === undefined ? [] : [{ name, client, server }]
    })
  if (count === 0 || pairs.length === 0) return notApplicable('there is no percentile that both sides have')
  const sooner = pairs.find(({ client, server }) => client < server * (1 - ROUNDING) - report.quantum)
  if (sooner !== undefined) {
    return fail(
      `${sooner.name} of the client ${ms(sooner.client)} ms is less than the server alone took, ${ms(sooner.server)} ms`,
    )
  }
  const top = pairs.at(-1)!
  return ok(`${top.name} of the client ${ms(top.client)} ms is not below the server's ${ms(top.server)} ms`)
}
