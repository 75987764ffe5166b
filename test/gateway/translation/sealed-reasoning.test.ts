import fc from 'fast-check'
import { test } from 'tap'
import {
  isForeignThinking,
  sealReasoning,
  unsealReasoning,
} from '../../../src/gateway/translation/sealed-reasoning.js'

const member = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean())

test('a detail comes out of its seal as it went in', async (t) => {
  const property = fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]{1,10}$/), member), (members) => {
    const detail = { ...members, type: 'reasoning.encrypted' }
    const text = sealReasoning(detail)
    t.match(text, /^[\w.-]+$/)
    t.strictSame(unsealReasoning(text), detail)
    t.ok(isForeignThinking({ type: 'redacted_thinking', data: text }))
  })
  fc.assert(property, { numRuns: 200 })
})

test('whatever a caller writes into a seal, nothing deep comes out of it', async (t) => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const forged = `reasoning-detail.${Buffer.from(`{"type":"x","a":${deep},"b":1}`).toString('base64url')}`
  t.equal(unsealReasoning(forged), null)
  const nested = `reasoning-detail.${Buffer.from('{"type":"x","a":[[1]],"b":1}').toString('base64url')}`
  t.strictSame(unsealReasoning(nested), { type: 'x', b: 1 })
  for (const text of [
    '',
    'reasoning-detail.',
    'reasoning-detail.!!!',
    sealReasoning({ a: 1 }),
    sealReasoning([] as never),
  ]) {
    t.equal(unsealReasoning(text), null, text)
  }
})

test('signatures of a messages provider are its own, empty ones and ours are not', async (t) => {
  t.notOk(isForeignThinking({ type: 'thinking', thinking: 'a', signature: 'c2ln' }))
  t.notOk(isForeignThinking({ type: 'redacted_thinking', data: 'c2ln' }))
  t.notOk(isForeignThinking({ type: 'text', text: 'a' }))
  t.ok(isForeignThinking({ type: 'thinking', thinking: 'a', signature: '' }))
  t.ok(isForeignThinking({ type: 'thinking', thinking: 'a' }))
  t.ok(isForeignThinking({ type: 'thinking', thinking: 'a', signature: sealReasoning({ type: 'x' }) }))
})
