/** The few statistics the report needs. */

/** A median with the smallest and largest value: for 5 to 6 values that range is a 94 to 97 % interval. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Null for no values. */
export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
  return { median, min: sorted[0]!, max: sorted.at(-1)! }
}

/** The median of the values that are there; null when none is. */
export function medianOf(values: readonly (number | null | undefined)[]): number | null {
  return spread(values.filter((value) => value !== null && value !== undefined))?.median ?? null
}

/** Standard error of a sampled quantile of an even distribution `width` wide, after `count` samples. */
export function quantileError(q: number, width: number, count: number): number {
  return count === 0 ? width : width * Math.sqrt((q * (1 - q)) / count)
}
