/** Every latency of a run, kept as it is: percentiles are those of the samples, not of buckets. */
import { Histogram, type HistogramSnapshot } from '../../../src/base/histogram.js'
import { quantileOfSorted } from './statistics.js'

const BLOCK = 16_384
/** Percentiles by name, in the words of the lab's reports. */
const PERCENTILES: readonly (readonly [name: string, share: number])[] = [
  ['p50', 0.5],
  ['p75', 0.75],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
  ['p99.9', 0.999],
  ['p99.99', 0.9999],
]

/** Milliseconds; `count` 0 makes the others 0. */
export interface SampleQuantiles {
  readonly count: number
  readonly mean: number
  readonly max: number
  readonly percentiles: Readonly<Record<string, number>>
}

/** 8 bytes a sample: an hour at 1,000/s is 29 MB. */
export class SampleSet {
  readonly #blocks: Float64Array[] = []
  #last = new Float64Array(0)
  #used = 0
  #sum = 0
  #max = 0

  record(ms: number): void {
    if (this.#used === this.#last.length) {
      this.#last = new Float64Array(BLOCK)
      this.#blocks.push(this.#last)
      this.#used = 0
    }
    this.#last[this.#used++] = ms
    this.#sum += ms
    if (ms > this.#max) this.#max = ms
  }

  get count(): number {
    return this.#blocks.length === 0 ? 0 : (this.#blocks.length - 1) * BLOCK + this.#used
  }

  /** The greatest sample; 0 of nothing. */
  get max(): number {
    return this.#max
  }

  /** The sample at the nearest rank; 0 of nothing. */
  quantile(share: number): number {
    return quantileOfSorted(this.sorted(), share)
  }

  /** All samples in rising order. */
  sorted(): Float64Array {
    const all = new Float64Array(this.count)
    this.#blocks.forEach((block, i) => {
      all.set(block === this.#last ? block.subarray(0, this.#used) : block, i * BLOCK)
    })
    return all.sort()
  }

  quantiles(): SampleQuantiles {
    const sorted = this.sorted()
    const count = sorted.length
    return {
      count,
      mean: count === 0 ? 0 : this.#sum / count,
      max: this.#max,
      percentiles: Object.fromEntries(
        PERCENTILES.map(([name, share]) => [name, quantileOfSorted(sorted, share)]),
      ),
    }
  }

  /** The same samples in the buckets that plots and merges take. */
  histogram(): HistogramSnapshot {
    const histogram = new Histogram()
    for (const block of this.#blocks) {
      const used = block === this.#last ? this.#used : BLOCK
      for (let i = 0; i < used; i++) histogram.record(block[i]!)
    }
    return histogram.snapshot()
  }
}
