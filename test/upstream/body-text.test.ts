import fc from 'fast-check'
import { test } from 'tap'
import { BoundedTextBody } from '../../src/upstream/body-text.js'

test('a text is what its pieces say, however they are cut and whether or not their length is declared', async (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      fc.boolean(),
      (said, sizes, declared) => {
        const bytes = Buffer.from(said)
        const body = new BoundedTextBody(1_000, declared ? bytes.length : -1)
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const piece = Buffer.from(bytes.subarray(at, at + sizes[turn % sizes.length]!))
          t.ok(body.push(piece))
          at += piece.length
          // The bytes are borrowed.
          piece.fill(0)
        }
        t.equal(body.text(), bytes.toString())
      },
    ),
  )
})

test('what outgrows the limit is not taken, whatever length was declared', async (t) => {
  for (const expected of [-1, 6, 8, 2 ** 40]) {
    const body = new BoundedTextBody(6, expected)
    t.ok(body.push(Buffer.from('1234')))
    t.notOk(body.push(Buffer.from('5678')), String(expected))
    t.equal(body.text(), '123456')
  }
})

test('a character that is cut off at the end becomes the replacement character', async (t) => {
  for (const expected of [-1, 3]) {
    const body = new BoundedTextBody(100, expected)
    body.push(Buffer.from('a'))
    body.push(Buffer.from('é').subarray(0, 1))
    t.equal(body.text(), 'a\ufffd')
  }
})
