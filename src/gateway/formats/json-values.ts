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

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const LEFT_BRACKET = 0x5b
const RIGHT_BRACKET = 0x5d
const LEFT_BRACE = 0x7b
const RIGHT_BRACE = 0x7d
const DEEPEST = 100

/**
 * Values in a JSON text of a caller or a provider, counted before it is parsed; `Infinity` where they are
 * nested deeper than 100 levels. Counts no further than `most`; of a text that is no JSON nothing is promised.
 */
export function countJsonValues(text: string, most: number): number {
  let values = 1
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length && values <= most; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isQuoted = !isQuoted
    else if (isQuoted) at += code === BACKSLASH ? 1 : 0
    else if (code === COMMA) values++
    else if (code === LEFT_BRACKET || code === LEFT_BRACE) {
      values++
      if (++depth > DEEPEST) return Number.POSITIVE_INFINITY
    } else if (code === RIGHT_BRACKET || code === RIGHT_BRACE) depth--
  }
  return values
}

/** A value from outside as JSON; null where it is nested deeper than 100 levels. */
export function jsonText(value: unknown): string | null {
  try {
    const text = JSON.stringify(value)
    return countJsonValues(text, text.length) === Number.POSITIVE_INFINITY ? null : text
  } catch {
    // Beyond some thousands of levels writing it exhausts the stack.
    return null
  }
}

/** A shorter answer cannot hold so much. */
const LONG_CHARS = 1024 * 1024
/** Of an answer: some twenty thousand tokens with all of their alternatives. Parsing takes a second. */
const MOST_VALUES = 3_000_000

/** The same of the answer of a provider; undefined also where it holds so much that parsing would stop the process. */
export function parseJsonAnswer(text: string): unknown {
  const isDense = text.length > LONG_CHARS && countJsonValues(text, MOST_VALUES) > MOST_VALUES
  return isDense ? undefined : parseJson(text)
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
/** Searches and the like of one answer. */
const MOST_USES = 100_000
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

  /** How often a tool was used; undefined as with `tokens`. */
  uses(value: unknown): number | undefined {
    return this.#isInRange(value, MOST_USES) && this.#check(Number.isInteger(value)) ? value : undefined
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
