import type { ArrivalTimes } from '../worker-snapshots.js'

/** Arrivals that are kept: 1 MiB. */
const KEPT = 2 ** 17

/**
 * The moments of the last arrivals. Two workers each see every other call of an even generator or so, and nothing
 * about its gaps can be told from theirs; from the moments it can.
 */
export class ArrivalRing {
  readonly #times = new Float64Array(KEPT)
  /** All arrivals since the start. */
  count = 0

  add(at: number): void {
    this.#times[this.count++ % KEPT] = at
  }

  /** Those from `from` on and before `to`; null when some are not kept any more. */
  between(from: number, to: number, toMonotonic: number): ArrivalTimes | null {
    const oldest = Math.max(0, this.count - KEPT)
    if (oldest > 0 && this.#times[oldest % KEPT]! >= from) return null
    const first = this.#firstFrom(from, oldest)
    const last = this.#firstFrom(to, first)
    const gaps = new Float32Array(Math.max(0, last - first - 1))
    for (let i = 0; i < gaps.length; i++) {
      gaps[i] = this.#times[(first + i + 1) % KEPT]! - this.#times[(first + i) % KEPT]!
    }
    return {
      firstMs: first < last ? this.#times[first % KEPT]! + toMonotonic : null,
      gaps: Buffer.from(gaps.buffer).toString('base64'),
    }
  }

  /** Number of the first arrival at or behind a moment. */
  #firstFrom(time: number, least: number): number {
    let low = least
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#times[middle % KEPT]! < time) low = middle + 1
      else high = middle
    }
    return low
  }
}
