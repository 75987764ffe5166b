/** The few statistics that reports and trials need. */

/** The middle value; the mean of the two middle ones when their number is even. NaN when there is none. */
export function median(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : middleOfSorted(ascending(values))
}

/** The median of the values that are there; null when none is. */
export function medianOfKnown(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value !== null && value !== undefined)
  return known.length === 0 ? null : median(known)
}

export interface MedianInterval {
  readonly median: number
  readonly low: number
  readonly high: number
  /** Chance that the true median lies between `low` and `high`: 0.969 for the range of six values. */
  readonly confidence: number
  readonly count: number
}

/** Values at each end are left out as long as the interval keeps this confidence. */
export const LEAST_CONFIDENCE = 0.95

/**
 * A median with an interval that needs no assumption about how the values spread, by their order alone: 6 of them give
 * their range (96.9 %), 9 the second to the eighth (96.1 %), 12 the third to the tenth (96.1 %). Null for no values.
 */
export function medianInterval(values: readonly number[]): MedianInterval | null {
  if (values.length === 0) return null
  const sorted = ascending(values)
  const count = sorted.length
  let left = 0
  while (left + 1 < count / 2 && intervalConfidence(count, left + 1) >= LEAST_CONFIDENCE) left++
  return {
    median: middleOfSorted(sorted),
    low: sorted[left]!,
    high: sorted[count - 1 - left]!,
    confidence: intervalConfidence(count, left),
    count,
  }
}

/** Of the interval that leaves out `left` values at each end: the median is as likely above as below each value. */
function intervalConfidence(count: number, left: number): number {
  let ways = 1
  let outside = 0
  for (let below = 0; below <= left; below++) {
    outside += ways
    ways = (ways * (count - below)) / (below + 1)
  }
  return Math.max(0, 1 - (2 * outside) / 2 ** count)
}

/** The value at the nearest rank, of values in any order; NaN of nothing. */
export function quantile(values: readonly number[], share: number): number {
  return values.length === 0 ? Number.NaN : quantileOfSorted(ascending(values), share)
}

/** The value at the nearest rank; 0 of nothing. */
export function quantileOfSorted(sorted: ArrayLike<number>, share: number): number {
  if (sorted.length === 0) return 0
  // 0.999 * 1000 is a little more than 999 in doubles: without the tolerance the rank would be one too high.
  const rank = Math.max(1, Math.ceil(share * sorted.length - 1e-9))
  return sorted[rank - 1]!
}

/** Standard error of a sampled quantile of an even distribution `width` wide, after `count` samples. */
export function quantileError(q: number, width: number, count: number): number {
  return count === 0 ? width : width * Math.sqrt((q * (1 - q)) / count)
}

const ascending = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)

function middleOfSorted(sorted: readonly number[]): number {
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
