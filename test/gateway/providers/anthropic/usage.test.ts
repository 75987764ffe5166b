import { test } from 'tap'
import { costOf } from '../../../../src/gateway/pricing/price.js'
import {
  mergeFigures,
  parseMessagesUsage,
  plausibleFigures,
} from '../../../../src/gateway/providers/anthropic/usage.js'
import { parseChatUsage as openAiUsage } from '../../../../src/gateway/providers/openai/usage.js'
import { PRICES, usage } from '../../../support/providers/scripted-provider.js'

const PRICED = {
  ...PRICES,
  prompt: 1_000_000,
  completion: 5_000_000,
  inputCacheRead: 100_000,
  inputCacheWrite: 1_250_000,
}

const reads = (wire: object, ours: ReturnType<typeof usage> | null, nanos: number) =>
  [wire, ours, nanos] as const

/** Wire figures, ours, and the price in nano-dollars at 1, 5, 0.1 and 1.25 dollars per thousand tokens. */
const VECTORS = {
  'nothing cached': reads({ input_tokens: 1000, output_tokens: 100 }, usage(1000, 100), 1500),
  'the cache stands beside the input': reads(
    { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 800, cache_creation_input_tokens: 100 },
    usage(1000, 10, { cached: 800, cacheWrite: 100 }),
    100 + 80 + 125 + 50,
  ),
  'a cache larger than the input': reads(
    { input_tokens: 3, output_tokens: 1, cache_read_input_tokens: 9000 },
    usage(9003, 1, { cached: 9000 }),
    3 + 900 + 5,
  ),
  'written tokens told by their lifetime only': reads(
    {
      input_tokens: 10,
      output_tokens: 2,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 60 },
    },
    usage(170, 2, { cacheWrite: 160, details: { cacheWrite1h: 60 } }),
    10 + 200 + 10,
  ),
  'written tokens told twice count once': reads(
    {
      input_tokens: 10,
      output_tokens: 2,
      cache_creation_input_tokens: 160,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 60 },
    },
    usage(170, 2, { cacheWrite: 160, details: { cacheWrite1h: 60 } }),
    10 + 200 + 10,
  ),
  'nulls where nothing happened': reads(
    {
      input_tokens: 5,
      output_tokens: 6,
      cache_read_input_tokens: null,
      cache_creation_input_tokens: null,
      cache_creation: null,
    },
    usage(5, 6),
    35,
  ),
  'thinking is a part of the output': reads(
    { input_tokens: 1, output_tokens: 50, output_tokens_details: { thinking_tokens: 40 } },
    usage(1, 50, { reasoning: 40 }),
    251,
  ),
  'a compaction is billed beside the totals': reads(
    {
      input_tokens: 10,
      output_tokens: 10,
      iterations: [
        { type: 'compaction', input_tokens: 1000, output_tokens: 100 },
        { type: 'message', input_tokens: 10, output_tokens: 10 },
      ],
    },
    usage(1010, 110),
    1010 + 550,
  ),
  'no figures at all': reads({ service_tier: 'standard' }, null, 0),
  'figures that are none': reads({ input_tokens: -1, output_tokens: 'many' }, null, 0),
}

for (const [name, [wire, ours, nanos]] of Object.entries(VECTORS)) {
  test(`figures: ${name}`, async (t) => {
    const read = parseMessagesUsage(wire as never)
    t.strictSame(read, ours)
    if (read !== null) t.equal(costOf(read, PRICED).total, nanos)
  })
}

test('both providers read the figures of a messages server alike', async (t) => {
  for (const [wire, ours] of Object.values(VECTORS)) {
    if (ours === null || 'iterations' in wire || 'cache_creation' in wire || ours.reasoning > 0) continue
    t.strictSame(openAiUsage({ usage: wire }), ours)
  }
})

test('totals of a stream replace what its begin said, and are never added to it', async (t) => {
  const begun = {
    input_tokens: 100,
    output_tokens: 1,
    cache_read_input_tokens: 800,
    cache_creation_input_tokens: 100,
    service_tier: 'standard',
  }
  const ended = mergeFigures(begun, {
    input_tokens: null,
    output_tokens: 10,
    cache_read_input_tokens: 800,
    cache_creation_input_tokens: 100,
  })
  t.strictSame(parseMessagesUsage(ended), usage(1000, 10, { cached: 800, cacheWrite: 100 }))
  t.equal(ended.service_tier, 'standard')
  t.strictSame(
    parseMessagesUsage(mergeFigures(begun, { output_tokens: 7 })),
    usage(1000, 7, { cached: 800, cacheWrite: 100 }),
  )
})

for (const figure of [-1, 0.5, 1_000_000_001, 2 ** 53 - 1, 1e300, Number.POSITIVE_INFINITY]) {
  test(`${figure} tokens are believed in no place, and callers are not told them`, async (t) => {
    const places = [
      { input_tokens: figure },
      { output_tokens: figure },
      { cache_read_input_tokens: figure },
      { cache_creation: { ephemeral_1h_input_tokens: figure } },
      { iterations: [{ type: 'compaction', input_tokens: figure, output_tokens: 1 }] },
    ]
    for (const place of places) {
      const told = { input_tokens: 3, output_tokens: 4, service_tier: 'standard', ...place }
      t.equal(parseMessagesUsage(told), null, JSON.stringify(place))
      t.strictSame(plausibleFigures(told), { service_tier: 'standard', inference_geo: undefined })
    }
  })
}

test('figures that can be true go on as they came', async (t) => {
  const told = { input_tokens: 3, output_tokens: 4, server_tool_use: { web_search_requests: 1 }, new: 1.5 }
  t.equal(plausibleFigures(told), told)
  t.equal(plausibleFigures(null), null)
})
