/** V3, V4 and V5: can the printed latencies be read, do they fit the rate, and the server's own? */
import type { LoadToolReport, LoopClass } from '../run-summary.js'
import {
  type CheckFinding,
  fail,
  failWhenQuiet,
  LEAST_QUANTA,
  pass,
  type ReportEvidence,
  skip,
  warn,
} from './evidence.js'
import type { QuantilePoint } from './expected-latency.js'
import { formatMs, formatNumber, formatPercent, formatRatio } from './wording.js'

/** V3: a latency of less than ten steps of the tool's clock is its rounding. */
export function checkQuantum({ claims, report }: ReportEvidence): CheckFinding {
  const least = LEAST_QUANTA * report.quantum
  const printed = [
    ...claims,
    ...(report.mean === undefined || claims.length > 0 ? [] : [{ name: 'mean', ms: report.mean }]),
  ]
  if (printed.length === 0) return skip('the tool prints no latency')
  const coarse = printed.filter(({ ms: value }) => value < least)
  const top = coarse.at(-1)
  const step = `10 steps of its ${formatMs(report.quantum)} ms`
  if (top === undefined) return pass(`${printed[0]!.name} ${formatMs(printed[0]!.ms)} ms is at least ${step}`)
  const reason = `${top.name} ${formatMs(top.ms)} ms is below ${step}: ${coarse.map(({ name }) => name).join(', ')} cannot be read`
  return coarse.length === printed.length ? fail(reason) : warn(reason)
}

/** V4: rate times mean latency is the number of requests under way. */
export function checkLittlesLaw(evidence: ReportEvidence, loopClass: LoopClass): CheckFinding {
  const { report, declaredRate, stalls } = evidence
  if (report.mean === undefined) return skip('the tool prints no mean')
  const implied = (report.rps * report.mean) / 1000
  if (declaredRate === null) return checkLittleClosed(evidence, implied)
  if (loopClass === 'corrected') return skip('latencies from the due time count waits in the tool too')
  if (stalls?.kinds.includes('block')) {
    return skip('while its loop was blocked the server could not see what was under way')
  }
  return checkLittleOpen(evidence, implied)
}

function checkLittleClosed({ capacity, report }: ReportEvidence, implied: number): CheckFinding {
  if (capacity === 0) return skip('the number of connections is unknown')
  const share = implied / capacity
  const reason = `${formatNumber(report.rps)}/s times the mean of ${formatMs(report.mean ?? 0)} ms makes ${formatNumber(implied)} requests under way, the tool keeps ${formatNumber(capacity)} (ratio ${formatRatio(share)})`
  return share >= 0.95 && share <= 1.05 ? pass(reason) : fail(reason)
}

/** Round trip and timer of a client on the same machine: what no server sees of a latency, in milliseconds. */
const UNSEEN_MS = 1

/** Both sides as time spent by all requests together, so that it does not matter when each began to count. */
function checkLittleOpen(evidence: ReportEvidence, implied: number): CheckFinding {
  const { truth, report } = evidence
  const { concurrency, arrivals, aborted, lateness, wait } = truth.total
  if (arrivals === 0 || report.durationS <= 0) return skip('nothing arrived')
  const seen = (concurrency.mean * truth.window.seconds) / report.durationS
  const unseenMs = UNSEEN_MS + report.quantum + lateness.mean + wait.mean
  // What the client killed at its end took time at the server and is in no sample.
  const killed = (aborted * (report.mean ?? 0)) / 1000 / report.durationS
  const slack = 0.05 * seen + killed + (report.rps * unseenMs) / 1000
  const reason = `${formatNumber(report.rps)}/s times the mean of ${formatMs(report.mean ?? 0)} ms makes ${formatNumber(implied)} requests under way, the server saw ${formatNumber(seen)}`
  if (Math.abs(implied - seen) <= slack) return pass(reason)
  // What a tool adds while it waits for a core is no fault of its own; what it leaves out is.
  return implied > seen ? failWhenQuiet(evidence, reason) : fail(reason)
}

/** Both histograms round by up to 1.6 %. */
const ROUNDING = 0.03

/** V5: no client gets an answer sooner than the server made it. */
export function checkLatencyFloor({ truth, report, claims }: ReportEvidence): CheckFinding {
  const contradictions = findLatencyContradictions(report, claims)
  if (contradictions.length > 0) return fail(contradictions.join('; '))
  const { count, percentiles } = truth.total.service
  const pairs = claims
    .filter(({ p }) => p >= 0.5 && p <= 0.999)
    .flatMap(({ name, ms: client }) => {
      const server = percentiles[name]
      return server === undefined ? [] : [{ name, client, server }]
    })
  if (count === 0 || pairs.length === 0) return skip('there is no percentile that both sides have')
  const sooner = pairs.find(({ client, server }) => client < server * (1 - ROUNDING) - report.quantum)
  if (sooner !== undefined) {
    return fail(
      `${sooner.name} of the client ${formatMs(sooner.client)} ms is less than the server alone took, ${formatMs(sooner.server)} ms`,
    )
  }
  const top = pairs.at(-1)!
  return pass(
    `${top.name} of the client ${formatMs(top.client)} ms is not below the server's ${formatMs(top.server)} ms`,
  )
}

/** Sentences about latencies that exclude each other. */
function findLatencyContradictions(
  { mean, max, quantum }: LoadToolReport,
  claims: readonly QuantilePoint[],
): string[] {
  const found: string[] = []
  claims.forEach((claim, index) => {
    const next = claims[index + 1]
    if (next !== undefined && next.ms < claim.ms - quantum) {
      found.push(`${next.name} ${formatMs(next.ms)} ms is below ${claim.name} ${formatMs(claim.ms)} ms`)
    }
    if (max !== undefined && claim.ms > max * 1.02 + quantum) {
      found.push(`${claim.name} ${formatMs(claim.ms)} ms exceeds the maximum ${formatMs(max)} ms`)
    }
  })
  const top = claims.at(-1)
  if (mean !== undefined && max !== undefined && top !== undefined) {
    // All samples up to the top percentile are at most that, and the rest at most the maximum.
    const most = top.p * top.ms + (1 - top.p) * max + quantum
    if (mean > most * 1.02) {
      found.push(
        `mean ${formatMs(mean)} ms exceeds ${formatMs(most)} ms, the most that ${top.name} ${formatMs(top.ms)} ms and a maximum of ${formatMs(max)} ms for the other ${formatPercent(1 - top.p)} % allow`,
      )
    }
  }
  return found
}
