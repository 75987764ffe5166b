/** Successes and failures per minute of the last day. */
const MINUTES = 1440
const MINUTE_MS = 60_000

export class UptimeRecord {
  readonly #successes = new Uint32Array(MINUTES)
  readonly #failures = new Uint32Array(MINUTES)
  /** The minute, counted from the epoch of the clock, that was written last. */
  #last = Number.NEGATIVE_INFINITY

  record(now: number, successes: number, failures: number): void {
    const at = this.#advance(now)
    this.#successes[at]! += successes
    this.#failures[at]! += failures
  }

  /** Percentage of calls that succeeded in the last minutes, the one under way included; null without any call. */
  percent(now: number, minutes: number): number | null {
    this.#advance(now)
    let successes = 0
    let failures = 0
    for (let back = 0; back < Math.min(minutes, MINUTES); back++) {
      const at = (((this.#last - back) % MINUTES) + MINUTES) % MINUTES
      successes += this.#successes[at]!
      failures += this.#failures[at]!
    }
    const calls = successes + failures
    return calls === 0 ? null : Math.round((successes / calls) * 10_000) / 100
  }

  /** Clears the minutes that have passed without a word, and says where the present one is. */
  #advance(now: number): number {
    const minute = Math.floor(now / MINUTE_MS)
    const from = Math.max(this.#last + 1, minute - MINUTES + 1)
    for (let each = from; each <= minute; each++) {
      this.#successes[each % MINUTES] = 0
      this.#failures[each % MINUTES] = 0
    }
    if (minute > this.#last) this.#last = minute
    return minute % MINUTES
  }
}
