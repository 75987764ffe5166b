/** Bounds of what a provider may say of a call: figures beyond them would corrupt the money of everybody. */

/** Far more than any context and any answer. */
const MOST_TOKENS = 1_000_000_000
/** More than eleven days of sound. */
const MOST_SECONDS = 1_000_000

/**
 * Reads the figures of one answer, and remembers whether one of them cannot be true: negative, no whole number of
 * tokens, or beyond every bound. Then none of them is believed, and the gateway estimates.
 */
export class FigureReader {
  #believable = true

  get believable(): boolean {
    return this.#believable
  }

  /** A count; undefined when none was told, or none that can be true. */
  tokens(value: unknown): number | undefined {
    return this.#within(value, MOST_TOKENS) && this.#keep(Number.isInteger(value)) ? value : undefined
  }

  /** Seconds, fractions included; undefined as with `tokens`. */
  seconds(value: unknown): number | undefined {
    return this.#within(value, MOST_SECONDS) ? value : undefined
  }

  /** For what several figures come to. */
  sum(tokens: number): number {
    this.#keep(tokens <= MOST_TOKENS)
    return tokens
  }

  /** Anything but a number says nothing; servers write null, and leave members out. */
  #within(value: unknown, most: number): value is number {
    return typeof value === 'number' && this.#keep(value >= 0 && value <= most)
  }

  #keep(isTrue: boolean): boolean {
    if (!isTrue) this.#believable = false
    return isTrue
  }
}
