import { BUCKET_COUNT } from '../../base/histogram.js'
import { type OperationSeriesSnapshot, STEPS_KEPT } from '../worker-snapshots.js'

/** The series keep half the resolution of the windows: 32 buckets per octave, 3 %. */
const HALF_BUCKETS = BUCKET_COUNT / 2

/**
 * What one operation did in each step of the last ten minutes. Service times of a step are kept packed: the bucket in
 * the upper 12 bits, the count in the lower 20.
 */
export class OperationSeries {
  readonly arrivals = new Uint32Array(STEPS_KEPT)
  readonly completions = new Uint32Array(STEPS_KEPT)
  readonly errors = new Uint32Array(STEPS_KEPT)
  readonly inFlightMax = new Uint32Array(STEPS_KEPT)
  readonly #histograms: (Uint32Array | null)[] = new Array(STEPS_KEPT).fill(null)
  readonly #counts = new Uint32Array(HALF_BUCKETS)
  #lowest = HALF_BUCKETS
  #highest = -1

  /** @param bucket as `Histogram.record` told it */
  recordService(bucket: number): void {
    const half = bucket >>> 1
    this.#counts[half]!++
    if (half < this.#lowest) this.#lowest = half
    if (half > this.#highest) this.#highest = half
  }

  /** Ends the step in `slot` and opens the next one, in which `inFlight` calls are under way from before. */
  endStep(slot: number, next: number, inFlight: number): void {
    this.#histograms[slot] = this.#pack()
    this.arrivals[next] = 0
    this.completions[next] = 0
    this.errors[next] = 0
    this.inFlightMax[next] = inFlight
    this.#histograms[next] = null
  }

  /** `count` steps from that of `slot` on. The step under way has no histogram yet. */
  snapshot(slot: number, count: number): OperationSeriesSnapshot {
    return {
      arrivals: sliceRing(this.arrivals, slot, count),
      completions: sliceRing(this.completions, slot, count),
      errors: sliceRing(this.errors, slot, count),
      inFlightMax: sliceRing(this.inFlightMax, slot, count),
      histograms: sliceRing(this.#histograms, slot, count).map(unpackHistogram),
    }
  }

  #pack(): Uint32Array | null {
    if (this.#highest < 0) return null
    const packed: number[] = []
    for (let half = this.#lowest; half <= this.#highest; half++) {
      const n = this.#counts[half]!
      if (n > 0) packed.push(half * 2 ** 20 + Math.min(n, 2 ** 20 - 1))
      this.#counts[half] = 0
    }
    this.#lowest = HALF_BUCKETS
    this.#highest = -1
    return Uint32Array.from(packed)
  }
}

function unpackHistogram(packed: Uint32Array | null): number[] {
  if (packed === null) return []
  const pairs: number[] = []
  for (const entry of packed) pairs.push(entry >>> 20, entry & 0xf_ffff)
  return pairs
}

/** Rows of a ring from `slot` on, in order. */
export function sliceRing<T>(ring: ArrayLike<T>, slot: number, count: number): T[] {
  return Array.from({ length: count }, (_, i) => ring[(slot + i) % STEPS_KEPT]!)
}
