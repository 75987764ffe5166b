/** What replicates come to: a part that is the same in all of them, and what each of them adds. */
import { Histogram, mergeHistograms } from '../../base/histogram.js'

/** A figure and where it lies in 95 of 100 replicates. */
export interface Interval {
  readonly value: number
  readonly low: number
  readonly high: number
  /** `exact`: nothing of it was drawn. What was drawn may come to the same in all replicates and is no less estimated. */
  readonly basis: 'exact' | 'estimated'
}

const LOW = 0.025
const HIGH = 0.975

/** The median of replicates, and the middle 95 % of them, rounded outwards to replicates that there are. */
function intervalOf(replicates: ArrayLike<number>, isDrawn: boolean): Interval {
  const sorted = Float64Array.from(replicates).sort()
  const last = sorted.length - 1
  const middle = last / 2
  return {
    value: (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2,
    low: sorted[Math.floor(LOW * last)]!,
    high: sorted[Math.ceil(HIGH * last)]!,
    basis: isDrawn ? 'estimated' : 'exact',
  }
}

export class ReplicatedSum {
  #same = 0
  #isDrawn = false
  readonly #each: Float64Array

  constructor(replicates: number) {
    this.#each = new Float64Array(replicates)
  }

  addToAll(amount: number): void {
    this.#same += amount
  }

  addTo(replicate: number, amount: number): void {
    this.#isDrawn = true
    this.#each[replicate]! += amount
  }

  /** A draw decides whether something is added, even where it never is. */
  markDrawn(): void {
    this.#isDrawn = true
  }

  interval(): Interval {
    return intervalOf(
      this.#each.map((amount) => amount + this.#same),
      this.#isDrawn,
    )
  }
}

const QUANTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const
export type Quantiles<T> = { readonly [name in keyof typeof QUANTILES]: T }

/** Times in milliseconds. */
export class ReplicatedTimes {
  readonly #same = new Histogram()
  #isDrawn = false
  readonly #each: Histogram[]

  constructor(replicates: number) {
    this.#each = Array.from({ length: replicates }, () => new Histogram())
  }

  addToAll(ms: number): void {
    this.#same.record(ms)
  }

  addTo(replicate: number, ms: number): void {
    this.#isDrawn = true
    this.#each[replicate]!.record(ms)
  }

  /** As that of sums. */
  markDrawn(): void {
    this.#isDrawn = true
  }

  /** Null where there is no time at all. */
  intervals(): Quantiles<Interval> | null {
    const whole = this.#each.map((own) => mergeHistograms([this.#same.snapshot(), own.snapshot()]))
    if (whole.every(({ count }) => count === 0)) return null
    const of = (share: number): Interval =>
      intervalOf(
        whole.map((times) => times.quantile(share)),
        this.#isDrawn,
      )
    return { p50: of(QUANTILES.p50), p95: of(QUANTILES.p95), p99: of(QUANTILES.p99) }
  }
}

/** Null where nothing was recorded. */
export function quantilesOf(times: Histogram): Quantiles<number> | null {
  if (times.count === 0) return null
  const of = (share: number): number => times.quantile(share)
  return { p50: of(QUANTILES.p50), p95: of(QUANTILES.p95), p99: of(QUANTILES.p99) }
}
