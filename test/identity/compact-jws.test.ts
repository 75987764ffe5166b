import fc from 'fast-check'
import { test } from 'tap'
import { decodeCompactJws, isCompactJws } from '../../src/identity/compact-jws.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const encoded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** What a part has to be: the text that its bytes are encoded as, and no other. */
function isCanonical(part: string): boolean {
  return encoded(Buffer.from(part, 'base64url')) === part
}

test('every end that a part can have is taken or refused for what its bytes are encoded as', async (t) => {
  for (const start of ['', 'A', 'AB', 'ABC', 'ABCD', 'ABCDE', 'ABCDEF']) {
    for (const last of ALPHABET) {
      const part = start + last
      t.equal(decodeCompactJws(`YQ.YQ.${part}`) !== null, isCanonical(part), part)
    }
  }
})

test('bytes come back as they were, and no other text stands for them', async () => {
  const part = fc.uint8Array({ minLength: 1, maxLength: 40 })
  const anyPart = fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: 1, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(part, part, part, anyPart, async (header, payload, signature, text) => {
      const token = [header, payload, signature].map(encoded).join('.')
      const read = isCompactJws(token) ? decodeCompactJws(token) : null
      const got = read && [read.header, read.payload].map(encoded).join('.')
      if (got !== token.slice(0, token.lastIndexOf('.'))) throw new Error(token)
      for (const at of [0, 1, 2]) {
        const other = token.split('.').with(at, text).join('.')
        if ((decodeCompactJws(other) !== null) !== isCanonical(text)) throw new Error(other)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('three parts of the alphabet, none empty, at most 16,384 characters', async (t) => {
  t.equal(isCompactJws(`YQ.YQ.${'A'.repeat(16_378)}`), true)
  for (const bad of ['', 'a.b', 'a..b', '.a.b', 'a.b.', 'a.b.c.d', 'a.b.c=', 'a.b.c\n', ' a.b.c', 'a.b.ü']) {
    t.equal(isCompactJws(bad), false, JSON.stringify(bad))
  }
  t.equal(isCompactJws(`YQ.YQ.${'A'.repeat(16_379)}`), false)
})
