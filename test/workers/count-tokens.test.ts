import fc from 'fast-check'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { countTokens } from '../../workers/count-tokens.js'

function countsOf(...texts: string[]): readonly number[] {
  const outcome = countTokens({ texts })
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.value.counts
}

test('short texts are counted in the o200k vocabulary', async (t) => {
  t.same(countsOf('', 'hello world', 'one two three'), [0, 2, 3])
})

test('a short text has exactly the tokens of the public tokenizer', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
      const [count] = countsOf(text)
      return count === encode(text, { disallowedSpecial: new Set() }).length
    }),
    { numRuns: 50 },
  )
})

test('what looks like a control token is text', async (t) => {
  const [count = 0] = countsOf('<|endoftext|>')
  t.ok(count > 1, 'and no single token')
})

test('a long text of words has the tokens of the whole, but for the places where it was cut', async (t) => {
  const text = 'The river winds through the valley, and nobody counts its turns. '.repeat(200)
  const whole = encode(text).length
  const [count = 0] = countsOf(text)
  t.ok(Math.abs(count - whole) <= text.length / 500, `${count} of ${whole}`)
})

test('half of a pair of surrogates, and a lone one, cost no exception', async (t) => {
  for (const text of ['\ud83d', `${'x'.repeat(999)}😀${'y'.repeat(50)}`, '\udc00'.repeat(1500)]) {
    t.ok((countsOf(text)[0] ?? 0) > 0)
  }
})

test('a run without spaces takes time in proportion to its length', { timeout: 20_000 }, async (t) => {
  const begun = performance.now()
  const counts = countsOf('a'.repeat(200_000), 'é'.repeat(50_000), '\n'.repeat(50_000))
  t.ok(counts.every((count) => count > 0))
  t.ok(performance.now() - begun < 8_000, 'the tokenizer alone would take the first text ten seconds')
})

test('the threads of the pool count the same', async (t) => {
  const pool = new CpuPool({ threads: 1, maxQueuedCost: 1000 })
  t.after(() => pool.close())
  const order = { cost: 100, caller: 'org-1', cancellation: NEVER_ABORTED }
  const { value } = await pool.run('count-tokens', { texts: ['one two three', ''] }, order)
  t.same(value.counts, [3, 0])
})
