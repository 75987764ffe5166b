import { test } from 'tap'
import { z } from 'zod'
import { ValidationIssue, type ValidationRule } from '../../src/base/fault.js'
import {
  boundedInteger,
  boundedNumber,
  boundedRecord,
  boundedString,
  finiteNumber,
  openObject,
  recordOf,
  safeInteger,
  stringMatching,
  stringWithRule,
} from '../../src/http/fields.js'
import { readBySchema } from '../../src/http/input.js'

interface Outcome {
  readonly value: unknown
  readonly issues: readonly (readonly [loc: string, rule: ValidationRule, bound?: number])[]
}

function checked(schema: z.ZodType, input: unknown): Outcome {
  const issues: ValidationIssue[] = []
  const value = readBySchema(schema, input, issues)
  return {
    value,
    issues: issues.map(({ loc, rule, bound }) =>
      bound === undefined ? [loc.join('.'), rule] : [loc.join('.'), rule, bound],
    ),
  }
}

const NO_STRINGS = [1, true, null, [], {}, ['a']]

test('a string is measured in code points, and each rule is told with its bound', async (t) => {
  const schema = boundedString(1, 3)
  for (const good of ['a', 'abc', '😀😀😀', ' ', '\0']) {
    t.same(checked(schema, good), { value: good, issues: [] }, JSON.stringify(good))
  }
  t.same(checked(schema, '').issues, [['body', 'string-too-short', 1]])
  t.same(checked(schema, 'abcd').issues, [['body', 'string-too-long', 3]])
  t.same(checked(schema, '😀😀😀😀').issues, [['body', 'string-too-long', 3]])
  for (const bad of NO_STRINGS) t.same(checked(schema, bad).issues, [['body', 'string']], JSON.stringify(bad))
})

test('a string with half a surrogate pair is no string that could be stored', async (t) => {
  for (const bad of ['\ud83d', 'a\ude00', '\ude00\ud83d']) {
    t.same(checked(boundedString(1, 10), bad).issues, [['body', 'string']], JSON.stringify(bad))
  }
})

test('the empty string is a string where nothing forbids it', async (t) => {
  t.same(checked(boundedString(0, 3), ''), { value: '', issues: [] })
})

test('a number lies between inclusive bounds and is never made from anything else', async (t) => {
  const schema = boundedNumber(0, 1_000_000)
  for (const good of [0, 1_000_000, 0.1, 1e-300, 999_999.99]) {
    t.same(checked(schema, good), { value: good, issues: [] }, String(good))
  }
  t.same(checked(schema, -0.000_001).issues, [['body', 'at-least', 0]])
  t.same(checked(schema, 1_000_000.01).issues, [['body', 'at-most', 1_000_000]])
  for (const bad of ['1', '', true, null, [], {}, [1]]) {
    t.same(checked(schema, bad).issues, [['body', 'number']], JSON.stringify(bad))
  }
})

test('1e400 is a number out of range, not something that is no number', async (t) => {
  t.same(checked(boundedNumber(0, 1_000_000), JSON.parse('1e400')).issues, [['body', 'at-most', 1_000_000]])
  t.same(checked(boundedNumber(0, 1_000_000), JSON.parse('-1e400')).issues, [['body', 'at-least', 0]])
  t.same(checked(boundedInteger(1, 200_000), JSON.parse('1e400')).issues, [['body', 'at-most', 200_000]])
  t.same(checked(boundedInteger(1, 200_000), JSON.parse('-1e400')).issues, [['body', 'at-least', 1]])
})

test('an integer has no fraction; 1.0 and 1e3 are integers', async (t) => {
  const schema = boundedInteger(1, 200_000)
  t.same(checked(schema, JSON.parse('1.0')), { value: 1, issues: [] })
  t.same(checked(schema, JSON.parse('1e3')), { value: 1000, issues: [] })
  t.same(checked(schema, 1.5).issues, [['body', 'integer-fraction']])
  t.same(checked(schema, 0).issues, [['body', 'at-least', 1]])
  t.same(checked(schema, 200_001).issues, [['body', 'at-most', 200_000]])
  for (const bad of ['1', true, null, {}]) {
    t.same(checked(schema, bad).issues, [['body', 'integer']], JSON.stringify(bad))
  }
})

const Order = z.object({
  name: boundedString(1, 10),
  note: boundedString(0, 10).default(''),
  price: boundedNumber(0, 100).default(0),
  lines: z.array(z.object({ amount: boundedInteger(1, 9), gift: z.boolean().optional() })).optional(),
})

test('every violation is told, each with its place', async (t) => {
  const input = { name: '', note: 1, price: '1', lines: [{ amount: 1 }, { amount: 0.5, gift: 'no' }, 7] }
  t.same(checked(Order, input).issues, [
    ['body.name', 'string-too-short', 1],
    ['body.note', 'string'],
    ['body.price', 'number'],
    ['body.lines.1.amount', 'integer-fraction'],
    ['body.lines.1.gift', 'boolean'],
    ['body.lines.2', 'object'],
  ])
  t.equal(checked(Order, input).value, undefined)
})

test('what is required and absent is missing; null is there and of the wrong type', async (t) => {
  t.same(checked(Order, {}).issues, [['body.name', 'missing']])
  t.same(checked(Order, { name: null, note: null, price: null, lines: null }).issues, [
    ['body.name', 'string'],
    ['body.note', 'string'],
    ['body.price', 'number'],
    ['body.lines', 'array'],
  ])
})

test('a body that is no object is told as one violation', async (t) => {
  for (const input of [null, 1, 'text', true, []]) {
    t.same(checked(Order, input).issues, [['body', 'object']], JSON.stringify(input))
  }
})

test('defaults fill in what is absent; unknown members are ignored', async (t) => {
  t.same(checked(Order, { name: 'a', extra: 1, id: 7 }).value, { name: 'a', note: '', price: 0 })
  t.same(checked(Order, JSON.parse('{"name":"a","__proto__":{"price":7}}')).value, {
    name: 'a',
    note: '',
    price: 0,
  })
})

test('the index of an array is a number in the place of an issue', async (t) => {
  const issues: ValidationIssue[] = []
  readBySchema(Order, { name: 'a', lines: [{}] }, issues)
  t.strictSame(issues, [new ValidationIssue(['body', 'lines', 0, 'amount'], 'missing')])
})

test('a rule without a word of ours is told as other, with the message of the schema', async (t) => {
  const issues: ValidationIssue[] = []
  readBySchema(z.object({ kind: z.enum(['a', 'b']) }), { kind: 'c' }, issues)
  t.match(issues, [{ loc: ['body', 'kind'], rule: 'other', note: /a.*b/ }])
})

function notes(schema: z.ZodType, input: unknown): unknown[] {
  const issues: ValidationIssue[] = []
  readBySchema(schema, input, issues)
  return issues.map(({ rule, note }) => [rule, note])
}

test('a text with a rule of its own says which part of the rule is broken', async (t) => {
  t.same(notes(stringMatching(/^a+$/, 'must be a'), 'aa'), [])
  t.same(notes(stringMatching(/^a+$/, 'must be a'), 'b'), [['other', 'must be a']])
  const even = stringWithRule((value) =>
    value === '' ? 'is empty' : value.length % 2 === 1 ? 'is odd' : null,
  )
  t.same(notes(even, 'ab'), [])
  t.same(notes(even, ''), [['other', 'is empty']])
  t.same(notes(even, 'abc'), [['other', 'is odd']])
  t.same(notes(even, 5), [['string', undefined]])
})

test('numbers without bounds of their own are still numbers that JSON can say again', async (t) => {
  for (const good of [0, -1.5, Number.MAX_VALUE]) t.same(notes(finiteNumber(), good), [])
  t.same(notes(finiteNumber(), JSON.parse('1e400')), [['other', 'is out of range']])
  t.same(checked(safeInteger(1), 0).issues, [['body', 'at-least', 1]])
  t.same(checked(safeInteger(), 2 ** 53).issues, [['body', 'at-most', 2 ** 53 - 1]])
})

test('a map bounds its size, an open object its depth and what it holds', async (t) => {
  t.same(notes(recordOf(z.boolean()), { a: true }), [])
  t.same(checked(boundedRecord(boundedString(0, 3), boundedString(0, 3), 1), { a: 'b', c: 'd' }).issues, [
    ['body', 'too-many', 1],
  ])
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: [nested(levels - 1)] })
  t.same(notes(openObject(), nested(50)), [])
  t.same(notes(openObject(), nested(51)), [['other', 'must not be nested deeper than 100 levels']])
  const holding = (values: number): unknown => ({ a: Array(100).fill(Array((values - 101) / 100).fill(1)) })
  t.same(notes(openObject(), holding(19_901)), [])
  t.same(notes(openObject(), holding(20_001)), [['other', 'must not hold more than 20000 values']])
})
