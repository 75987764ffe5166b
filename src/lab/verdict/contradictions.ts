/** Reports that no run could have led to, whatever the server saw. */
import type { ClientReport } from '../truth.js'
import { latencyClaims } from './latency-claims.js'
import { ms, number, percent } from './wording.js'

/** Sentences about counts that exclude each other; empty for a report that may be true. */
export function countContradictions(report: ClientReport): string[] {
  const { done, sent, statuses, rps, durationS } = report
  const byStatus = Object.values(statuses).reduce((total, count) => total + count, 0)
  const found: string[] = []
  if ([done, rps, durationS, ...Object.values(report.errors)].some((value) => !(value >= 0))) {
    found.push('the report holds a count, a rate or a duration below 0 or that is no number')
  }
  if (sent !== undefined && sent < done) {
    found.push(`the client says it sent ${number(sent)} requests and got ${number(done)} answers`)
  }
  if (byStatus > 0 && Math.abs(byStatus - done) > 0.001 * done) {
    found.push(`the client's statuses add up to ${number(byStatus)}, its answers to ${number(done)}`)
  }
  return found
}

/** Sentences about latencies that exclude each other. */
export function latencyContradictions(report: ClientReport): string[] {
  const claims = latencyClaims(report)
  const { mean, max, quantum } = report
  const found: string[] = []
  claims.forEach((claim, index) => {
    const next = claims[index + 1]
    if (next !== undefined && next.ms < claim.ms - quantum) {
      found.push(`${next.name} ${ms(next.ms)} ms is below ${claim.name} ${ms(claim.ms)} ms`)
    }
    if (claim.ms < 0) found.push(`${claim.name} is ${ms(claim.ms)} ms`)
    if (max !== undefined && claim.ms > max * 1.02 + quantum) {
      found.push(`${claim.name} ${ms(claim.ms)} ms exceeds the maximum ${ms(max)} ms`)
    }
  })
  const top = claims.at(-1)
  if (mean !== undefined && max !== undefined && top !== undefined) {
    // All samples up to the top percentile are at most that, and the rest at most the maximum.
    const most = top.p * top.ms + (1 - top.p) * max + quantum
    if (mean > most * 1.02) {
      found.push(
        `mean ${ms(mean)} ms exceeds ${ms(most)} ms, the most that ${top.name} ${ms(top.ms)} ms and a maximum of ${ms(max)} ms for the other ${percent(1 - top.p)} % allow`,
      )
    }
  }
  return found
}
