/** Bounds of what a provider may say of a call: figures beyond them would corrupt the money of everybody. */

/** Far more than any context and any answer. */
const MOST_TOKENS = 1_000_000_000
/** More than eleven days of sound. */
const MOST_SECONDS = 1_000_000

/**
 * Reads the figures of one answer, and remembers whether one of them cannot be true: negative, no whole number of
 * tokens, or beyond every bound. Then none of them is believed, and the gateway estimates.
 */
export class UsageReader {
  #plausible = true

  get isPlausible(): boolean {
    return this.#plausible
  }

  /** A count; undefined when none was told, or none that can be true. */
  tokens(value: unknown): number | undefined {
    return this.#isInRange(value, MOST_TOKENS) && this.#check(Number.isInteger(value)) ? value : undefined
  }

  /** Seconds, fractions included; undefined as with `tokens`. */
  seconds(value: unknown): number | undefined {
    return this.#isInRange(value, MOST_SECONDS) ? value : undefined
  }

  /** For what several figures come to. */
  sum(tokens: number): number {
    this.#check(tokens <= MOST_TOKENS)
    return tokens
  }

  /** Anything but a number says nothing; servers write null, and leave members out. */
  #isInRange(value: unknown, most: number): value is number {
    return typeof value === 'number' && this.#check(value >= 0 && value <= most)
  }

  #check(isTrue: boolean): boolean {
    if (!isTrue) this.#plausible = false
    return isTrue
  }
}
