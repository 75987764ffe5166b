/** Reads histograms: quantiles, mean, and the whole distribution as points. */
import { bucketUpperEdge, type HistogramSnapshot, UNITS_PER_MS } from '../../base/histogram.js'
import type { PercentilePoint } from '../live-event.js'
import type { DistributionSummary } from '../run-summary.js'
import type { RareMeasure } from '../worker-snapshots.js'

/** What a summary tells of every histogram. */
const PERCENTILES = [50, 75, 90, 95, 99, 99.9, 99.99] as const

/** Values below are kept exactly, one per bucket. */
const EXACT = 64

export interface HistogramUnit {
  /** Units of the histogram per unit that is told. */
  readonly units: number
  /** Values are whole numbers of things, not points of a line. */
  readonly whole: boolean
}

export const MILLISECONDS: HistogramUnit = { units: UNITS_PER_MS, whole: false }
export const THINGS: HistogramUnit = { units: 1, whole: true }

/** The unit of a rare measure. */
export function unitOf(measure: RareMeasure): HistogramUnit {
  return measure === 'chunks' ? THINGS : MILLISECONDS
}

/** A stretch of values, its bounds in the scale's unit, and how many there are. */
interface BucketRange {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** The buckets that hold something, in rising order. */
export function occupiedBuckets({ buckets, max }: HistogramSnapshot, scale: HistogramUnit): BucketRange[] {
  const found: BucketRange[] = []
  for (let i = 0; i < buckets.length; i += 2) {
    const bucket = buckets[i]!
    const upper = bucketUpperEdge(bucket)
    const lower = bucket === 0 ? 0 : bucketUpperEdge(bucket - 1)
    const exact = scale.whole && bucket < EXACT
    found.push({
      from: lower / scale.units,
      to: exact ? lower / scale.units : Math.max(lower / scale.units, Math.min(upper / scale.units, max)),
      count: buckets[i + 1]!,
    })
  }
  return found
}

/**
 * Values at rising percentiles (0 to 100). Inside a bucket the values are taken for evenly spread: with 20 of them in
 * a bucket of 4 ms, that is nearer to the truth than any one point of it.
 */
export function valuesAtPercentiles(
  snapshot: HistogramSnapshot,
  percentiles: readonly number[],
  scale: HistogramUnit,
): number[] {
  const all = occupiedBuckets(snapshot, scale)
  let seen = 0
  let at = 0
  return percentiles.map((percentile) => {
    const rank = Math.max(1, Math.ceil((percentile / 100) * snapshot.count))
    while (at < all.length && seen + all[at]!.count < rank) seen += all[at++]!.count
    const cell = all[at]
    if (cell === undefined) return 0
    // Series keep no maximum: there it is infinite.
    if (rank === snapshot.count && Number.isFinite(snapshot.max)) return snapshot.max
    const value = cell.from + ((cell.to - cell.from) * (rank - seen - 0.5)) / cell.count
    return scale.whole ? Math.round(value) : value
  })
}

export function summarizeDistribution(
  snapshot: HistogramSnapshot,
  scale: HistogramUnit = MILLISECONDS,
): DistributionSummary {
  const { count, sum, max } = snapshot
  const values = valuesAtPercentiles(snapshot, PERCENTILES, scale)
  return {
    count,
    mean: count === 0 ? 0 : sum / count,
    max,
    percentiles: Object.fromEntries(PERCENTILES.map((percentile, i) => [`p${percentile}`, values[i]!])),
  }
}

/** Percentiles that come ever closer to 100: four for every halving of what is left, as far as there are values. */
export function percentileSpectrum(
  snapshot: HistogramSnapshot,
  scale: HistogramUnit = MILLISECONDS,
): PercentilePoint[] {
  const { count } = snapshot
  if (count === 0) return []
  const percents: number[] = []
  for (let left = 1, i = 0; left * count >= 0.5 && i < 60; i++, left = 2 ** (-i / 4)) {
    percents.push(100 * (1 - left))
  }
  const values = valuesAtPercentiles(snapshot, percents, scale)
  return percents.map((percent, i) => [percent, values[i]!])
}
