import type { HistogramSnapshot } from '../../base/histogram.js'
import {
  type HistogramUnit,
  occupiedBuckets,
  percentileSpectrum,
  summarizeDistribution,
} from '../summary/quantiles.js'

/** The text form that HdrHistogram's plotters read (`.hgrm`): value, percentile, count so far, 1/(1-percentile). */
export function formatHgrm(snapshot: HistogramSnapshot, scale: HistogramUnit): string {
  const { count, mean, max } = summarizeDistribution(snapshot, scale)
  const rows = percentileSpectrum(snapshot, scale)
    .filter(([percent]) => Math.ceil((percent / 100) * count) < count)
    .map(([percent, value]) =>
      formatHgrmRow(value, percent / 100, Math.max(1, Math.ceil((percent / 100) * count))),
    )
  const last = count === 0 ? [] : [`${padFixed(max)} ${'1.000000000000'} ${String(count).padStart(10)}`]
  return [
    '       Value     Percentile TotalCount 1/(1-Percentile)',
    '',
    ...rows,
    ...last,
    `#[Mean    = ${padFixed(mean)}, StdDeviation   = ${padFixed(standardDeviation(snapshot, scale))}]`,
    `#[Max     = ${padFixed(max)}, Total count    = ${String(count).padStart(12)}]`,
    '#[Buckets =           37, SubBuckets     =           64]',
    '',
  ].join('\n')
}

function formatHgrmRow(value: number, share: number, sofar: number): string {
  const inverse = (1 / (1 - share)).toFixed(2).padStart(14)
  return `${padFixed(value)} ${share.toFixed(12)} ${String(sofar).padStart(10)} ${inverse}`
}

function padFixed(value: number): string {
  return value.toFixed(6).padStart(14)
}

/** From the points of the spectrum's buckets: good to the width of a bucket. */
function standardDeviation({ buckets, count, sum }: HistogramSnapshot, scale: HistogramUnit): number {
  if (count === 0 || buckets.length === 0) return 0
  const mean = sum / count
  const middles = occupiedBuckets({ buckets, count, sum, max: Number.POSITIVE_INFINITY }, scale)
  const squares = middles.reduce(
    (total, cell) => total + cell.count * ((cell.from + cell.to) / 2 - mean) ** 2,
    0,
  )
  return Math.sqrt(squares / count)
}
