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
const MAX_UNITS = 2 ** (SUB_BITS + OCTAVES) - 1

/** Number of buckets of every histogram. */
export const BUCKET_COUNT = SUB * (OCTAVES + 1)

/** What a histogram looks like when it travels between processes: only the buckets that hold something. */
export interface HistogramSnapshot {
  readonly count: number
  readonly sum: number
  readonly max: number
  /** Pairs of bucket index and count, flattened, in rising order. */
  readonly buckets: readonly number[]
}

export const EMPTY_HISTOGRAM: HistogramSnapshot = Object.freeze({
  count: 0,
  sum: 0,
  max: 0,
  buckets: Object.freeze([]),
})

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
function bucketIndexOf(units: number): number {
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

/**
 * Keeps its counts in pages of one octave that are made when first needed: most histograms touch three to six octaves,
 * so that one per operation, model or window costs some kilobytes, and recording allocates nothing once a page is
 * there.
 */
export class Histogram {
  readonly #pages: (Float64Array | null)[] = new Array(OCTAVES + 1).fill(null)
  #count = 0
  #sum = 0
  #max = 0

  /**
   * Records one duration in milliseconds. Negative values (a clock that stepped back) count as zero. Tells the
   * bucket.
   */
  record(ms: number): number {
    const value = ms > 0 ? ms : 0
    this.#sum += value
    if (value > this.#max) this.#max = value
    const bucket = bucketIndexOf(Math.min(value * UNITS_PER_MS, MAX_UNITS))
    this.#add(bucket, 1)
    return bucket
  }

  /** Records a whole number of things; exact below 64. Its buckets, sum and maximum are then things, not durations. */
  recordCount(n: number): void {
    this.#sum += n
    if (n > this.#max) this.#max = n
    this.#add(bucketIndexOf(n), 1)
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
    return quantileOf(this.snapshot(), q)
  }

  quantiles(): QuantileSummary {
    const snapshot = this.snapshot()
    return {
      mean: this.mean,
      p50: quantileOf(snapshot, 0.5),
      p90: quantileOf(snapshot, 0.9),
      p99: quantileOf(snapshot, 0.99),
      p99_9: quantileOf(snapshot, 0.999),
      max: this.#max,
    }
  }

  /** Adds everything another histogram (or its snapshot) recorded. */
  merge(other: Histogram | HistogramSnapshot): this {
    const { count, sum, max, buckets } = other instanceof Histogram ? other.snapshot() : other
    if (count === 0) return this
    for (let i = 0; i < buckets.length; i += 2) this.#add(buckets[i]!, buckets[i + 1]!)
    this.#sum += sum
    if (max > this.#max) this.#max = max
    return this
  }

  snapshot(): HistogramSnapshot {
    const buckets: number[] = []
    for (const [octave, page] of this.#pages.entries()) {
      if (page === null) continue
      for (let i = 0; i < SUB; i++) if (page[i]! > 0) buckets.push(octave * SUB + i, page[i]!)
    }
    return { count: this.#count, sum: this.#sum, max: this.#max, buckets }
  }

  #add(bucket: number, n: number): void {
    const octave = bucket >>> SUB_BITS
    const page = this.#pages[octave] ?? this.#openPage(octave)
    page[bucket & (SUB - 1)]! += n
    this.#count += n
  }

  #openPage(octave: number): Float64Array {
    const page = new Float64Array(SUB)
    this.#pages[octave] = page
    return page
  }
}

function quantileOf({ count, max, buckets }: HistogramSnapshot, q: number): number {
  const rank = Math.max(1, Math.ceil(q * count))
  let seen = 0
  for (let i = 0; i < buckets.length; i += 2) {
    seen += buckets[i + 1]!
    if (seen >= rank) return Math.min(bucketUpperEdge(buckets[i]!) / UNITS_PER_MS, max)
  }
  return max
}

/** One that holds what all of them hold. */
export function mergeHistograms(parts: readonly (HistogramSnapshot | null)[]): Histogram {
  const merged = new Histogram()
  for (const part of parts) if (part !== null) merged.merge(part)
  return merged
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
