/** Medians with intervals that need no assumption about how the values spread. */

export interface MedianInterval {
  readonly median: number
  readonly low: number
  readonly high: number
  /** Chance that the true median lies between `low` and `high`: 0.969 for the range of six values. */
  readonly confidence: number
  readonly count: number
}

/** Values at each end are left out as long as the interval keeps this confidence. */
const LEAST_CONFIDENCE = 0.92

/** Null for no values: 6 of them give their range (96.9 %), 8 the second to the seventh (93.0 %). */
export function medianInterval(values: readonly number[]): MedianInterval | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const count = sorted.length
  let left = 0
  while (left + 1 < count / 2 && confidence(count, left + 1) >= LEAST_CONFIDENCE) left++
  const middle = count >> 1
  return {
    median: count % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2,
    low: sorted[left]!,
    high: sorted[count - 1 - left]!,
    confidence: confidence(count, left),
    count,
  }
}

/** Whether an interval of ratios excludes 1 by more than 2 %: less is no difference. */
export function differs({ low, high }: MedianInterval): boolean {
  return low > 1.02 || high < 0.98
}

/** Of the interval that leaves out `left` values at each end: the median is as likely above as below each value. */
function confidence(count: number, left: number): number {
  let ways = 1
  let outside = 0
  for (let below = 0; below <= left; below++) {
    outside += ways
    ways = (ways * (count - below)) / (below + 1)
  }
  return Math.max(0, 1 - (2 * outside) / 2 ** count)
}
