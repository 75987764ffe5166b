/**
 * A mergeable log-linear histogram over typed arrays.
 *
 * Values are recorded in milliseconds and kept in units of 1/16 µs. The first 64 units have a bucket each;
 * above that every octave is cut into 64 equal buckets, so a reported quantile is at most 1/64 (1.6 %) away
 * from the recorded value. 36 octaves reach 2^42 units, about three days, which also holds streams.
 * Counts are doubles: exact up to 2^53, and two histograms merge by adding their buckets.
 */
const SUB_BITS = 6
const SUB = 1 << SUB_BITS
const OCTAVES = 36
export const UNITS_PER_MS = 16_000
export const MAX_UNITS = 2 ** (SUB_BITS + OCTAVES) - 1

/** Number of buckets of every histogram. */
export const BUCKET_COUNT = SUB * (OCTAVES + 1)

/** What a histogram looks like when it travels between processes: only the buckets that hold something. */
export interface HistogramSnapshot {
  readonly count: number
  readonly sum: number
  readonly max: number
  /** Pairs of bucket index and count, flattened. */
  readonly buckets: readonly number[]
}

/** The quantiles every report of ours quotes; milliseconds. */
export interface QuantileSummary {
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p99_9: number
  readonly max: number
}

/** The bucket that holds a value of so many units, at most `MAX_UNITS`. */
export function bucketIndexOf(units: number): number {
  if (units < SUB) return units | 0
  // Math.clz32 works on 32 bits: larger values are scaled down first, which only drops bits below the sub-bucket.
  if (units < 0x1_0000_0000) {
    const octave = 31 - Math.clz32(units) - SUB_BITS
    return SUB * (octave + 1) + ((units >>> octave) - SUB)
  }
  const high = Math.floor(units / 0x1_0000)
  const octave = 31 - Math.clz32(high) - SUB_BITS
  return SUB * (octave + 17) + ((high >>> octave) - SUB)
}

/** Upper edge of a bucket, in units. */
export function bucketUpperEdge(bucket: number): number {
  if (bucket < SUB) return bucket + 1
  const octave = Math.floor(bucket / SUB) - 1
  return (SUB + (bucket % SUB) + 1) * 2 ** octave
}

export class Histogram {
  readonly #counts = new Float64Array(BUCKET_COUNT)
  #count = 0
  #sum = 0
  #max = 0

  /** Records one duration in milliseconds. Negative values (a clock that stepped back) count as zero. */
  record(ms: number): void {
    const value = ms > 0 ? ms : 0
    const units = Math.min(value * UNITS_PER_MS, MAX_UNITS)
    this.#counts[bucketIndexOf(units)]!++
    this.#count++
    this.#sum += value
    if (value > this.#max) this.#max = value
  }

  get count(): number {
    return this.#count
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count
  }

  get max(): number {
    return this.#max
  }

  get sum(): number {
    return this.#sum
  }

  /** The value at quantile `q` (0..1) in milliseconds, never above the recorded maximum; 0 when empty. */
  quantile(q: number): number {
    if (this.#count === 0) return 0
    const rank = Math.max(1, Math.ceil(q * this.#count))
    let seen = 0
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      seen += this.#counts[bucket]!
      if (seen >= rank) return Math.min(bucketUpperEdge(bucket) / UNITS_PER_MS, this.#max)
    }
    return this.#max
  }

  quantiles(): QuantileSummary {
    return {
      mean: this.mean,
      p50: this.quantile(0.5),
      p90: this.quantile(0.9),
      p99: this.quantile(0.99),
      p99_9: this.quantile(0.999),
      max: this.#max,
    }
  }

  /** Adds everything another histogram (or its snapshot) recorded. */
  merge(other: Histogram | HistogramSnapshot): this {
    const snapshot = other instanceof Histogram ? other.snapshot() : other
    for (let i = 0; i < snapshot.buckets.length; i += 2) {
      this.#counts[snapshot.buckets[i]!]! += snapshot.buckets[i + 1]!
    }
    this.#count += snapshot.count
    this.#sum += snapshot.sum
    if (snapshot.max > this.#max) this.#max = snapshot.max
    return this
  }

  snapshot(): HistogramSnapshot {
    const buckets: number[] = []
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket++) {
      const n = this.#counts[bucket]!
      if (n > 0) buckets.push(bucket, n)
    }
    return { count: this.#count, sum: this.#sum, max: this.#max, buckets }
  }
}

/**
 * How many values of a snapshot lie in buckets that end at or below each bound. Bounds in milliseconds, rising.
 * One pass over the buckets that hold something.
 */
export function countValuesAtOrBelow(snapshot: HistogramSnapshot, boundsMs: readonly number[]): number[] {
  const counts = new Array<number>(boundsMs.length).fill(0)
  let seen = 0
  let bound = 0
  for (let i = 0; i < snapshot.buckets.length; i += 2) {
    const edge = bucketUpperEdge(snapshot.buckets[i]!) / UNITS_PER_MS
    while (bound < boundsMs.length && boundsMs[bound]! < edge) counts[bound++] = seen
    seen += snapshot.buckets[i + 1]!
  }
  return counts.fill(seen, bound)
}
