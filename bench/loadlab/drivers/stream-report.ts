/** What a run of the SSE driver reports. */

import type { SampleQuantiles, SampleSet } from '../../harness/figures/sample-set.js'
import { quantileOfSorted } from '../../harness/figures/statistics.js'
import type { StreamLoadResult } from '../../harness/sse/stream-load.js'
import { formatCounts, quantileText } from './drive-report.js'

export type StreamReport = ReturnType<typeof streamReport>

const CURVE_POINTS = 100

export function streamReport({ figures, seconds, startNs, endNs, partial }: StreamLoadResult) {
  const complete = figures.ends.complete ?? 0
  const tokensPerSecond = seconds === 0 ? 0 : figures.tokens / seconds
  return {
    partial,
    seconds,
    startNs: String(startNs),
    endNs: String(endNs),
    /** `started` is the sum of `ends` and of `cut`, those that an interruption met under way. */
    started: figures.started,
    cut: figures.cut,
    ends: { ...figures.ends },
    statuses: { ...figures.statuses },
    tokens: figures.tokens,
    tokensPerSecond,
    /** Complete streams that kept the goal, as a share of the complete ones. */
    goodput: complete === 0 ? 0 : figures.good / complete,
    /** Milliseconds; the first token and the whole count from the due time. */
    firstToken: figures.firstToken.quantiles(),
    gap: figures.gap.quantiles(),
    total: figures.total.quantiles(),
    drift: figures.drift.quantiles(),
    lateness: figures.lateness.quantiles(),
    connectionsOpened: figures.connectionsOpened,
    curves: {
      firstToken: percentileCurve(figures.firstToken),
      gap: percentileCurve(figures.gap),
      tokensPerSecond,
      streams: figures.started,
    },
  }
}

function percentileCurve(samples: SampleSet): { percentile: number; ms: number }[] {
  const sorted = samples.sorted()
  if (sorted.length === 0) return []
  return Array.from({ length: CURVE_POINTS + 1 }, (_, i) => ({
    percentile: (i * 100) / CURVE_POINTS,
    ms: quantileOfSorted(sorted, i / CURVE_POINTS),
  }))
}

/** The report for a person: a few lines. */
export function streamText(report: StreamReport): string {
  const { partial, started, ends, cut, statuses, tokens, tokensPerSecond, seconds, goodput } = report
  const times = (of: SampleQuantiles) =>
    of.count === 0 ? 'none' : `n ${of.count}  ${quantileText(of, ['p50', 'p90', 'p99'], 2)}`
  const lines = [
    `${partial ? 'PARTIAL, interrupted: ' : ''}${started} streams in ${seconds.toFixed(2)} s: ${formatCounts(ends)}${cut > 0 ? `, cut by the end ${cut}` : ''}; statuses ${formatCounts(statuses)}`,
    `${tokens} tokens, ${tokensPerSecond.toFixed(0)}/s; goodput ${(goodput * 100).toFixed(1)} % of the complete streams`,
    `first token, ms: ${times(report.firstToken)}`,
    `gap, ms:         ${times(report.gap)}`,
    `whole, ms:       ${times(report.total)}`,
    `begun late, ms:  ${times(report.lateness)}`,
  ]
  if (report.drift.count > 0) lines.push(`drift, ms:       ${times(report.drift)}`)
  return `${lines.join('\n')}\n`
}
