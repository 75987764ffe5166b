import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { test } from 'tap'
import { ValidationIssue } from '../../src/base/fault.js'
import { parseJsonBody } from '../../src/http/input.js'

const JSON_TYPE = 'application/json'

function read(body: string | Uint8Array, contentType = JSON_TYPE): unknown {
  return parseJsonBody(typeof body === 'string' ? Buffer.from(body) : body, contentType)
}

test('every JSON value is read as itself', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      return JSON.stringify(read(text)) === text
    }),
  )
  t.equal(read('null'), null)
  t.equal(read(' 1 '), 1)
})

test('an absent body is missing, whatever it is declared as', async (t) => {
  for (const type of [JSON_TYPE, '', 'text/plain'])
    t.same(read('', type), new ValidationIssue(['body'], 'missing'), type)
})

test('a body is JSON when it says so or says nothing', async (t) => {
  const accepted = [
    '',
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'Application/JSON',
    ' application/json ',
    'application/problem+json',
    'application/vnd.api+json; version=1',
    'text/x+JSON',
  ]
  for (const type of accepted) t.same(read('{"a":1}', type), { a: 1 }, type)
  const refused = [
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'application/jsonp',
    'application/json-seq',
    'xapplication/json',
    'application/xml; a=+json',
    ';',
  ]
  const issue = new ValidationIssue(['body'], 'object', undefined, 'must be sent as application/json')
  for (const type of refused) t.same(read('{"a":1}', type), issue, type)
})

interface Broken {
  readonly name: string
  readonly body: string | Uint8Array
  /** Byte offset that the issue names. */
  readonly offset: number
}

const BROKEN: readonly Broken[] = [
  { name: 'cut short', body: '{"a":', offset: 5 },
  { name: 'cut short after letters of several bytes', body: '{"ü":"€', offset: 10 },
  { name: 'cut short between members', body: '{"ü":"€",', offset: 12 },
  { name: 'a comma too many', body: '[1,2,]', offset: 0 },
  { name: 'a member without quotes', body: '{a:1}', offset: 1 },
  { name: 'a member without quotes, after letters of several bytes', body: '{"😀":1,a:1}', offset: 10 },
  { name: 'text after the value', body: '{"a":1} {', offset: 8 },
  { name: 'no JSON at all', body: 'hello', offset: 0 },
  { name: 'a control character in a string', body: '"a\nb"', offset: 2 },
  { name: 'a byte order mark', body: '\ufeff{}', offset: 0 },
  { name: 'bytes that are no UTF-8', body: Buffer.from('{"a":"\xff"}', 'latin1'), offset: 0 },
  { name: 'UTF-8 cut short', body: Buffer.from([0x22, 0xe2, 0x82, 0x22]), offset: 0 },
  { name: 'UTF-16', body: Buffer.from('{}', 'utf16le'), offset: 1 },
  {
    name: 'text of the caller that looks like a position',
    body: 'x at position 9',
    offset: 0,
  },
]

for (const { name, body, offset } of BROKEN) {
  test(`a body with ${name} is no JSON, at byte ${offset}`, async (t) => {
    const issue = read(body)
    t.ok(issue instanceof ValidationIssue)
    const { loc, rule } = issue as ValidationIssue
    t.equal(rule, 'json')
    t.equal(loc[0], 'body')
    // The engine does not always know the place, and which it knows differs by version: then it is 0.
    t.ok(loc[1] === offset || loc[1] === 0, `offset ${loc[1]}`)
    t.equal(loc.length, 2)
  })
}

test('an offset never lies beyond the body', async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:1aü😀\n ') }), (text) => {
      const body = Buffer.from(text)
      const issue = parseJsonBody(body, JSON_TYPE)
      if (!(issue instanceof ValidationIssue) || issue.rule !== 'json') return true
      const [root, offset] = issue.loc
      return (
        root === 'body' && Number.isInteger(offset) && Number(offset) >= 0 && Number(offset) <= body.length
      )
    }),
    { numRuns: 1000 },
  )
})

test('only the view is read, not the memory around it', async (t) => {
  const block = Buffer.from('[1][2][3]')
  t.same(read(block.subarray(3, 6)), [2])
})

const LETTERS = ['plain ', 'größe ', 'ÿ\u0080', '日本', '🚀', '\u{10ffff}\uffff'] as const
const LENGTHS = [16 * 1024 - 20, 16 * 1024 + 20, 300_000, 4 * 1024 * 1024 + 20] as const

for (const letters of LETTERS) {
  test(`a long body of ${JSON.stringify(letters)} is read as a short one is`, async (t) => {
    for (const length of LENGTHS) {
      const value = { first: 'x', long: letters.repeat(length / Buffer.byteLength(letters)) }
      const body = Buffer.from(JSON.stringify(value))
      // Somewhere in other memory, at an odd place.
      const around = Buffer.concat([Buffer.from('{'), body, Buffer.from('}')])
      t.ok(isDeepStrictEqual(read(around.subarray(1, -1)), value), `${length} bytes`)
      body[body.length - 3] = 0xff
      t.same(read(body), new ValidationIssue(['body', 0], 'json'), `${length} bytes, one of them wrong`)
      const unended = Buffer.from(JSON.stringify(value).slice(0, -1))
      t.same(read(unended), new ValidationIssue(['body', unended.length], 'json'), `${length} bytes, unended`)
    }
  })
}

test('a byte order mark is no JSON, however long the body', async (t) => {
  for (const length of [2, 20_000]) {
    t.same(read(`\ufeff"${'é'.repeat(length)}"`), new ValidationIssue(['body', 0], 'json'), `${length}`)
  }
})
