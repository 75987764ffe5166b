import fc from 'fast-check'
import { test } from 'tap'
import { ValidationIssue, type ValidationRule } from '../../src/base/fault.js'
import {
  countCodePoints,
  integerParam,
  type RawParam,
  readQuery,
  textParam,
  UNDECODABLE,
} from '../../src/http/params.js'

const LOC = ['query', 'n']

interface Refusal {
  readonly raw: RawParam
  readonly rule: ValidationRule
  readonly bound?: number
}

const NO_INTEGERS = [
  '',
  ' ',
  ' 7',
  '7 ',
  '+7',
  '--7',
  '-',
  '1e3',
  '0x10',
  '0b1',
  '1.0',
  '1,000',
  '1_000',
  '٣',
  'NaN',
  'Infinity',
  'null',
  '7\n',
  'true',
]

test('integer text is a decimal number and nothing else', async (t) => {
  const field = integerParam()
  for (const raw of [...NO_INTEGERS, UNDECODABLE] as RawParam[]) {
    t.same(field.read(raw, LOC), new ValidationIssue(LOC, 'integer-text'), `${String(raw)} is refused`)
  }
  for (const [raw, value] of [
    ['0', 0],
    ['7', 7],
    ['-7', -7],
    ['007', 7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9'.repeat(400), Number.POSITIVE_INFINITY],
  ] as const) {
    t.equal(field.read(raw, LOC), value, raw.slice(0, 20))
  }
})

test('every integer that is written in decimal is read as itself', async () => {
  fc.assert(fc.property(fc.maxSafeInteger(), (n) => Object.is(integerParam().read(String(n), LOC), n)))
})

test('bounds of an integer are inclusive, and the issue says the bound', async (t) => {
  const field = integerParam({ minimum: 1, maximum: 100 })
  t.equal(field.read('1', LOC), 1)
  t.equal(field.read('100', LOC), 100)
  const refusals: Refusal[] = [
    { raw: '0', rule: 'at-least', bound: 1 },
    { raw: '-5', rule: 'at-least', bound: 1 },
    { raw: '101', rule: 'at-most', bound: 100 },
    { raw: '9'.repeat(400), rule: 'at-most', bound: 100 },
    { raw: `-${'9'.repeat(400)}`, rule: 'at-least', bound: 1 },
  ]
  for (const { raw, rule, bound } of refusals) {
    t.same(field.read(raw, LOC), new ValidationIssue(LOC, rule, bound), String(raw).slice(0, 20))
  }
})

test('an absent integer takes its default, and without one it is missing', async (t) => {
  t.equal(integerParam({ default: 20 }).read(undefined, LOC), 20)
  t.equal(integerParam({ default: 0 }).read(undefined, LOC), 0, 'zero is a default too')
  t.same(integerParam().read(undefined, LOC), new ValidationIssue(LOC, 'missing'))
  t.same(
    integerParam({ default: 20 }).read('', LOC),
    new ValidationIssue(LOC, 'integer-text'),
    'empty is not absent',
  )
})

test('text is measured in code points', async (t) => {
  const field = textParam({ minLength: 1, maxLength: 3 })
  for (const raw of ['a', 'abc', '😀😀😀', 'é', '\0']) t.equal(field.read(raw, LOC), raw)
  const refusals: Refusal[] = [
    { raw: undefined, rule: 'missing' },
    { raw: UNDECODABLE, rule: 'string' },
    { raw: '', rule: 'string-too-short', bound: 1 },
    { raw: 'abcd', rule: 'string-too-long', bound: 3 },
    { raw: '😀😀😀😀', rule: 'string-too-long', bound: 3 },
  ]
  for (const { raw, rule, bound } of refusals)
    t.same(field.read(raw, LOC), new ValidationIssue(LOC, rule, bound))
})

test('codePoints counts as the string iterator does', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => countCodePoints(value) === [...value].length),
  )
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0xd700, max: 0xe100 })), (units) => {
      const value = String.fromCharCode(...units)
      return countCodePoints(value) === [...value].length
    }),
  )
  for (const [value, n] of [
    ['', 0],
    ['a', 1],
    ['😀', 1],
    ['\ud83d', 1],
    ['\ude00\ud83d', 2],
    ['\ud83d\ud83d\ude00', 2],
    ['👩‍👩‍👧', 5],
  ] as const) {
    t.equal(countCodePoints(value), n, JSON.stringify(value))
  }
})

test('fields document themselves', async (t) => {
  t.same(integerParam({ minimum: 1, maximum: 100, default: 20, description: 'how many' }).schema, {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'how many',
  })
  t.equal(integerParam({ default: 20 }).required, false)
  t.same(integerParam().schema, { type: 'integer' })
  t.equal(integerParam().required, true)
  t.same(textParam({ minLength: 1, maxLength: 50 }).schema, { type: 'string', minLength: 1, maxLength: 50 })
  t.equal(textParam({ minLength: 1, maxLength: 50 }).required, true)
})

const QUERIES: readonly [query: string, value: RawParam, about: string][] = [
  ['', undefined, 'an empty query'],
  ['&&', undefined, 'nothing but separators'],
  ['other=1', undefined, 'other names'],
  ['Q=1', undefined, 'names are case-sensitive'],
  ['q=1', '1', 'a value'],
  ['q=', '', 'an empty value'],
  ['q', '', 'a name alone'],
  ['q=a=b', 'a=b', 'an equals sign in the value'],
  ['q=1&q=2', '2', 'the last of several'],
  ['q=1&q', '', 'the last of several, although it is empty'],
  ['a=1&q=2&b=3', '2', 'in the middle'],
  ['q=a+b', 'a b', 'plus is a space'],
  ['q=a%2Bb', 'a+b', 'an encoded plus is a plus'],
  ['q=a%20b', 'a b', 'an encoded space'],
  ['q=%E2%82%AC', '€', 'encoded UTF-8'],
  ['q=%f0%9f%98%80', '😀', 'encoded UTF-8 beyond the basic plane, lower case'],
  ['q=%26%3D%23', '&=#', 'encoded separators'],
  ['q=%', '%', 'a percent sign alone'],
  ['q=100%', '100%', 'a percent sign at the end'],
  ['q=%4', '%4', 'half an escape'],
  ['q=%zz', '%zz', 'an escape that is none'],
  ['q=%%41', '%A', 'a percent sign before an escape'],
  ['q=%25', '%', 'an encoded percent sign'],
  ['q=%2541', '%41', 'decoded once, not twice'],
  ['q=%00', '\0', 'a zero'],
  ['q=%FF', UNDECODABLE, 'bytes that are no UTF-8'],
  ['q=%E2%82', UNDECODABLE, 'UTF-8 cut short'],
  ['q=%ED%A0%80', UNDECODABLE, 'an encoded surrogate'],
  ['q=%C0%80', UNDECODABLE, 'an overlong form'],
  ['q=%FF&q=ok', 'ok', 'a good one after a bad one'],
  ['q=ok&q=%FF', UNDECODABLE, 'a bad one after a good one'],
  ['%71=1', '1', 'an encoded name'],
  ['%FF=1&q=2', '2', 'a name that is no UTF-8'],
  ['=1&q=2', '2', 'an empty name'],
  ['q=1;q=2', '1;q=2', 'a semicolon separates nothing'],
  ['?q=1', undefined, 'a second question mark is part of the name'],
  ['q[]=1', undefined, 'brackets are part of the name'],
]

test('a query is read as forms are', async (t) => {
  for (const [query, value, about] of QUERIES) t.equal(readQuery(query, ['q']).q, value, about)
})

test('names of the prototype are ordinary names', async (t) => {
  const found = readQuery('__proto__=1&constructor=2&toString=3&hasOwnProperty=4', ['q', 'constructor'])
  t.same(Object.keys(found), ['constructor'])
  t.equal(found.constructor, '2')
  t.equal(Object.getPrototypeOf(found), null)
  t.equal(readQuery('', ['toString']).toString, undefined, 'what was not sent is absent')
  t.same(Object.entries(readQuery('__proto__=1', ['__proto__'])), [['__proto__', '1']])
})

test('what URLSearchParams writes is read back, the last of each name', async () => {
  const name = fc.constantFrom('q', 'limit', 'a b', 'ü', '%', '&')
  const value = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (pairs) => {
      const found = readQuery(new URLSearchParams(pairs).toString(), ['q', 'limit', 'a b', 'ü', '%', '&'])
      const wanted = new Map(pairs)
      return (
        [...wanted].every(([key, text]) => found[key] === text) && Object.keys(found).length === wanted.size
      )
    }),
  )
})

test('no query makes the reader throw', async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'q=&%+aF0é\ud800\udc00') }), (query) => {
      const { q } = readQuery(query, ['q'])
      return q === undefined || q === UNDECODABLE || typeof q === 'string'
    }),
  )
})
