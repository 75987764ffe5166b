import { WORDS } from '../answer/vocabulary.js'
import type { SeededRandom } from '../random.js'
import { lengthOf, type Obj, own, ownNumber } from './json-values.js'
import type { SchemaContext } from './schema-context.js'
import { stepsOfText } from './schema-weight.js'

/** Longest text that is made; a schema may ask for any length. */
const LONGEST = 20_000

const PATTERN_TRIES = 48

/** Parts of a pattern that one try may go through. */
const PATTERN_WORK = 40_000

/** Most are put together of many small parts. */
const STEPS_OF_FORMAT = 4

const two = (value: number) => String(value).padStart(2, '0')
const hex = (random: SeededRandom, digits: number) =>
  Array.from({ length: digits }, () => random.nextBelow(16).toString(16)).join('')
/** For each word itself, or the next one that is of plain letters. */
const PLAIN = WORDS.map((_, start) => {
  const order = [...WORDS.slice(start), ...WORDS]
  return order.find((word) => /^[a-z]{2,}$/.test(word))!
})
const plain = (random: SeededRandom) => PLAIN[random.nextBelow(PLAIN.length)]!
const date = (random: SeededRandom) =>
  `20${two(20 + random.nextBelow(10))}-${two(1 + random.nextBelow(12))}-${two(1 + random.nextBelow(28))}`
const time = (random: SeededRandom) =>
  `${two(random.nextBelow(24))}:${two(random.nextBelow(60))}:${two(random.nextBelow(60))}Z`
const email = (random: SeededRandom) => `${plain(random)}@example.com`
const uri = (random: SeededRandom) => `https://example.com/${plain(random)}`
const host = (random: SeededRandom) => `${plain(random)}.example.com`

const FORMATS: Readonly<Record<string, (random: SeededRandom) => string>> = {
  'date-time': (random) => `${date(random)}T${time(random)}`,
  date,
  time,
  duration: (random) => `P${1 + random.nextBelow(28)}D`,
  email,
  'idn-email': email,
  hostname: host,
  'idn-hostname': host,
  ipv4: (random) => `192.0.2.${random.nextBelow(256)}`,
  ipv6: (random) => `2001:db8::${hex(random, 4)}`,
  uri,
  url: uri,
  'uri-reference': uri,
  iri: uri,
  'iri-reference': uri,
  'uri-template': uri,
  uuid: (random) =>
    `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`,
  'json-pointer': (random) => `/${plain(random)}`,
  'relative-json-pointer': () => '0',
  regex: () => '^[a-z]+$',
  byte: (random) => Buffer.from(plain(random)).toString('base64'),
}

/** A text under the string rules of a flat schema, or null when none can be made. */
export function stringOfSchema(schema: Obj, random: SeededRandom, context: SchemaContext): string | null {
  const min = Math.max(0, ownNumber(schema, 'minLength') ?? 0)
  const max = ownNumber(schema, 'maxLength') ?? Number.POSITIVE_INFINITY
  if (min > max || min > LONGEST || !context.spend(stepsOfText(min))) return null
  const fits = (text: string) => {
    const length = lengthOf(text)
    return length >= min && length <= max
  }
  const pattern = own(schema, 'pattern')
  if (typeof pattern === 'string') return ofPattern(pattern, fits, min, random, context)
  const format = own(schema, 'format')
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format) && context.spend(STEPS_OF_FORMAT)) {
    const text = FORMATS[format]!(random)
    if (fits(text)) return text
  }
  return words(min, max, random)
}

/** Tries with ever longer repetitions, up to what the least length asks. */
function ofPattern(
  text: string,
  fits: (text: string) => boolean,
  min: number,
  random: SeededRandom,
  context: SchemaContext,
): string | null {
  const pattern = context.pattern(text)
  if (pattern === null) return null
  for (let attempt = 0; attempt < PATTERN_TRIES; attempt++) {
    const reach = attempt < 8 ? 4 : attempt < 16 ? 0 : attempt < 32 ? 1 + min : 2 * min + attempt
    const work = { left: PATTERN_WORK }
    let made = pattern.make(random, reach, work)
    if (!context.spend(8 + stepsOfText(PATTERN_WORK - work.left + made.length))) return null
    // A pattern without an anchor at its end leaves room behind it.
    if (lengthOf(made) < min && !text.includes('$')) made += words(min - lengthOf(made), min, random)
    if (!fits(made)) continue
    if (!context.spend(stepsOfText(pattern.cost(made)))) return null
    if (pattern.matches(made)) return made
  }
  return null
}

/** Words of at least `min` and at most `max` code points together. */
function words(min: number, max: number, random: SeededRandom): string {
  let text = plain(random)
  const goal = Math.max(min, 1 + random.nextBelow(24))
  // Plain words: a code point is a unit, and a cut cannot split a pair.
  while (text.length < goal) text += ` ${plain(random)}`
  if (text.length <= max) return text
  const cut = text.slice(0, max)
  return cut.endsWith(' ') ? `${cut.slice(0, -1)}s` : cut
}
