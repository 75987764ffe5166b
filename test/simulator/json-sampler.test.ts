/** The JSON-schema sampler: what it makes is valid, what it refuses is refused by name, and its work is bounded. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { test } from 'tap'
import { STEP_BUDGET } from '../../src/gateway/formats/json-schema/schema-walk.js'
import { sampleJson } from '../../src/simulator/json-sampler/json-sampler.js'
import { SchemaContext } from '../../src/simulator/json-sampler/schema-context.js'
import { SeededRandom } from '../../src/simulator/random.js'

/** The judge. `strict: false`, because schemas of callers carry words of their own. */
const ajv = new Ajv2020({ strict: false, allErrors: false, logger: false, validateFormats: false })

function make(schema: unknown, seed = 1): ReturnType<typeof sampleJson> {
  return sampleJson(schema, new SeededRandom({ low: seed, high: 5 }, 0))
}

/** Null when the value made for the schema is valid, otherwise what is wrong. */
function faultOf(schema: object | boolean, seed: number): string | null {
  const made = make(schema, seed)
  if ('impossible' in made) return made.impossible
  const wire = JSON.parse(JSON.stringify(made.value))
  const validate = ajv.compile(schema)
  return validate(wire) ? null : `${JSON.stringify(wire)}: ${ajv.errorsText(validate.errors)}`
}

// ── Schemas by their kinds ──────────────────────────────────────────────────

const text = (more: object = {}) => ({ type: 'string', ...more })
const match = (pattern: string, more: object = {}) => text({ pattern, ...more })
const integer = (more: object = {}) => ({ type: 'integer', ...more })
const list = (items: unknown, minItems: number, more: object = {}) => ({
  type: 'array',
  items,
  minItems,
  ...more,
})
/** All members are required unless `more` says otherwise. */
const object = (properties: object = {}, more: object = {}) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
})
const times = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const members = (count: number, make: (i: number) => unknown): object =>
  Object.fromEntries(times(count, (i) => [`p${i}`, make(i)]))
const LONG_NAME = 'n'.repeat(100_000)
const MANY_LETTERS = times(900, (i) => String.fromCodePoint(0x4e00 + 2 * i)).join('')

// ── What is made is valid ───────────────────────────────────────────────────

const CLOSED = { additionalProperties: false }
const UNIQUE = { uniqueItems: true }
const person = object({ name: text(), age: integer({ minimum: 0, maximum: 130 }) }, CLOSED)
const child = { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] }
const operand = { $ref: '#/definitions/expression' }

/** Schemas as callers send them, and the corners of the dialect. Each must get a valid value. */
const SATISFIABLE: Readonly<Record<string, object | boolean>> = {
  anything: true,
  'the empty schema': {},
  'a weather tool': object(
    { location: text({ description: 'City and country' }), unit: text({ enum: ['celsius', 'fahrenheit'] }) },
    { required: ['location'] },
  ),
  'a strict extraction': {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...object({ people: list(person, 2), note: { type: ['string', 'null'] } }, CLOSED),
  },
  'a recursive tree': {
    $defs: { node: object({ value: { type: 'number' }, left: child, right: child }, CLOSED) },
    $ref: '#/$defs/node',
  },
  'recursion through the root': object({ text: text(), children: list({ $ref: '#' }, 0) }),
  'an expression of several kinds': {
    definitions: {
      expression: {
        oneOf: [
          object({ op: { const: 'number' }, value: { type: 'number' } }),
          object({ op: { enum: ['add', 'times'] }, left: operand, right: operand }),
        ],
      },
    },
    ...operand,
  },
  'a pointer with escapes': { $defs: { 'a/b~c d': { const: 3 } }, $ref: '#/$defs/a~1b~0c%20d' },
  'allOf of objects': { allOf: [person, { type: 'object', properties: { name: { minLength: 30 } } }] },
  'allOf with a closed side': {
    allOf: [
      { properties: { a: text() }, additionalProperties: integer() },
      { properties: { b: {} }, required: ['a', 'b'] },
    ],
    type: 'object',
  },
  'integer and number': { allOf: [integer(), { type: 'number', exclusiveMinimum: 3, maximum: 4.5 }] },
  'two steps': { allOf: [{ multipleOf: 4 }, { multipleOf: 6 }], type: 'integer', minimum: 1 },
  'two steps that meet once': {
    allOf: [{ multipleOf: 4 }, { multipleOf: 15 }],
    ...integer({ minimum: 1, maximum: 100 }),
  },
  'a step of a tenth': { type: 'number', multipleOf: 0.1, minimum: 5.05, maximum: 9 },
  'a narrow range': { type: 'number', exclusiveMinimum: 0.1, exclusiveMaximum: 0.1000001 },
  'a lower bound far out': integer({ minimum: 9_007_199_254_740_000 }),
  'an upper bound below zero': integer({ maximum: -5 }),
  'oneOf that overlaps': { oneOf: [{ type: 'number' }, integer()] },
  'a tuple': { type: 'array', prefixItems: [text(), integer()], items: false, minItems: 2 },
  'a set': list({ type: 'boolean' }, 1, UNIQUE),
  'a map': { type: 'object', additionalProperties: { type: 'number' }, minProperties: 3 },
  'names under a rule': {
    type: 'object',
    properties: { a: {}, bcd: {} },
    propertyNames: { minLength: 3 },
    minProperties: 3,
  },
  'few members allowed': object({ a: {}, b: {}, c: {} }, { required: ['c'], maxProperties: 1 }),
  'nullable of OpenAPI': object({ at: text({ nullable: true }) }),
  'names of prototypes': {
    ...object(JSON.parse('{"__proto__":{"type":"integer"},"constructor":{"type":"string"}}')),
    required: ['__proto__', 'constructor', 'toString'],
  },
  'const of any shape': { const: { a: [1, { b: null }] } },
  'a long text': text({ minLength: 500, maxLength: 510 }),
  'one character': text({ minLength: 1, maxLength: 1 }),
  'no characters': text({ maxLength: 0 }),
  null: { type: 'null' },
  'type by keywords alone': {
    properties: { a: { minimum: 4 }, b: { items: { maxLength: 3 } } },
    required: ['a', 'b'],
  },
  'a phone number': match('^\\+?[1-9]\\d{6,14}$'),
  'a pattern and a length': match('^[a-z]+$', { minLength: 40, maxLength: 42 }),
  'a slug': match('^[a-z0-9]+(?:-[a-z0-9]+)*$', { maxLength: 12 }),
  'a version': match('^v?(0|[1-9]\\d*)\\.(\\d+)\\.(\\d+)(-[\\w.]+)?$'),
  'a pattern that would stall a backtracking matcher': match('^(([a-z])+.)+[A-Z]([a-z])+$'),
  'an open pattern': match('foo|bar', { minLength: 20 }),
  'letters of any script': match('^\\p{Lu}\\p{Ll}{3}$'),
  'a pattern with a negated class': match('^[^\\s@]+@[^\\s@]+\\.[^\\s@]{2,}$'),
  ...Object.fromEntries(
    [
      '^a+$',
      'a|b',
      '^(ab)*c?$',
      '[^x-z]{2,3}',
      '\\d\\w\\s',
      '^$',
      '^$|^a+$|b',
      'x*',
      '(a|b|)+c',
      '\\u0041|\\x42',
      '[\\d\\-_]',
      '^[À-ÖØ]{3}$',
      '^[\\u4e00-\\u9fa5]+$',
      '^[\\u0410-\\u042f]\\u{44f}\\xdf$',
      '^(?<year>\\d{4})-(?:0[1-9]|1[0-2])$',
      '^(\\p{Lu}\\p{Ll}{1,4} ?){2,}?$',
    ].map((pattern) => [`the pattern ${pattern}`, match(pattern)]),
  ),
}

for (const [name, schema] of Object.entries(SATISFIABLE)) {
  test(`${name}: every value made is valid, and equal seeds make equal values`, async (t) => {
    for (let seed = 0; seed < 25; seed++) t.equal(faultOf(schema, seed), null)
    t.strictSame(make(schema, 3), make(structuredClone(schema), 3))
  })
}

const FORMATS: Readonly<Record<string, RegExp>> = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d:\d\dZ$/,
  email: /^[a-z]+@[a-z.]+$/,
  uri: /^https:\/\/[a-z./]+$/,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
  ipv4: /^\d+\.\d+\.\d+\.\d+$/,
  ipv6: /^2001:db8::[0-9a-f]{4}$/,
  hostname: /^[a-z.]+$/,
}

for (const [format, form] of Object.entries(FORMATS)) {
  test(`a text of format ${format} has that form`, async (t) => {
    const made = make({ type: 'string', format })
    t.match('value' in made ? made.value : null, form)
    if (format.startsWith('date')) t.notOk(Number.isNaN(Date.parse(String('value' in made && made.value))))
  })
}

// ── What is refused, and how much work it is ────────────────────────────────

/**
 * What one schema made the simulated model do. The steps are what it counts itself; draws and reads are counted from
 * outside, so that work nobody pays for shows.
 */
interface SamplerWork {
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

function workOf(schema: unknown): SamplerWork {
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
function excess(work: SamplerWork): string[] {
  return (['steps', 'draws', 'reads', 'characters'] as const).flatMap((name) =>
    work[name] > MOST[name] ? [`${name}: ${work[name]}`] : [],
  )
}

/** What has no value, is beyond the subset, or asks for more than there is: refused at the place that does. */
const REFUSED: Readonly<Record<string, readonly [schema: unknown, place: RegExp]>> = {
  'no schema at all': ['text', /neither/],
  false: [false, /#/],
  'a contradiction': [object({ a: { allOf: [text(), { type: 'number' }] } }), /properties\/a/],
  'an empty range': [object({ n: integer({ minimum: 2, maximum: 1 }) }), /properties\/n/],
  'no integer in between': [integer({ exclusiveMinimum: 1, exclusiveMaximum: 2 }), /#/],
  'an empty enum': [{ enum: [] }, /#/],
  'a remote reference': [{ $ref: 'https://example.com/schema.json' }, /\$ref/],
  'a reference into nothing': [{ $ref: '#/$defs/none' }, /\$ref/],
  'a reference to itself': [{ $ref: '#' }, /./],
  'a reference that is no text': [{ $ref: { toString: 1, valueOf: 1 } }, /\$ref/],
  'a long reference, often': [list({ $ref: `#/${'a/'.repeat(200_000)}` }, 1000), /#\/items/],
  'references that multiply': [
    {
      $defs: members(40, (i) => ({ allOf: [{ $ref: `#/$defs/p${i + 1}` }, { $ref: `#/$defs/p${i + 1}` }] })),
      $ref: '#/$defs/p0',
    },
    /./,
  ],
  'references that multiply in a list': [
    { $defs: { a: list({ $ref: '#/$defs/a' }, 3) }, $ref: '#/$defs/a' },
    /#/,
  ],
  'endless requirement': [object({ a: { $ref: '#' } }), /./],
  ...Object.fromEntries(
    [
      'not',
      'if',
      'contains',
      'patternProperties',
      'dependentRequired',
      'dependentSchemas',
      'unevaluatedProperties',
      'unevaluatedItems',
    ].map((keyword) => [
      `the keyword ${keyword}`,
      [{ type: 'object', [keyword]: {} }, new RegExp(`#: ${keyword} is not supported`)],
    ]),
  ),
  'an anchor inside': [match('a(^b|c)'), /#/],
  'an anchor amid an alternative': [match('a|b$c'), /#/],
  'a word boundary': [match('\\bword\\b'), /#/],
  'no regular expression': [match('('), /#/],
  'look-ahead': [match('^(?=.*[A-Z]).{8,}$'), /#/],
  'a back reference': [match('(a)\\1'), /#/],
  'a pattern that multiplies': [match('((a{1000}){1000}){1000}'), /#/],
  'nothing repeated for ever': [match('(((){9999}){9999}){9999}'), /#/],
  'repetitions of nothing': [match('^((((|)*)*)*)*$', { minLength: 10_000 }), /#/],
  'a large set, often': [list(match(`^[${MANY_LETTERS}]*$`, { minLength: 4000 }), 100), /#\/items/],
  'a pattern beside an enum': [{ enum: ['a'], pattern: '^a$' }, /#: no entry of enum/],
  'branches of oneOf that only a pattern could tell apart': [
    { oneOf: [match('^a'), match('^b')] },
    /#: oneOf/,
  ],
  'a required name that only a pattern could allow': [
    object({ b: {} }, { propertyNames: { pattern: '^a' } }),
    /#\/propertyNames/,
  ],
  'more members than names': [{ type: 'object', propertyNames: { enum: ['a'] }, minProperties: 2 }, /./],
  'a set of several': [list({ enum: [1, 2] }, 2, UNIQUE), /#: uniqueItems with minItems above 1/],
  'a text of a million characters': [text({ minLength: 1_000_000 }), /#/],
  'a text of a billion characters': [text({ minLength: 1e9 }), /#: no string/],
  'a billion entries': [list(integer(), 1e9), /#: minItems/],
  'a billion of anything': [{ type: 'array', minItems: 1e9 }, /#: minItems/],
  'a billion of true': [list(true, 1e9), /#: minItems/],
  'a billion texts': [list(text(), 1e9), /#: minItems/],
  'a billion members': [{ type: 'object', minProperties: 1e9 }, /#: minProperties/],
  '20,000 members': [{ type: 'object', minProperties: 20_000 }, /#: minProperties/],
  '15,000 members': [{ type: 'object', minProperties: 15_000 }, /#/],
  '10,000 members of three letters': [
    { type: 'object', minProperties: 10_000, propertyNames: { maxLength: 3 } },
    /#/,
  ],
  '30,000 required members': [{ type: 'object', required: times(30_000, (i) => `r${i}`) }, /#/],
  'lists of lists': [list(list(text(), 200), 20_000), /#: minItems/],
  'lists of lists of anything': [list(list(true, 200), 15_000), /#\/items/],
  '15,000 long texts': [list(text({ minLength: 20_000 }), 15_000), /#\/items/],
  '15,000 times a long constant': [list({ const: 'x'.repeat(900_000) }, 15_000), /#\/items/],
  '15,000 times one of many': [list({ enum: times(100_000, String), type: ['string', 'null'] }, 15_000), /#/],
  '15,000 members of a long name': [list(object({ [LONG_NAME]: true }), 15_000), /#\/items/],
  'a long name at every depth': [object({ [LONG_NAME]: { $ref: '#' } }), /#/],
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
  'many branches, each possible': [{ oneOf: times(5000, () => integer()) }, /#/],
  ...Object.fromEntries(
    ['type', 'enum'].map((keyword) => [
      `two long lists of ${keyword}`,
      [{ allOf: ['a', 'b'].map((name) => ({ [keyword]: times(5000, (i) => `${name}${i}`) })) }, /#/],
    ]),
  ),
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
  '300 objects': list(object({ a: text(), b: text() }), 300),
  '1,000 members': { type: 'object', minProperties: 1000, additionalProperties: integer() },
  '1,000 declared members': object(members(1000, () => text())),
  '250 entries of an enum, 30 times': list({ enum: times(250, (i) => `country ${i}`) }, 30),
  'a long text': text({ minLength: 20_000 }),
  'a long text beyond an open pattern': match('^(a{999}){4}', { minLength: 20_000 }),
  'names that are no names': { type: 'object', required: [{ toString: 1, valueOf: 1 }] },
}

for (const [name, schema] of Object.entries(MADE)) {
  test(`${name}: made, in bounded work`, async (t) => {
    const work = workOf(schema)
    t.equal(work.impossible, null)
    t.strictSame(excess(work), [])
  })
}

// ── Schemas at random ───────────────────────────────────────────────────────

/** How much random schemas ask for. */
interface SchemaExtent {
  /** Lengths and least counts. */
  readonly amount: fc.Arbitrary<number>
  /** Entries of lists and maps in the schema itself. */
  readonly entries: fc.Arbitrary<number>
  readonly patterns: readonly string[]
  readonly steps: readonly number[]
}

/** Random schemas over the whole subset; many have no value, and that must be said rather than guessed. */
function schemasOf({ amount, entries, patterns, steps }: SchemaExtent): fc.Arbitrary<object | boolean> {
  const { schema } = fc.letrec<{ schema: object | boolean }>((tie) => {
    const inner = tie('schema')
    /** The root again; only below a value, because the judge follows a circle that consumes nothing for ever. */
    const below = fc.oneof(
      { weight: 6, arbitrary: inner },
      { weight: 1, arbitrary: fc.constant({ $ref: '#' }) },
    )
    const several = fc
      .tuple(entries, inner, inner)
      .map(([count, one, other]) => [one, ...times(count, () => other)])
    const names = entries.map((count) => times(count, (i) => `p${2 * i}`))
    const optional: { requiredKeys: ['type'] } = { requiredKeys: ['type'] }
    const texts = {
      type: fc.constant('string'),
      minLength: amount,
      maxLength: amount,
      pattern: fc.constantFrom(...patterns),
      format: fc.constantFrom('date', 'uuid', 'email', 'custom'),
    }
    const numbers = {
      type: fc.constantFrom('integer', 'number'),
      minimum: fc.constantFrom(-20, 0.1, 3, 12),
      exclusiveMaximum: fc.constantFrom(0.2, 7, 60),
      maximum: fc.constantFrom(0.2, 11, 50),
      multipleOf: fc.constantFrom(...steps),
    }
    const arrays = {
      type: fc.constant('array'),
      items: below,
      prefixItems: several,
      minItems: amount,
      maxItems: amount,
      uniqueItems: fc.boolean(),
    }
    const objects = {
      type: fc.constant('object'),
      properties: fc
        .tuple(entries, below, below)
        .map(([count, one, other]) => members(count, (i) => (i % 2 ? one : other))),
      required: names,
      additionalProperties: inner,
      propertyNames: fc.constantFrom({ minLength: 2 }, { maxLength: 2 }, { pattern: '^p' }),
      minProperties: amount,
      maxProperties: amount,
    }
    const fixed = fc.oneof(
      entries.map((count) => ({ enum: times(count + 1, (i) => (i % 3 ? i : 'x'.repeat(count) + i)) })),
      entries.map((count) => ({ const: members(count, (i) => i) })),
      fc.record({ type: fc.constantFrom('null', 'boolean', ['string', 'null'], ['integer', 'object']) }),
      fc.boolean(),
    )
    return {
      schema: fc.oneof(
        { depthSize: 'small', maxDepth: 4, withCrossShrink: true },
        fixed,
        fc.record(texts, optional),
        fc.record(numbers, optional),
        fc.record(arrays, optional),
        fc.record(objects, optional),
        fc.record({ allOf: several, anyOf: several, oneOf: several }, { requiredKeys: [] }),
      ),
    }
  })
  return schema
}

test('a value made for any schema is valid; what has none is refused with a reason', async (t) => {
  const schemas = schemasOf({
    amount: fc.nat(6),
    entries: fc.nat(2),
    patterns: ['^[a-z]+$', '\\d{2}', '^(ab|cd)*$', '[^a]x?'],
    steps: [1, 3, 0.5, 0.1, 7],
  })
  let made = 0
  let runs = 0
  fc.assert(
    fc.property(schemas, fc.nat(), (schema, seed) => {
      runs++
      const result = make(schema, seed)
      if ('impossible' in result) return result.impossible.length > 0
      made++
      return ajv.compile(schema)(JSON.parse(JSON.stringify(result.value)))
    }),
    { numRuns: 1500 },
  )
  // Refusing everything would satisfy the property.
  t.ok(made > runs / 3, `${made} of ${runs}`)
})

test('whatever a schema asks for, the work is bounded', async (t) => {
  const schemas = schemasOf({
    amount: fc.constantFrom(0, 1, 3, 50, 200, 5000, 20_000, 1e9),
    entries: fc.constantFrom(1, 5, 100, 3000),
    patterns: ['^((((a?)*)*)*)*$', '^[a-z]{200}$', `[${MANY_LETTERS}]*`, '(\\p{Lu}|x){9}$', '('],
    steps: [0.3, 1e-300, 7, 1e300],
  })
  fc.assert(
    fc.property(schemas, (schema) => {
      t.strictSame(excess(workOf(schema)), [])
    }),
    { numRuns: 150 },
  )
})
