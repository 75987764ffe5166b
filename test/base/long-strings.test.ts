/** Long strings that are lifted out of JSON come back as `JSON.parse` and `JSON.stringify` would have them. */
import fc from 'fast-check'
import { test } from 'tap'
import { LONG_STRING, writeAround } from '../../src/base/long-strings.js'
import { parseJsonBody } from '../../src/http/input.js'

/** White space counts for nothing and makes a text long enough to be looked at. */
const PADDING = ' '.repeat(64 * 1024)

const outcomeOf = (body: Buffer): unknown => parseJsonBody(body, 'application/json')

/** What the engine makes of the same bytes; undefined where it refuses them. */
function parsedPlainly(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    return undefined
  }
}

async function textOf(value: object): Promise<string> {
  const pieces: Buffer[] = []
  const text = writeAround(value)
  // A stream keeps what is short and goes on; what is long it has sent before it asks for more.
  for await (const piece of text.read())
    pieces.push(piece.byteLength < 256 * 1024 ? (piece as Buffer) : Buffer.from(piece))
  const bytes = Buffer.concat(pieces)
  if (bytes.byteLength !== text.byteLength) throw new Error('a length that is not that of the bytes')
  return bytes.toString()
}

const long = (letter: string): string => letter.repeat(LONG_STRING / letter.length + 7)
const PLAIN = long('AQ+/09=z')

/** Texts that are lifted, and those that look like it and are not. */
const longText = fc
  .tuple(
    fc.constantFrom(
      PLAIN,
      long(' ~'),
      long('ä'),
      long('\u{1f600}'),
      long('"'),
      long('\\'),
      long('\u0001'),
      long('\ud800'),
    ),
    fc.string({ maxLength: 5 }),
    fc.constantFrom('', '\n', '"', '\\', '\u001f', '\u007f', 'é', '\udc00', '\u2028'),
  )
  .map(([text, word, last]) => word + text + last)

const documentOf = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    longText,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(fc.oneof(fc.string(), fc.constantFrom('__proto__', '1', '0', 'a', PLAIN)), tie('value')),
        {
          maxLength: 4,
        },
      )
      .map((members) => Object.fromEntries(members) as unknown),
  ),
})).value

test('a body that is one long string is that string', (t) => {
  const text = `"${'A'.repeat(64 * 1024)}"`
  t.equal(outcomeOf(Buffer.from(text)), JSON.parse(text))
  t.end()
})

test('whatever the value: reading gives it, and writing gives its text', async (t) => {
  await fc.assert(
    fc.asyncProperty(documentOf, async (value) => {
      const whole = { before: PLAIN, value, 'the end': [PLAIN] }
      const text = JSON.stringify(whole)
      t.strictSame(outcomeOf(Buffer.from(text + PADDING)), JSON.parse(text))
      t.equal(await textOf(whole), text)
    }),
    { numRuns: 150 },
  )
})

test('whatever is wrong with a text: it is refused where the engine refuses it, and read where it reads it', async (t) => {
  const damage = fc.record({
    at: fc.nat(),
    bytes: fc.oneof(
      fc
        .constantFrom('', '"', '\\', '\\"', '\\u00', ',', ':', ' :', '{', ']', '\u0000', '\n', 'ä')
        .map((one) => Buffer.from(one)),
      fc
        .constantFrom([0xff], [0xc3], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf], [0x1f], [0x80])
        .map((one) => Buffer.from(one)),
    ),
    cut: fc.nat({ max: 3 }),
  })
  const near = fc.array(damage, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(documentOf, near, (value, all) => {
      let text = Buffer.from(JSON.stringify({ a: PLAIN, value, b: PLAIN }))
      for (const { at, bytes, cut } of all) {
        const place = at % (text.length + 1)
        text = Buffer.concat([text.subarray(0, place), bytes, text.subarray(place + cut)])
      }
      const body = Buffer.concat([text, Buffer.from(PADDING)])
      const plain = parsedPlainly(body)
      const ours = outcomeOf(body)
      if (plain === undefined) t.match(ours, { rule: 'json' })
      else t.strictSame(ours, plain)
    }),
    { numRuns: 400 },
  )
})

test('the place of an error is told as without long strings', async (t) => {
  const before = `{"a":"${PLAIN}","b":`
  const issue = outcomeOf(Buffer.from(`${before}1 1}${PADDING}`)) as { loc: readonly unknown[] }
  t.strictSame(issue.loc, ['body', before.length + 2])
})

test('of a member that is given twice the last one counts, and a long name is a name', async (t) => {
  const other = long('bcde')
  const read = (text: string): unknown => outcomeOf(Buffer.from(text + PADDING))
  t.strictSame(read(`{"a":"${PLAIN}","a":"${other}"}`), { a: other })
  t.strictSame(read(`{"a":"${PLAIN}","a":1}`), { a: 1 })
  t.strictSame(read(`{"${PLAIN}"  :"${other}"}`), { [PLAIN]: other })
  const proto = read(`{"__proto__":"${PLAIN}"}`) as object
  t.strictSame(Object.getOwnPropertyDescriptor(proto, '__proto__')?.value, PLAIN)
  t.equal(Object.getPrototypeOf(proto), Object.prototype)
})

test('members whose names are numbers are written in the order of the engine', async (t) => {
  const value = { z: long('z1'), 10: long('ten '), 2: long('two ') }
  t.equal(await textOf(value), JSON.stringify(value))
})

test('strings of many pieces are written whole, each piece with its own bytes', async (t) => {
  const value = ['abcdefg', 'hijklmnop', 'q'].map((letters) => letters.repeat(90_001))
  t.equal(await textOf(value), JSON.stringify(value))
})
