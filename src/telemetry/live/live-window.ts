/** The figures of a scope over the last seconds. */
import { type Histogram, mergeHistograms } from '../../base/histogram.js'
import { nanosToDollars } from '../../base/money.js'
import type { ScopeReport } from './live-report.js'

/** Rounds that rates are told of, and quantiles, which need more calls to mean something. */
export const RATE_ROUNDS = 2
export const QUANTILE_ROUNDS = 10

/** What a scope came to in one round, over all workers. */
interface Round {
  readonly ms: number
  readonly reports: readonly ScopeReport[]
}

const SUMS = ['calls', 'failed', 'aborted', 'promptTokens', 'completionTokens', 'cost', 'byokCost'] as const

export class LiveWindow {
  /** Oldest first. */
  #rounds: Round[] = []
  #current: ScopeReport[] = []

  add(report: ScopeReport): void {
    this.#current.push(report)
  }

  /** Ends a round of so many milliseconds. Gives the rows that came in it, those of one worker after those of another. */
  close(ms: number): readonly string[] {
    const reports = this.#current
    this.#current = []
    this.#rounds.push({ ms, reports })
    if (this.#rounds.length > QUANTILE_ROUNDS) this.#rounds.shift()
    return reports.flatMap(({ rows }) => rows)
  }

  figures() {
    const lately = this.#rounds.slice(-RATE_ROUNDS)
    const seconds = lately.reduce((sum, { ms }) => sum + ms, 0) / 1000
    const reports = lately.flatMap((round) => round.reports)
    const sums = Object.fromEntries(SUMS.map((name) => [name, 0])) as Record<(typeof SUMS)[number], number>
    const faults: Record<string, number> = {}
    for (const report of reports) {
      for (const name of SUMS) sums[name] += report[name]
      for (const [kind, count] of Object.entries(report.faults)) faults[kind] = (faults[kind] ?? 0) + count
    }
    const rate = (amount: number): number => roundFigure(seconds === 0 ? 0 : amount / seconds)
    const all = this.#rounds.flatMap((round) => round.reports)
    return {
      calls_per_second: rate(sums.calls),
      failed_per_second: rate(sums.failed),
      aborted_per_second: rate(sums.aborted),
      faults_per_second: Object.fromEntries(
        Object.entries(faults).map(([kind, count]) => [kind, rate(count)]),
      ),
      prompt_tokens_per_second: rate(sums.promptTokens),
      completion_tokens_per_second: rate(sums.completionTokens),
      dollars_per_second: rate(nanosToDollars(sums.cost)),
      byok_dollars_per_second: rate(nanosToDollars(sums.byokCost)),
      latency_ms: quantiles(mergeHistograms(all.map(({ durationMs }) => durationMs))),
      first_event_ms: quantiles(mergeHistograms(all.map(({ firstEventMs }) => firstEventMs))),
    }
  }
}

/** Null where nothing was measured. */
export function quantiles(histogram: Histogram) {
  const { count, max } = histogram
  if (count === 0) return null
  const { p50, p90, p99 } = histogram.quantiles()
  return { count, p50: roundFigure(p50), p90: roundFigure(p90), p99: roundFigure(p99), max: roundFigure(max) }
}

/** Six digits that count: a figure that changes all the time needs no more. */
export function roundFigure(value: number): number {
  return Number(value.toPrecision(6))
}
