/** Lenient readers of what a server sent: a value of the expected shape, or nothing. */
export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that says something; undefined for `''` and for anything else. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An integer from 0 on that is exact; undefined for anything else. */
export function asCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

/** The objects in a list; none when it is no list. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return asList(value).filter((item): item is JsonObject => asObject(item) !== null)
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The member as an object to be spread; an empty one where there is no value. */
export function optionalMember<K extends string, V>(
  name: K,
  value: V | undefined,
): { readonly [N in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [N in K]?: V }
}

// ── Token figures ────────────────────────────────────────────────────────────
// Figures beyond these bounds would corrupt the money of everybody.

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
