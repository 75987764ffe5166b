import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js'
import type { HistogramSnapshot } from '../../base/histogram.js'
import { type HistogramUnit, occupiedBuckets } from '../summary/quantiles.js'

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
