/** Numbers and texts under the rules of several schemas at once. */

import { isWithinBounds } from '../../gateway/formats/json-schema/conformance.js'
import {
  countCodePoints,
  ownMember,
  ownNumber,
  type SchemaObject,
} from '../../gateway/formats/json-schema/schema-values.js'
import { WORDS } from '../answer/prose.js'
import type { SeededRandom } from '../random.js'
import { type DrawSource, sampleMatch } from './pattern.js'

/** Width of the range from which a number is drawn where a bound is missing. */
const DEFAULT_WIDTH = 100

/** Multiples that are tried at most: of two steps both have to fit. */
const MULTIPLES_TRIED = 64

/** Longest text that is made; a schema may ask for any length. */
const MAX_TEXT = 20_000

/** The greatest of the numbers that the schemas give for these keywords; null when none gives one. */
export function greatestOf(schemas: readonly SchemaObject[], ...keywords: readonly string[]): number | null {
  const numbers = schemas.flatMap((schema) => keywords.map((name) => ownNumber(schema, name)))
  return numbers.reduce((a, b) => (a === null || (b !== null && b > a) ? b : a), null)
}

/** The smallest of them. */
export function smallestOf(schemas: readonly SchemaObject[], ...keywords: readonly string[]): number | null {
  const numbers = schemas.flatMap((schema) => keywords.map((name) => ownNumber(schema, name)))
  return numbers.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)
}

/** A number that all schemas allow, or null when none is found. */
export function sampleNumber(
  schemas: readonly SchemaObject[],
  integer: boolean,
  { random, context }: DrawSource,
): number | null {
  const [low, high] = rangeOf(schemas)
  const step = greatestOf(schemas, 'multipleOf') ?? (integer ? 1 : null)
  context.spend(4)
  const candidates = step === null ? decimals(low, high, random) : multiplesOf(step, low, high, random)
  for (const value of candidates) {
    const isOfType = Number.isFinite(value) && (!integer || Number.isInteger(value))
    // -0 becomes 0, which is what its text says.
    if (isOfType && schemas.every((schema) => isWithinBounds(value, schema))) return value + 0
  }
  context.spend(MULTIPLES_TRIED)
  return null
}

/** Bounds as they are given, with a range of our own where one is missing, or only says what an integer can be. */
function rangeOf(schemas: readonly SchemaObject[]): readonly [low: number, high: number] {
  const low = narrowing(greatestOf(schemas, 'minimum', 'exclusiveMinimum'))
  const high = narrowing(smallestOf(schemas, 'maximum', 'exclusiveMaximum'))
  if (low === null && high === null) return [0, DEFAULT_WIDTH]
  if (low === null) return [high! > 0 ? 0 : high! - DEFAULT_WIDTH, high!]
  return [low, high ?? Math.max(low + DEFAULT_WIDTH, low * 2)]
}

function narrowing(bound: number | null): number | null {
  return bound !== null && Math.abs(bound) === Number.MAX_SAFE_INTEGER ? null : bound
}

/** A short one, and others where that is not within the bounds. */
function decimals(low: number, high: number, random: SeededRandom): readonly number[] {
  const drawn = low + (high - low) * random.nextUnit()
  return [Math.round(drawn * 100) / 100, drawn, low / 2 + high / 2, low, high]
}

/**
 * One at random, those at the bounds, and more where another step has to fit as well; each also without the last digits
 * that floating point adds.
 */
function* multiplesOf(step: number, low: number, high: number, random: SeededRandom): Generator<number> {
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)]
  const start = first + random.nextBelow(Math.max(1, last - first + 1))
  const likely = [start, first, last, last - 1]
  for (let i = 0; i < MULTIPLES_TRIED; i++) {
    const factor = likely[i] ?? first + i - 3
    yield factor * step
    yield Number((factor * step).toPrecision(12))
  }
}

/** A text that all schemas allow, or null when none is found. A format that is not known is ignored. */
export function sampleText(schemas: readonly SchemaObject[], from: DrawSource): string | null {
  const { random, context } = from
  const min = Math.max(0, greatestOf(schemas, 'minLength') ?? 0)
  const max = smallestOf(schemas, 'maxLength') ?? Number.POSITIVE_INFINITY
  if (min > max || min > MAX_TEXT) return null
  context.spendOnText(min)
  const fits = (text: string): boolean => {
    const length = countCodePoints(text)
    return length >= min && length <= max
  }
  const [pattern, ...others] = new Set(textsOf(schemas, 'pattern'))
  if (others.length > 0) return null
  const pad = (length: number): string => sampleWords(length, length, random)
  if (pattern !== undefined) return sampleMatch(pattern, min, fits, pad, from)
  for (const format of textsOf(schemas, 'format')) {
    if (!Object.hasOwn(FORMATS, format)) continue
    context.spend(4)
    const text = FORMATS[format]!(random)
    if (fits(text)) return text
  }
  return sampleWords(min, max, random)
}

function textsOf(schemas: readonly SchemaObject[], keyword: string): readonly string[] {
  return schemas.map((schema) => ownMember(schema, keyword)).filter((value) => typeof value === 'string')
}

const PLAIN_WORDS = WORDS.filter((word) => /^[a-z]{2,}$/.test(word))
const plainWord = (random: SeededRandom) => PLAIN_WORDS[random.nextBelow(PLAIN_WORDS.length)]!
const hexDigits = (random: SeededRandom, count: number) =>
  Array.from({ length: count }, () => random.nextBelow(16).toString(16)).join('')
/** A moment of the years 2020 to 2029, as RFC 3339 writes it. */
const dateTime = (random: SeededRandom) =>
  `${new Date(1_577_836_800_000 + random.nextUnit() * 315_532_800_000).toISOString().slice(0, 19)}Z`
const uri = (random: SeededRandom) => `https://example.com/${plainWord(random)}`

const FORMATS: Readonly<Record<string, (random: SeededRandom) => string>> = {
  'date-time': dateTime,
  date: (random) => dateTime(random).slice(0, 10),
  time: (random) => dateTime(random).slice(11),
  duration: (random) => `P${1 + random.nextBelow(28)}D`,
  email: (random) => `${plainWord(random)}@example.com`,
  hostname: (random) => `${plainWord(random)}.example.com`,
  ipv4: (random) => `192.0.2.${random.nextBelow(256)}`,
  ipv6: (random) => `2001:db8::${hexDigits(random, 4)}`,
  uri,
  url: uri,
  'uri-reference': uri,
  uuid: (random) => {
    const digits = hexDigits(random, 30)
    return digits.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5')
  },
}

/** Words of at least `min` and at most `max` code points together. */
function sampleWords(min: number, max: number, random: SeededRandom): string {
  let text = plainWord(random)
  const goal = Math.max(min, 1 + random.nextBelow(24))
  // Plain words: a code point is a unit, and a cut cannot split a pair.
  while (text.length < goal) text += ` ${plainWord(random)}`
  if (text.length <= max) return text
  const cut = text.slice(0, max)
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}s` : cut
}
