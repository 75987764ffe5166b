import fc from 'fast-check'
import { test } from 'tap'
import { sampleJson } from '../../src/simulator/json-sampler/json-sampler.js'
import { SchemaContext, STEP_BUDGET } from '../../src/simulator/json-sampler/schema-context.js'
import { SeededRandom } from '../../src/simulator/random.js'

/**
 * What one schema made the simulated model do. The steps are what it counts itself; draws and reads are counted from
 * outside, so that work nobody pays for shows.
 */
interface Work {
  steps: number
  /** Random words drawn: each piece of what is made takes one or more. */
  draws: number
  /** Members of the schema that were looked at or listed. */
  reads: number
  /** Length of the value as JSON; 0 when there is none. */
  characters: number
  impossible: string | null
}

/** Bounds that hold whatever the schema; what nobody pays for goes beyond them soon. */
const MOST: Readonly<Record<'steps' | 'draws' | 'reads' | 'characters', number>> = {
  steps: STEP_BUDGET,
  draws: 20 * STEP_BUDGET,
  reads: 50 * STEP_BUDGET,
  characters: 16 * STEP_BUDGET,
}

class CountingRandom extends SeededRandom {
  draws = 0

  constructor() {
    super({ low: 3, high: 5 }, 0)
  }

  override nextBits(): number {
    this.draws++
    return super.nextBits()
  }
}

/** The same schema, which counts what is read of it. The same part is always the same object. */
function watched(schema: unknown, count: (reads: number) => void): unknown {
  const known = new WeakMap<object, object>()
  const watch = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const proxy = known.get(value) ?? new Proxy(value, handler)
    known.set(value, proxy)
    return proxy
  }
  const handler: ProxyHandler<object> = {
    get(target, name) {
      count(1)
      return watch(Reflect.get(target, name))
    },
    ownKeys(target) {
      const names = Reflect.ownKeys(target)
      count(names.length)
      return names
    },
    getOwnPropertyDescriptor(target, name) {
      count(1)
      return Reflect.getOwnPropertyDescriptor(target, name)
    },
  }
  return watch(schema)
}

function workOf(schema: object | boolean): Work {
  const random = new CountingRandom()
  let reads = 0
  const asked = watched(schema, (more) => {
    reads += more
  })
  const context = new SchemaContext(asked as Readonly<Record<string, unknown>>)
  const made = sampleJson(asked, random, context)
  const impossible = 'impossible' in made ? made.impossible : null
  const characters = 'value' in made ? JSON.stringify(made.value).length : 0
  return { steps: STEP_BUDGET - context.left, draws: random.draws, reads, characters, impossible }
}

/** The measures that are over their bound; none for a schema that was dealt with in bounded work. */
function excess(work: Work): string[] {
  return (['steps', 'draws', 'reads', 'characters'] as const).flatMap((name) =>
    work[name] > MOST[name] ? [`${name}: ${work[name]}`] : [],
  )
}

const list = (items: unknown, minItems: number, more: object = {}) => ({
  type: 'array',
  items,
  minItems,
  ...more,
})
const times = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const members = (count: number, make: (i: number) => unknown): object =>
  Object.fromEntries(times(count, (i) => [`p${i}`, make(i)]))
const TEXT = { type: 'string' }
const LONG_NAME = 'n'.repeat(100_000)
const MANY_LETTERS = times(900, (i) => String.fromCodePoint(0x4e00 + 2 * i)).join('')

/** Each asks for more than there is, and is refused at the place that does. */
const REFUSED: Readonly<Record<string, readonly [schema: object, place: RegExp]>> = {
  'a billion of anything': [{ type: 'array', minItems: 1e9 }, /#: minItems/],
  'a billion of true': [list(true, 1e9), /#: minItems/],
  'a billion texts': [list(TEXT, 1e9), /#: minItems/],
  'a billion members': [{ type: 'object', minProperties: 1e9 }, /#: minProperties/],
  '20,000 members': [{ type: 'object', minProperties: 20_000 }, /#: minProperties/],
  '15,000 members': [{ type: 'object', minProperties: 15_000 }, /#/],
  '10,000 members of three letters': [
    { type: 'object', minProperties: 10_000, propertyNames: { maxLength: 3 } },
    /#/,
  ],
  '30,000 required members': [{ type: 'object', required: times(30_000, (i) => `r${i}`) }, /#/],
  '20,000 different texts': [list(TEXT, 20_000, { uniqueItems: true }), /#: minItems/],
  '15,000 different texts': [list(TEXT, 15_000, { uniqueItems: true }), /#\/items/],
  '100 of 100 long entries of an enum': [
    list({ enum: times(100, (i) => 'x'.repeat(9000) + i) }, 100, { uniqueItems: true }),
    /#\/items/,
  ],
  'lists of lists': [list(list(TEXT, 200), 20_000), /#: minItems/],
  'lists of lists of anything': [list(list(true, 200), 15_000), /#\/items/],
  'a text of a billion characters': [{ type: 'string', minLength: 1e9 }, /#: no string/],
  '15,000 long texts': [list({ type: 'string', minLength: 20_000 }, 15_000), /#\/items/],
  '15,000 times a long constant': [list({ const: 'x'.repeat(900_000) }, 15_000), /#\/items/],
  '15,000 times one of many': [list({ enum: times(100_000, String), type: ['string', 'null'] }, 15_000), /#/],
  '15,000 members of a long name': [
    list({ type: 'object', properties: { [LONG_NAME]: true }, required: [LONG_NAME] }, 15_000),
    /#\/items/,
  ],
  'a long name at every depth': [
    { type: 'object', properties: { [LONG_NAME]: { $ref: '#' } }, required: [LONG_NAME] },
    /#/,
  ],
  'steps that no number fits': [
    list({ type: 'number', multipleOf: 1e-300, minimum: 0.1, maximum: 0.2 }, 15_000),
    /#\/items/,
  ],
  'many parts, all true': [list({ allOf: times(100_000, () => true) }, 5000), /#/],
  'many parts, each merged into many members': [
    { allOf: [{ properties: members(5000, () => true) }, ...times(1000, () => ({}))] },
    /complex/,
  ],
  'many branches, none of them possible': [{ anyOf: times(100_000, () => false) }, /#/],
  'many branches, each possible': [{ oneOf: times(5000, () => ({ type: 'integer' })) }, /#/],
  'two long lists of types': [
    { allOf: [{ type: times(5000, (i) => `a${i}`) }, { type: times(5000, (i) => `b${i}`) }] },
    /#/,
  ],
  'two long enums': [
    { allOf: [{ enum: times(5000, (i) => `a${i}`) }, { enum: times(5000, (i) => `b${i}`) }] },
    /#/,
  ],
  'repetitions of nothing': [{ type: 'string', pattern: '^((((|)*)*)*)*$', minLength: 10_000 }, /#/],
  'a large set, often': [
    list({ type: 'string', pattern: `^[${MANY_LETTERS}]*$`, minLength: 4000 }, 100),
    /#\/items/,
  ],
  'a long reference, often': [list({ $ref: `#/${'a/'.repeat(200_000)}` }, 1000), /#\/items/],
  'a reference that is no text': [{ $ref: { toString: 1, valueOf: 1 } }, /\$ref/],
  'references that multiply': [{ $defs: { a: list({ $ref: '#/$defs/a' }, 3) }, $ref: '#/$defs/a' }, /#/],
}

for (const [name, [schema, place]] of Object.entries(REFUSED)) {
  test(`${name}: refused at its place, in bounded work`, async (t) => {
    const work = workOf(schema)
    t.match(work.impossible, place)
    t.ok(work.impossible!.length < 600)
    t.strictSame(excess(work), [])
  })
}

/** Large and possible: the bounds are no excuse for refusing these. */
const MADE: Readonly<Record<string, object>> = {
  '3,000 booleans': list({ type: 'boolean' }, 3000),
  '1,000 different numbers': list({ type: 'integer', maximum: 1e9 }, 1000, { uniqueItems: true }),
  '300 objects': list({ type: 'object', properties: { a: TEXT, b: TEXT }, required: ['a', 'b'] }, 300),
  '1,000 members': { type: 'object', minProperties: 1000, additionalProperties: { type: 'integer' } },
  '1,000 declared members': {
    type: 'object',
    properties: members(1000, () => TEXT),
    required: times(1000, (i) => `p${i}`),
  },
  '250 entries of an enum, 30 times': list({ enum: times(250, (i) => `country ${i}`) }, 30),
  'a long text': { type: 'string', minLength: 20_000 },
  'a long text beyond an open pattern': { type: 'string', pattern: '^(a{999}){4}', minLength: 20_000 },
  'names that are no names': { type: 'object', required: [{ toString: 1, valueOf: 1 }] },
}

for (const [name, schema] of Object.entries(MADE)) {
  test(`${name}: made, in bounded work`, async (t) => {
    const work = workOf(schema)
    t.equal(work.impossible, null)
    t.strictSame(excess(work), [])
  })
}

const amount = fc.constantFrom(0, 1, 3, 50, 200, 5000, 20_000, 1e9)
const size = fc.constantFrom(1, 5, 100, 3000)

/** Schemas that ask for much of everything at once. */
const { hostile } = fc.letrec<{ hostile: object | boolean }>((tie) => {
  const inner = tie('hostile')
  const text = fc.record(
    {
      type: fc.constant('string'),
      minLength: amount,
      maxLength: amount,
      format: fc.constantFrom('uuid', 'email'),
      pattern: fc.constantFrom(
        '^((((a?)*)*)*)*$',
        '^[a-z]{200}$',
        `[${MANY_LETTERS}]*`,
        '(\\p{Lu}|x){9}$',
        '(',
      ),
    },
    { requiredKeys: ['type'] },
  )
  const number = fc.record(
    {
      type: fc.constantFrom('number', 'integer'),
      multipleOf: fc.constantFrom(0.3, 1e-300, 7, 1e300),
      minimum: fc.constantFrom(0.1, -1e300, 12),
      maximum: fc.constantFrom(0.2, 1e300, 11),
    },
    { requiredKeys: ['type'] },
  )
  const array = fc.record(
    {
      type: fc.constant('array'),
      items: inner,
      prefixItems: fc.tuple(size, inner).map(([count, rule]) => times(count, () => rule)),
      minItems: amount,
      uniqueItems: fc.boolean(),
    },
    { requiredKeys: ['type'] },
  )
  const object = fc.record(
    {
      type: fc.constant('object'),
      properties: fc.tuple(size, inner).map(([count, rule]) => members(count, () => rule)),
      required: size.map((count) => times(count, (i) => `p${2 * i}`)),
      minProperties: amount,
      maxProperties: amount,
      additionalProperties: inner,
      propertyNames: fc.constantFrom({ minLength: 5000 }, { maxLength: 2 }, { pattern: '^[ab]*$' }),
    },
    { requiredKeys: ['type'] },
  )
  const several = fc
    .tuple(size, inner, inner)
    .map(([count, one, other]) => [one, ...times(count, () => other)])
  const choice = fc.record({ allOf: several, anyOf: several, oneOf: several }, { requiredKeys: [] })
  const fixed = fc.oneof(
    size.map((count) => ({ enum: times(count, (i) => 'x'.repeat(count) + i) })),
    size.map((count) => ({ const: members(count, (i) => i) })),
    fc.constant({ $ref: '#' }),
    fc.boolean(),
  )
  const all = fc.oneof({ maxDepth: 4, depthSize: 'large' }, fixed, text, number, array, object, choice)
  return { hostile: all as fc.Arbitrary<object | boolean> }
})

test('whatever a schema asks for, the work is bounded', async (t) => {
  fc.assert(
    fc.property(hostile, (schema) => {
      const over = excess(workOf(schema))
      if (over.length > 0) throw new Error(over.join(', '))
    }),
    { numRuns: 150 },
  )
  t.pass()
})
