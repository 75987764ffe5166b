import fc from 'fast-check'
import { test } from 'tap'
import { z } from 'zod'
import type { ValidationIssue } from '../../src/base/fault.js'
import {
  boundedInteger,
  boundedNumber,
  boundedRecord,
  boundedString,
  finiteNumber,
  noteOptions,
  openObject,
  stringMatching,
} from '../../src/http/fields.js'
import { acceptFast, failFast } from '../../src/http/first-violation.js'
import { readBySchema } from '../../src/http/input.js'

/** A schema of every kind there is a reader for; made twice, read both ways. */
function menu() {
  const dish = z.object({ name: boundedString(1, 5), price: boundedNumber(0, 10).nullable().exactOptional() })
  return z.object({
    title: boundedString(0, 8),
    open: z.boolean().exactOptional(),
    seats: boundedInteger(1, 100).exactOptional(),
    score: finiteNumber().exactOptional(),
    kind: z.enum(['bar', 'cafe']).nullable().exactOptional(),
    code: stringMatching(/^[a-z]+$/, 'must be letters').exactOptional(),
    dishes: z.array(dish).min(1).max(3).exactOptional(),
    notes: z.union([z.string(), z.array(z.string())]).exactOptional(),
    labels: boundedRecord(boundedString(0, 3), boundedString(0, 3), 2).exactOptional(),
    more: z.looseObject({ a: z.string().exactOptional() }).exactOptional(),
    exact: z.strictObject({ a: z.string() }).exactOptional(),
    any: openObject().exactOptional(),
    served: z
      .discriminatedUnion('by', [
        z.object({ by: z.literal('waiter'), name: z.string() }),
        z.object({ by: z.literal(['belt', 'robot']), speed: boundedNumber(0, 5) }),
      ])
      .exactOptional(),
    pair: z
      .object({ a: z.boolean().exactOptional(), b: z.boolean().exactOptional() })
      .refine(({ a, b }) => a === undefined || b === undefined, noteOptions('takes a or b'))
      .exactOptional(),
  })
}

const plain = menu()
const fast = failFast(menu())

/** What the fast reader makes of a body, and what it tells. */
function readFast(body: unknown, schema: z.ZodType = fast) {
  const issues: ValidationIssue[] = []
  return { value: readBySchema(schema, body, issues) as z.output<typeof fast>, issues }
}

/** The first issue under the fast reader: place, rule, and bound or note. */
function first(input: unknown, schema: z.ZodType = fast): unknown {
  const { issues } = readFast(input, schema)
  if (issues.length > 1) throw new Error('more than one violation')
  const [issue] = issues
  return issue === undefined ? null : [issue.loc.slice(1).join('.'), issue.rule, issue.bound ?? issue.note]
}

test('each kind of schema says which rule is broken, and where', async (t) => {
  for (const [members, told] of [
    [{}, null],
    [{ title: undefined }, ['title', 'missing', undefined]],
    [{ title: 5 }, ['title', 'string', undefined]],
    [{ title: '123456789' }, ['title', 'string-too-long', 8]],
    [{ open: 1 }, ['open', 'boolean', undefined]],
    [{ seats: 0 }, ['seats', 'at-least', 1]],
    [{ seats: 1.5 }, ['seats', 'integer-fraction', undefined]],
    [{ score: Number.POSITIVE_INFINITY }, ['score', 'other', 'is out of range']],
    [{ kind: 'pub' }, ['kind', 'other', 'must be one of bar, cafe']],
    [{ code: '9' }, ['code', 'other', 'must be letters']],
    [{ dishes: {} }, ['dishes', 'array', undefined]],
    [{ dishes: [] }, ['dishes', 'too-few', 1]],
    [{ dishes: [{}] }, ['dishes.0.name', 'missing', undefined]],
    [{ dishes: [{ name: 'a' }, { name: 'b', price: 11 }] }, ['dishes.1.price', 'at-most', 10]],
    [{ dishes: new Array(4).fill({ name: 'a' }) }, ['dishes', 'too-many', 3]],
    [{ notes: 5 }, ['notes', 'other', 'must be a string or an array']],
    [{ notes: ['a', 5] }, ['notes.1', 'string', undefined]],
    [{ labels: { a: 'b', c: 'd', e: 'f' } }, ['labels', 'too-many', 2]],
    [{ labels: { long1: 'b' } }, ['labels', 'other', 'a name in it has more than 3 characters']],
    [{ labels: { a: 'long1' } }, ['labels', 'other', 'a value in it has more than 3 characters']],
    [{ more: { a: 5 } }, ['more.a', 'string', undefined]],
    [{ exact: { a: 'a', b: 1 } }, ['exact', 'other', 'has a member that is not allowed']],
    [{ served: {} }, ['served.by', 'missing', undefined]],
    [{ served: { by: 'cat' } }, ['served.by', 'other', 'must be one of waiter, belt, robot']],
    [{ served: { by: 'robot', speed: 6 } }, ['served.speed', 'at-most', 5]],
    [{ pair: { a: true, b: true } }, ['pair', 'other', 'takes a or b']],
  ] as const)
    t.strictSame(first({ title: 'm', ...members }), told, JSON.stringify(members))
  t.strictSame(first([]), ['', 'object', undefined])
})

test('the first violation is the first in the order of the input; what is missing comes after', async (t) => {
  t.strictSame(first({ seats: 'x', open: 'x' }), ['seats', 'integer', undefined])
  t.strictSame(first({ open: 'x', seats: 'x' }), ['open', 'boolean', undefined])
  t.strictSame(first({ open: true }), ['title', 'missing', undefined])
})

test('a faultless value is handed on itself; a copy is made only on the way to something dropped', async (t) => {
  const kept = { name: 'a' }
  const whole = { title: 'm', more: { z: 1 }, dishes: [kept] }
  t.equal(readFast(whole).value, whole)
  const input = { title: 'm', more: { z: 1 }, dishes: [kept, { name: 'b', colour: 'red' }], unknown: 1 }
  const frozen = structuredClone(input)
  const read = readFast(input).value
  t.strictSame(read, { title: 'm', more: { z: 1 }, dishes: [kept, { name: 'b' }] })
  t.equal(read.more, input.more)
  t.equal(read.dishes?.[0], kept)
  t.strictSame(input, frozen, 'the input is left as it was')
})

test('a schema of a kind without a reader does not pass the start', async (t) => {
  for (const schema of [
    z.object({ a: z.date() }),
    z.object({ a: z.string().prefault('x') }),
    z.object({ a: z.string().regex(/a/) }),
    z.object({ a: z.string().min(1) }),
    z.object({ a: z.string().transform((value) => value) }),
    z.union([z.string(), z.enum(['a'])]),
  ])
    t.throws(() => failFast(schema as z.ZodType), TypeError)
})

const names = fc.constantFrom(...Object.keys(plain.shape), 'name', 'price', 'by', 'speed', 'a', 'b', 'x')
const scalars = fc.constantFrom<unknown>(
  null,
  true,
  0,
  1,
  1.5,
  7,
  -1,
  '',
  'a',
  'ab',
  'bar',
  'robot',
  'waiter',
  '9',
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalars,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const input = fc
  .dictionary(names, value, { maxKeys: 3, noNullPrototype: true })
  .map((members) => ({ title: 'm', ...members }))

test('a value is taken exactly when zod takes it, and reads as zod reads it', async (t) => {
  let taken = 0
  fc.assert(
    fc.property(input, (body) => {
      const wanted = plain.safeParse(body)
      const found = readFast(body)
      if (wanted.success !== (found.issues.length === 0)) throw new Error(`zod says ${wanted.success}`)
      if (!wanted.success) return
      taken++
      t.same(found.value, wanted.data)
    }),
    { numRuns: 5_000 },
  )
  t.ok(taken > 300, `${taken} of them were taken`)
})

/** As bodies of the practice API are: what is absent has a default, and all violations are told. */
const thing = () =>
  z.object({
    title: boundedString(1, 3),
    name: boundedString(0, 2).default(''),
    price: boundedNumber(0, 10).default(5),
  })
const plainThing = thing()
const quickThing = acceptFast(thing())

test('a schema that accepts fast says of every body what zod says', async (t) => {
  let taken = 0
  fc.assert(
    fc.property(fc.oneof(input, value), (body) => {
      const wanted: ValidationIssue[] = []
      const found: ValidationIssue[] = []
      const read = readBySchema(plainThing, body, wanted)
      t.strictSame(readBySchema(quickThing, body, found), read)
      t.strictSame(found, wanted)
      if (wanted.length === 0) taken++
    }),
    { numRuns: 2_000 },
  )
  t.ok(taken > 100, `${taken} of them were taken`)
})
