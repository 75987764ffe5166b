import fc from 'fast-check'
import { test } from 'tap'
import { nanosPerMillion } from '../../../src/base/money.js'
import type { Prices } from '../../../src/gateway/catalog/catalog.js'
import { chargeableCost, costOf, pricesInForce } from '../../../src/gateway/pricing/price.js'
import { PRICES, usage } from '../../support/providers/scripted-provider.js'

const perToken = (text: string): number => nanosPerMillion(text)!

/** Prices as a large provider lists them: 3 and 15 dollars a million, cached reads a tenth, writes a quarter more. */
const LISTED: Prices = {
  ...PRICES,
  prompt: perToken('0.000003'),
  completion: perToken('0.000015'),
  inputCacheRead: perToken('0.0000003'),
  inputCacheWrite: perToken('0.00000375'),
}

const CASES = [
  ['plain tokens', usage(1000, 500), LISTED, 3_000_000 + 7_500_000],
  [
    'cached tokens are taken out of the prompt',
    usage(1000, 0, { cached: 400 }),
    LISTED,
    600 * 3000 + 400 * 300,
  ],
  [
    'written tokens are priced once, as writes',
    usage(1000, 0, { cacheWrite: 400 }),
    LISTED,
    600 * 3000 + 400 * 3750,
  ],
  [
    'reads and writes together',
    usage(1000, 100, { cached: 300, cacheWrite: 200 }),
    LISTED,
    500 * 3000 + 300 * 300 + 200 * 3750 + 100 * 15_000,
  ],
  [
    'cached tokens without a price of their own cost what the prompt costs',
    usage(10, 0, { cached: 10 }),
    PRICES,
    10_000,
  ],
  ['reasoning is part of the completion', usage(0, 100, { reasoning: 80 }), LISTED, 100 * 15_000],
  [
    'reasoning with a price of its own',
    usage(0, 100, { reasoning: 80 }),
    { ...LISTED, internalReasoning: perToken('0.00002') },
    20 * 15_000 + 80 * 20_000,
  ],
  [
    'audio on both sides',
    usage(100, 50, { promptAudio: 60, completionAudio: 20 }),
    { ...LISTED, inputAudio: perToken('0.00004'), outputAudio: perToken('0.00008') },
    40 * 3000 + 60 * 40_000 + 30 * 15_000 + 20 * 80_000,
  ],
  ['a price per request comes on top', usage(1, 0), { ...LISTED, request: 5_000_000 }, 5_003_000],
  [
    'fractions of a nano-dollar are rounded once, halves up',
    usage(1, 1),
    { ...PRICES, prompt: 250_000, completion: 250_000 },
    1,
  ],
  ['less than half a nano-dollar is nothing', usage(1, 0), { ...PRICES, prompt: 499_999 }, 0],
  ['no tokens cost nothing', usage(0, 0), LISTED, 0],
] as const

for (const [name, tokens, prices, nanos] of CASES) {
  test(`cost: ${name}`, async (t) => {
    t.equal(costOf(tokens, prices).total, nanos)
  })
}

test('the parts are the prompt and the completion', async (t) => {
  t.same(costOf(usage(1000, 500), LISTED), {
    total: 10_500_000,
    prompt: 3_000_000,
    completion: 7_500_000,
    tools: 0,
  })
})

const count = fc.integer({ min: 0, max: 50_000_000 })
const price = fc.integer({ min: 0, max: 10 ** 15 })
const FAR_PRICE = { ...PRICES, prompt: 10 ** 15, completion: 10 ** 15 }

test('costs are exact for any figures, and what has no exact cost cannot be charged', async (t) => {
  fc.assert(
    fc.property(count, count, price, price, (prompt, completion, perPrompt, perCompletion) => {
      const prices = { ...PRICES, prompt: perPrompt, completion: perCompletion }
      const exact = BigInt(prompt) * BigInt(perPrompt) + BigInt(completion) * BigInt(perCompletion)
      const total = (exact + 500_000n) / 1_000_000n
      if (total > Number.MAX_SAFE_INTEGER) t.equal(chargeableCost(usage(prompt, completion), prices), null)
      else t.equal(BigInt(costOf(usage(prompt, completion), prices).total), total)
    }),
  )
})

const NO_MONEY = [
  ['less than nothing', usage(0, 0, { cached: -5_000 }), { ...PRICES, inputCacheRead: 2 * PRICES.prompt }],
  ['seconds below nothing', { ...usage(0, 0), milliseconds: -5_000 }, { ...PRICES, audioSecond: 10 ** 11 }],
  ['no end', { ...usage(0, 0), milliseconds: Number.POSITIVE_INFINITY }, { ...PRICES, audioSecond: 1 }],
  ['no number', usage(0, 0, { cached: Number.NaN }), PRICES],
  ['more than can be added up', usage(1_000_000_000, 0), FAR_PRICE],
] as const

for (const [name, tokens, prices] of NO_MONEY) {
  test(`no cost is made of ${name}`, async (t) => {
    t.throws(() => costOf(tokens, prices), RangeError)
    t.equal(chargeableCost(tokens, prices), null)
    t.not(chargeableCost(usage(1, 1), prices), null)
  })
}

test('tokens of a kind are never priced twice: kinds that cost the same change nothing', async (t) => {
  const share = fc.integer({ min: 0, max: 1000 })
  fc.assert(
    fc.property(share, share, share, share, price, (plain, cached, cacheWrite, promptAudio, rate) => {
      const prompt = plain + cached + cacheWrite + promptAudio
      const one = costOf(usage(prompt, 0), { ...PRICES, prompt: rate }).total
      t.equal(
        costOf(usage(prompt, 0, { cached, cacheWrite, promptAudio }), { ...PRICES, prompt: rate }).total,
        one,
      )
    }),
  )
})

test('seconds, characters and tokens are added exactly and rounded once', async (t) => {
  const amount = fc.integer({ min: 0, max: 10_000_000 })
  const rate = fc.integer({ min: 0, max: 10 ** 12 })
  fc.assert(
    fc.property(amount, amount, amount, rate, rate, rate, (ms, chars, tokens, second, character, token) => {
      const used = { ...usage(tokens, 0), milliseconds: ms, characters: chars }
      const prices = { ...PRICES, prompt: token, audioSecond: second, inputCharacter: character }
      const thousandths =
        BigInt(ms) * BigInt(second) +
        1000n * (BigInt(chars) * BigInt(character) + BigInt(tokens) * BigInt(token))
      t.equal(BigInt(costOf(used, prices).total), (thousandths + 500_000_000n) / 1_000_000_000n)
    }),
  )
})

test('an answer is charged by the tier that its provider says it was served in', async (t) => {
  const flex = { ...PRICES, prompt: 1 }
  const priority = { ...PRICES, prompt: 3 }
  const prices = { ...PRICES, tiers: { flex, priority } }
  t.equal(pricesInForce(prices, 'flex'), flex)
  t.equal(pricesInForce(prices, 'ultrafast'), priority, 'which falls back to it')
  for (const served of [null, 'default', 'standard', 'batch', 'constructor', '__proto__'])
    t.equal(pricesInForce(prices, served), prices)
  t.equal(pricesInForce(PRICES, 'flex'), PRICES)
})

test('searches and pictures are charged by the piece', async (t) => {
  const prices = { ...LISTED, webSearch: 10_000_000, inputImage: 500, outputImage: 40_000_000, request: 3 }
  const used = usage(1, 1, { details: { webSearches: 3, imagesIn: 2, imagesOut: 1 } })
  t.same(costOf(used, prices), {
    total: 18_000 + 30_000_000 + 1_000 + 40_000_000 + 3,
    prompt: 3_000 + 1_000,
    completion: 15_000 + 40_000_000,
    tools: 30_000_000,
  })
  t.throws(() => costOf(usage(0, 0, { details: { webSearches: -1 } }), prices), RangeError)
})
