import { Histogram } from '../../base/histogram.js'
import type { ArrivalSnapshot } from '../worker-snapshots.js'

/** What an `ArrivalProcess` found in one window. */
export class ArrivalFigures {
  readonly gap = new Histogram()
  readonly seen = new Histogram()
  gapSquares = 0
  area = 0
  peak = 0
  busy = 0
  firstAt = -1
  lastAt = -1

  /** @param toMonotonic milliseconds to add to times of this process */
  snapshot(toMonotonic: number): ArrivalSnapshot {
    const { firstAt, lastAt } = this
    return {
      ...this,
      gap: this.gap.snapshot(),
      seen: this.seen.snapshot(),
      firstAt: firstAt < 0 ? null : firstAt + toMonotonic,
      lastAt: lastAt < 0 ? null : lastAt + toMonotonic,
    }
  }
}

/**
 * The arrival process and the number in flight, over time. Integrals are brought up to date on every change, and at
 * the edges of windows, where they move on to the next record. Times rise from call to call.
 */
export class ArrivalProcess {
  record: ArrivalFigures
  inFlight = 0
  /** From here on the time counts as busy. */
  threshold = Number.POSITIVE_INFINITY
  #since: number
  #lastAt = -1

  constructor(now: number, record: ArrivalFigures) {
    this.#since = now
    this.record = record
  }

  recordArrival(at: number): void {
    const record = this.record
    const n = this.inFlight
    this.advanceTo(at)
    record.seen.recordCount(n)
    if (this.#lastAt >= 0) {
      const gap = at - this.#lastAt
      record.gap.record(gap)
      record.gapSquares += gap * gap
    }
    if (record.firstAt < 0) record.firstAt = at
    record.lastAt = at
    this.#lastAt = at
    this.inFlight = n + 1
    if (n >= record.peak) record.peak = n + 1
  }

  recordEnd(at: number): void {
    this.advanceTo(at)
    this.inFlight--
  }

  /** Goes on in another record. The integrals have been brought up to date. */
  continueIn(record: ArrivalFigures): void {
    record.peak = this.inFlight
    this.record = record
  }

  /** The next arrival counts as the first one: the gap before it means nothing. */
  restart(): void {
    this.#lastAt = -1
  }

  /** Brings the integrals up to date. */
  advanceTo(at: number): void {
    const dt = at - this.#since
    // A settlement's time is a sum of two readings and may fall short by a rounding.
    if (dt <= 0) return
    this.#since = at
    this.record.area += this.inFlight * dt
    if (this.inFlight >= this.threshold) this.record.busy += dt
  }
}
