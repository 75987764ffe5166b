import {
  BUCKET_COUNT,
  bucketIndexOf,
  type HistogramSnapshot,
  MAX_UNITS,
  UNITS_PER_MS,
} from '../../base/histogram.js'

/** Buckets of one octave; `src/base/histogram.ts` lays them out one octave after the other. */
const PAGE = 64
const PAGE_BITS = 6

/**
 * A histogram for the hot path: buckets and units of `src/base/histogram.ts`, but counts in pages of one octave that
 * are made when first needed. Most operations touch three to six octaves, so that one of them per operation, window
 * and measure costs some kilobytes and a new window costs nothing. Travels as a `HistogramSnapshot`.
 */
export class PagedHistogram {
  readonly #pages: (Uint32Array | null)[] = new Array(BUCKET_COUNT / PAGE).fill(null)
  #count = 0
  #sum = 0
  #max = 0

  get count(): number {
    return this.#count
  }

  /** A duration in milliseconds. Negative ones count as zero. Tells the bucket. */
  record(ms: number): number {
    const value = ms > 0 ? ms : 0
    this.#sum += value
    if (value > this.#max) this.#max = value
    const bucket = bucketIndexOf(Math.min(value * UNITS_PER_MS, MAX_UNITS))
    this.#add(bucket, 1)
    return bucket
  }

  /** A whole number of things, exact below 64; `countQuantiles` reads it back. */
  recordCount(n: number): void {
    this.#sum += n
    if (n > this.#max) this.#max = n
    this.#add(bucketIndexOf(n), 1)
  }

  merge(other: HistogramSnapshot): void {
    for (let i = 0; i < other.buckets.length; i += 2) this.#add(other.buckets[i]!, other.buckets[i + 1]!)
    this.#sum += other.sum
    if (other.max > this.#max) this.#max = other.max
  }

  snapshot(): HistogramSnapshot {
    const buckets: number[] = []
    for (const [octave, page] of this.#pages.entries()) {
      if (page === null) continue
      for (let i = 0; i < PAGE; i++) if (page[i]! > 0) buckets.push(octave * PAGE + i, page[i]!)
    }
    return { count: this.#count, sum: this.#sum, max: this.#max, buckets }
  }

  #add(bucket: number, n: number): void {
    const octave = bucket >>> PAGE_BITS
    const page = this.#pages[octave] ?? this.#open(octave)
    page[bucket & (PAGE - 1)]! += n
    this.#count += n
  }

  #open(octave: number): Uint32Array {
    const page = new Uint32Array(PAGE)
    this.#pages[octave] = page
    return page
  }
}

export const EMPTY_HISTOGRAM: HistogramSnapshot = Object.freeze({
  count: 0,
  sum: 0,
  max: 0,
  buckets: Object.freeze([]),
})
