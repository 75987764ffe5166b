import fc from 'fast-check'
import { test } from 'tap'
import { ValidationIssue } from '../../src/base/fault.js'
import { parseForm } from '../../src/http/input.js'
import { words } from '../support/data/words.js'

const TYPE = 'application/x-www-form-urlencoded'
const KNOWN = ['a', 'b', 'naïve name']

function read(body: string | Uint8Array, contentType = TYPE): unknown {
  const form = parseForm(typeof body === 'string' ? Buffer.from(body) : body, contentType, KNOWN)
  return form instanceof ValidationIssue ? form : { ...form }
}

test('a form is read', async (t) => {
  for (const [body, form] of [
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=x+y%20z', { a: 'x y z' }],
    ['a=%c3%A9', { a: 'é' }],
    ['a=é', { a: 'é' }],
    ['%61=1', { a: '1' }],
    ['na%C3%AFve+name=1', { 'naïve name': '1' }],
    ['a=1=2', { a: '1=2' }],
    ['a=', {}],
    ['a', {}],
    ['&&a=1&', { a: '1' }],
    ['c=1&c=2&d', {}],
    ['A=1', {}],
    ['__proto__=1&constructor=2', {}],
    ['a=1;b=2', { a: '1;b=2' }],
    ['a=%00', { a: '\0' }],
  ] as const) {
    t.strictSame(read(body), form, body)
  }
})

test('what several readers might read in several ways is refused', async (t) => {
  for (const body of words('a=% a=%1 a=%zz %=1 c=%u0041 a=%ff a=%c3 a=%ed%a0%80 a=%c0%80')) {
    t.match(read(body), new ValidationIssue(['body'], 'other', undefined, 'must be well encoded'), body)
  }
  t.match(
    read(Buffer.of(0x61, 0x3d, 0xff)),
    new ValidationIssue(['body'], 'other', undefined, 'must be UTF-8'),
  )
  for (const body of ['a=1&a=1', 'a=1&b=2&a=', 'a&a', 'a=1&%61=2']) {
    t.match(read(body), new ValidationIssue(['body', 'a'], 'other', undefined, 'must come once'), body)
  }
})

test('a body that is declared as something else, or not at all, is no form', async (t) => {
  for (const type of [
    '',
    'text/plain',
    'application/json',
    `${TYPE}2`,
    `${TYPE}; charset=latin1`,
    `x${TYPE}`,
  ]) {
    t.match(
      read('a=1', type),
      new ValidationIssue(['body'], 'object', undefined, `must be sent as ${TYPE}`),
      type,
    )
  }
  for (const type of [TYPE, TYPE.toUpperCase(), `${TYPE};charset=UTF8`, `${TYPE} ; charset="utf-8"; x=y`]) {
    t.strictSame(read('a=1', type), { a: '1' }, type)
  }
})

test('what URLSearchParams writes is read as it was, and no bytes at all make the reader throw', async (t) => {
  const text = fc.string({ unit: 'binary', minLength: 1 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      t.strictSame(
        read(
          new URLSearchParams([
            ['a', a],
            ['b', b],
          ]).toString(),
        ),
        { a, b },
      )
    }),
    { numRuns: 200 },
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => void read(bytes)))
})
