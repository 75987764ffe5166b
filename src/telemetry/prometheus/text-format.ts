/** The Prometheus text format, version 0.0.4. */
import { countValuesAtOrBelow, type HistogramSnapshot } from '../../base/histogram.js'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

type MetricLabels = Readonly<Record<string, string | number>>

/** A value with its labels; the suffix stands behind the name of its family. */
export type MetricSample = readonly [labels: MetricLabels, value: number, suffix?: string]

/** All samples of one name, under its `HELP` and `TYPE` lines. */
export function formatMetricFamily(
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: readonly MetricSample[],
): string {
  const lines = samples.map(([labels, value, suffix = '']) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text))}"`)
    return `${name}${suffix}{${pairs.join(',')}} ${value}\n`
  })
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

/** The samples of one histogram of durations, in seconds. Bounds in milliseconds, rising. */
export function histogramSamples(
  labels: MetricLabels,
  snapshot: HistogramSnapshot,
  boundsMs: readonly number[],
): MetricSample[] {
  const { count, sum } = snapshot
  const below = countValuesAtOrBelow(snapshot, boundsMs)
  return [
    ...boundsMs.map((bound, at): MetricSample => [{ ...labels, le: bound / 1000 }, below[at]!, '_bucket']),
    [{ ...labels, le: '+Inf' }, count, '_bucket'],
    [labels, sum / 1000, '_sum'],
    [labels, count, '_count'],
  ]
}

/** Names come from the configuration and may hold anything. */
function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
}
