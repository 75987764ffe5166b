/** Numbers and texts under the rules of several schemas at once. */
import { WORDS } from '../answer/prose.js'
import type { SeededRandom } from '../random.js'
import { isWithinBounds } from './conformance.js'
import { countCodePoints, ownMember, ownNumber, type SchemaObject } from './json-values.js'
import type { SchemaContext } from './schema-context.js'

/** What values are drawn from, and what pays for them. */
interface DrawSource {
  readonly random: SeededRandom
  readonly context: SchemaContext
}

/** Width of the range from which a number is drawn where a bound is missing. */
const DEFAULT_WIDTH = 100

/** Multiples that are tried in order when the drawn ones do not fit. */
const MULTIPLES_TRIED = 64

/** Longest text that is made; a schema may ask for any length. */
const MAX_TEXT = 20_000

const PATTERN_TRIES = 64

/** The greatest of the numbers that the schemas give for a keyword; null when none gives one. */
export function greatestOf(schemas: readonly SchemaObject[], ...keywords: readonly string[]): number | null {
  return numbersOf(schemas, keywords).reduce<number | null>((a, b) => (a === null || b > a ? b : a), null)
}

/** The smallest of the numbers that the schemas give for a keyword; null when none gives one. */
export function smallestOf(schemas: readonly SchemaObject[], ...keywords: readonly string[]): number | null {
  return numbersOf(schemas, keywords).reduce<number | null>((a, b) => (a === null || b < a ? b : a), null)
}

function numbersOf(schemas: readonly SchemaObject[], keywords: readonly string[]): readonly number[] {
  return schemas
    .flatMap((schema) => keywords.map((name) => ownNumber(schema, name)))
    .filter((n) => n !== null)
}

/** A number that all schemas allow, or null when none is found. */
export function sampleNumber(
  schemas: readonly SchemaObject[],
  integer: boolean,
  from: DrawSource,
): number | null {
  const { random, context } = from
  const [low, high] = rangeOf(schemas)
  const fits = (value: number): boolean =>
    Number.isFinite(value) &&
    (!integer || Number.isInteger(value)) &&
    schemas.every((schema) => isWithinBounds(value, schema))
  context.spend(4)
  // Two steps have to fit at once: multiples of the greater one are tried.
  const step = greatestOf(schemas, 'multipleOf') ?? (integer ? 1 : null)
  if (step === null) {
    const drawn = low + (high - low) * random.nextUnit()
    return firstFitting([Math.round(drawn * 100) / 100, drawn, low / 2 + high / 2, low, high], fits)
  }
  if (step <= 0) return null
  const [first, last] = [Math.ceil(low / step), Math.floor(high / step)]
  const start = first + random.nextBelow(Math.max(1, last - first + 1))
  const found = firstFitting(multiplesOf(step, [start, first, first + 1, last, last - 1, 0]), fits)
  if (found !== null) return found
  context.spend(MULTIPLES_TRIED)
  const factors = Array.from({ length: MULTIPLES_TRIED }, (_, i) => [start + i, first + i])
  return firstFitting(multiplesOf(step, factors.flat()), fits)
}

/** Bounds as they are given, with a range of our own where one is missing. */
function rangeOf(schemas: readonly SchemaObject[]): readonly [low: number, high: number] {
  const low = greatestOf(schemas, 'minimum', 'exclusiveMinimum')
  const high = smallestOf(schemas, 'maximum', 'exclusiveMaximum')
  if (low === null && high === null) return [0, DEFAULT_WIDTH]
  if (low === null) return [high! > 0 ? 0 : high! - DEFAULT_WIDTH, high!]
  return [low, high ?? Math.max(low + DEFAULT_WIDTH, low * 2)]
}

/** Each as it comes out, and without the last digits that floating point adds. */
function multiplesOf(step: number, factors: readonly number[]): readonly number[] {
  return factors.flatMap((factor) => [factor * step, Number((factor * step).toPrecision(12))])
}

/** -0 becomes 0, which is what its text says. */
function firstFitting(values: readonly number[], fits: (value: number) => boolean): number | null {
  const found = values.find(fits)
  return found === undefined ? null : found + 0
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
  const patterns = new Set(textsOf(schemas, 'pattern'))
  if (patterns.size > 1) return null
  for (const source of patterns) return sampleMatch(source, min, fits, from)
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

/** Tries with short, then ever longer repetitions, up to what the least length asks. */
function sampleMatch(
  source: string,
  min: number,
  fits: (text: string) => boolean,
  { random, context }: DrawSource,
): string | null {
  const pattern = context.pattern(source)
  if (pattern === null) return null
  for (let attempt = 0; attempt < PATTERN_TRIES; attempt++) {
    const reach = [4, 0, 1 + min, 2 * min + attempt][attempt % 4]!
    const { text: match, parts } = pattern.generate(random, reach)
    context.spendOnText(128 + parts)
    if (match === null) continue
    const missing = min - countCodePoints(match)
    const text = missing > 0 && pattern.openEnded ? match + sampleWords(missing, missing, random) : match
    if (fits(text)) return text
  }
  return null
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
