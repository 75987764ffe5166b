/** Reports that no run could have led to, whatever the server saw. */
import type { LoadToolReport } from '../run-summary.js'
import { latencyClaims } from './latency-claims.js'
import { formatMs, formatNumber, formatPercent } from './wording.js'

/** Sentences about counts that exclude each other; empty for a report that may be true. */
export function findCountContradictions(report: LoadToolReport): string[] {
  const { done, sent, statuses, rps, durationS } = report
  const byStatus = Object.values(statuses).reduce((total, count) => total + count, 0)
  const found: string[] = []
  if ([done, rps, durationS, ...Object.values(report.errors)].some((value) => !(value >= 0))) {
    found.push('the report holds a count, a rate or a duration below 0 or that is no number')
  }
  if (sent !== undefined && sent < done) {
    found.push(`the client says it sent ${formatNumber(sent)} requests and got ${formatNumber(done)} answers`)
  }
  if (byStatus > 0 && Math.abs(byStatus - done) > 0.001 * done) {
    found.push(
      `the client's statuses add up to ${formatNumber(byStatus)}, its answers to ${formatNumber(done)}`,
    )
  }
  return found
}

/** Sentences about latencies that exclude each other. */
export function findLatencyContradictions(report: LoadToolReport): string[] {
  const claims = latencyClaims(report)
  const { mean, max, quantum } = report
  const found: string[] = []
  claims.forEach((claim, index) => {
    const next = claims[index + 1]
    if (next !== undefined && next.ms < claim.ms - quantum) {
      found.push(`${next.name} ${formatMs(next.ms)} ms is below ${claim.name} ${formatMs(claim.ms)} ms`)
    }
    if (claim.ms < 0) found.push(`${claim.name} is ${formatMs(claim.ms)} ms`)
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
