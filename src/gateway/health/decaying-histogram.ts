/** Quantiles of the recent past: what was recorded an hour ago hardly counts any more. */

/** Buckets per doubling: neighbours differ by 9 %. */
const BUCKETS_PER_OCTAVE = 8
export const BUCKETS = 216
/** Weights grow instead of old ones being made smaller; past this they are all divided. */
const LARGEST_WEIGHT = 2 ** 40
const HALF_LIFE_MS = 10 * 60_000
/** Less weight than this, in present calls, tells nothing. */
const LEAST_WEIGHT = 0.5

const MIN_VALUE = 0.01

/** Bucket of a value from 0.01 to about a million, in whatever unit the histogram has; what is beyond counts as that. */
export function bucketOf(value: number): number {
  if (!(value > MIN_VALUE)) return 0
  return Math.min(BUCKETS - 1, Math.round(Math.log2(value / MIN_VALUE) * BUCKETS_PER_OCTAVE))
}

function bucketValue(bucket: number): number {
  return MIN_VALUE * 2 ** (bucket / BUCKETS_PER_OCTAVE)
}

export class DecayingHistogram {
  readonly #weights = new Float64Array(BUCKETS)
  #sum = 0
  /** When the weight of a call was 1. */
  #epoch: number

  constructor(now: number) {
    this.#epoch = now
  }

  record(bucket: number, now: number, count = 1): void {
    const weight = count * this.#weightAt(now)
    this.#weights[bucket]! += weight
    this.#sum += weight
  }

  /** How many present calls the past weighs. */
  weight(now: number): number {
    // Asked first: it may divide the sum.
    const present = this.#weightAt(now)
    return this.#sum / present
  }

  /** Null when too little is known. */
  quantile(p: number, now: number): number | null {
    if (this.weight(now) < LEAST_WEIGHT) return null
    let left = this.#sum * p
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#weights[bucket]!
      if (left <= 0) return bucketValue(bucket)
    }
    return bucketValue(BUCKETS - 1)
  }

  #weightAt(now: number): number {
    const weight = 2 ** ((now - this.#epoch) / HALF_LIFE_MS)
    if (weight < LARGEST_WEIGHT) return weight
    for (let bucket = 0; bucket < BUCKETS; bucket++) this.#weights[bucket]! /= weight
    this.#sum /= weight
    this.#epoch = now
    return 1
  }
}
