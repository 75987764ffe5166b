/** Histograms in the forms that other tools read. */
import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import type { HistogramSnapshot } from '../../base/histogram.js'
import {
  type HistogramUnit,
  occupiedBuckets,
  percentileSpectrum,
  summarizeDistribution,
} from '../summary/quantiles.js'

/** Values of one bucket are spread over so many points: HdrHistogram keeps more digits than we do. */
const POINTS = 16
const DIGITS = 3

/**
 * HdrHistogram V2, compressed, as base64. Durations become microseconds, things stay things: other tools print what
 * is inside as it is. Durations under a microsecond count as none.
 */
export function encodeHdrV2(snapshot: HistogramSnapshot, scale: HistogramUnit): string {
  const factor = scale.whole ? 1 : 1000
  const highest = Math.max(2, Math.ceil(snapshot.max * factor))
  const histogram = build({
    bitBucketSize: 'packed',
    autoResize: true,
    lowestDiscernibleValue: 1,
    highestTrackableValue: highest * 2,
    numberOfSignificantValueDigits: DIGITS,
  })
  for (const { from, to, count } of occupiedBuckets(snapshot, scale)) {
    const points = Math.min(count, from === to ? 1 : POINTS)
    for (let i = 0; i < points; i++) {
      const share = Math.floor((count * (i + 1)) / points) - Math.floor((count * i) / points)
      const value = from + ((to - from) * (i + 0.5)) / points
      histogram.recordValueWithCount(Math.round(value * factor), share)
    }
  }
  try {
    return encodeIntoCompressedBase64(histogram)
  } finally {
    histogram.destroy()
  }
}

/** The text form that HdrHistogram's plotters read (`.hgrm`): value, percentile, count so far, 1/(1-percentile). */
export function formatHgrm(snapshot: HistogramSnapshot, scale: HistogramUnit): string {
  const { count, mean, max } = summarizeDistribution(snapshot, scale)
  const rows = percentileSpectrum(snapshot, scale)
    .filter(([percent]) => Math.ceil((percent / 100) * count) < count)
    .map(([percent, value]) =>
      formatHgrmRow(value, percent / 100, Math.max(1, Math.ceil((percent / 100) * count))),
    )
  return [
    '       Value     Percentile TotalCount 1/(1-Percentile)',
    '',
    ...rows,
    ...(count === 0 ? [] : [formatHgrmRow(max, 1, count)]),
    `#[Mean    = ${padFixed(mean)}, StdDeviation   = ${padFixed(standardDeviation(snapshot, scale))}]`,
    `#[Max     = ${padFixed(max)}, Total count    = ${String(count).padStart(12)}]`,
    '#[Buckets =           37, SubBuckets     =           64]',
    '',
  ].join('\n')
}

function formatHgrmRow(value: number, share: number, sofar: number): string {
  const row = `${padFixed(value)} ${share.toFixed(12)} ${String(sofar).padStart(10)}`
  return share === 1 ? row : `${row} ${(1 / (1 - share)).toFixed(2).padStart(14)}`
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
