import fc from 'fast-check'
import { test } from 'tap'
import { NO_USAGE, type Usage } from '../../../../src/gateway/formats/canonical.js'
import { parseChatUsage, updateChatUsage } from '../../../../src/gateway/providers/openai/usage.js'

const reads = (figures: unknown, usage: Partial<Usage> | null) => [figures, usage] as const

/** Golden vectors: figures as each kind of server writes them, and the one rule they are converted to. */
const VECTORS = {
  OpenAI: reads(
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 80, audio_tokens: 5 },
      completion_tokens_details: { reasoning_tokens: 30, audio_tokens: 2, accepted_prediction_tokens: 0 },
    },
    { prompt: 100, completion: 50, cached: 80, promptAudio: 5, reasoning: 30, completionAudio: 2 },
  ),
  'the least': reads({ prompt_tokens: 3, completion_tokens: 4 }, { prompt: 3, completion: 4 }),
  'details that are null': reads(
    {
      prompt_tokens: 3,
      completion_tokens: 4,
      prompt_tokens_details: null,
      completion_tokens_details: { reasoning_tokens: null },
    },
    { prompt: 3, completion: 4 },
  ),
  DeepSeek: reads(
    {
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_cache_hit_tokens: 64,
      prompt_cache_miss_tokens: 36,
    },
    { prompt: 100, completion: 7, cached: 64 },
  ),
  'Messages names, cache beside the input': reads(
    { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 90, cache_creation_input_tokens: 20 },
    { prompt: 120, completion: 5, cached: 90, cacheWrite: 20 },
  ),
  'Messages names with a total over input and output': reads(
    { input_tokens: 10, output_tokens: 5, total_tokens: 15, cache_read_input_tokens: 90 },
    { prompt: 100, completion: 5, cached: 90 },
  ),
  'OpenAI names, cache included, told twice': reads(
    {
      prompt_tokens: 120,
      completion_tokens: 5,
      total_tokens: 125,
      prompt_tokens_details: { cached_tokens: 90 },
      cache_read_input_tokens: 90,
      cache_creation_input_tokens: 20,
    },
    { prompt: 120, completion: 5, cached: 90, cacheWrite: 20 },
  ),
  'OpenAI names, cache beside the prompt, as the total shows': reads(
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 125,
      cache_read_input_tokens: 90,
      cache_creation_input_tokens: 20,
    },
    { prompt: 120, completion: 5, cached: 90, cacheWrite: 20 },
  ),
  'OpenAI names, cache larger than the prompt': reads(
    { prompt_tokens: 10, completion_tokens: 5, cache_read_input_tokens: 90 },
    { prompt: 100, completion: 5, cached: 90 },
  ),
  'Responses names': reads(
    {
      input_tokens: 100,
      output_tokens: 50,
      total_tokens: 150,
      input_tokens_details: { cached_tokens: 80 },
      output_tokens_details: { reasoning_tokens: 30 },
    },
    { prompt: 100, completion: 50, cached: 80, reasoning: 30 },
  ),
  'reasoning beside the completion, as the total shows': reads(
    {
      prompt_tokens: 10,
      completion_tokens: 40,
      total_tokens: 80,
      completion_tokens_details: { reasoning_tokens: 30 },
    },
    { prompt: 10, completion: 70, reasoning: 30 },
  ),
  'reasoning larger than the completion': reads(
    { prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 30 } },
    { prompt: 10, completion: 35, reasoning: 30 },
  ),
  'a completion that only the total tells': reads(
    { prompt_tokens: 10, total_tokens: 14 },
    { prompt: 10, completion: 4 },
  ),
  'no completion at all': reads({ prompt_tokens: 10 }, null),
  'no prompt': reads({ completion_tokens: 10 }, null),
  'a negative prompt': reads({ prompt_tokens: -1, completion_tokens: 10 }, null),
  'a fractional completion': reads({ prompt_tokens: 1, completion_tokens: 1.5 }, null),
  'figures as text': reads({ prompt_tokens: '1', completion_tokens: '2' }, null),
  'nonsense in the details': reads(
    {
      prompt_tokens: 5,
      completion_tokens: 6,
      prompt_tokens_details: { cached_tokens: -3 },
      completion_tokens_details: { reasoning_tokens: 0.5 },
    },
    { prompt: 5, completion: 6 },
  ),
  'pictures, film and predictions': reads(
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 40, audio_tokens: 10, image_tokens: 30, video_tokens: 90 },
      completion_tokens_details: {
        reasoning_tokens: 5,
        image_tokens: 20,
        accepted_prediction_tokens: 7,
        rejected_prediction_tokens: 3,
      },
    },
    {
      ...{ prompt: 100, completion: 50, cached: 40, promptAudio: 10, reasoning: 5 },
      details: {
        promptImage: 30,
        promptVideo: 20,
        completionImage: 20,
        acceptedPrediction: 7,
        rejectedPrediction: 3,
      },
    },
  ),
  'sound that was cached is cached': reads(
    {
      prompt_tokens: 100,
      completion_tokens: 0,
      prompt_tokens_details: { cached_tokens: 90, audio_tokens: 30 },
    },
    { prompt: 100, cached: 90, promptAudio: 10 },
  ),
  'a gateway in front': reads(
    {
      prompt_tokens: 100,
      completion_tokens: 5,
      prompt_tokens_details: {
        cache_write_tokens: 60,
        cache_creation_token_details: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 40 },
      },
      server_tool_use_details: { tool_calls_requested: 3, tool_calls_executed: 2, web_search_requests: 1 },
    },
    {
      ...{ prompt: 100, completion: 5, cacheWrite: 60 },
      details: { cacheWrite1h: 40, webSearches: 1, toolCallsRequested: 3, toolCallsExecuted: 2 },
    },
  ),
  'searches under another name': reads(
    { prompt_tokens: 1, completion_tokens: 1, num_search_queries: 4 },
    { prompt: 1, completion: 1, details: { webSearches: 4 } },
  ),
  'details of nothing': reads(
    {
      prompt_tokens: 1,
      completion_tokens: 1,
      completion_tokens_details: { accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
      server_tool_use_details: null,
    },
    { prompt: 1, completion: 1 },
  ),
  'more searches than can be': reads(
    { prompt_tokens: 1, completion_tokens: 1, num_search_queries: 1e9 },
    null,
  ),
  null: reads(null, null),
}

for (const [name, [figures, usage]] of Object.entries(VECTORS)) {
  test(`figures: ${name}`, async (t) => {
    t.strictSame(parseChatUsage({ usage: figures }), usage === null ? null : { ...NO_USAGE, ...usage })
  })
}

const FALSE = [-1, 0.5, 1_000_000_001, 2 ** 53 - 1, 1e300, Number.POSITIVE_INFINITY]

for (const figure of FALSE) {
  test(`a sum of ${figure} tokens is believed in no place, and what was told with it neither`, async (t) => {
    for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cache_read_input_tokens']) {
      t.equal(
        parseChatUsage({ usage: { prompt_tokens: 3, completion_tokens: 4, [name]: figure } }),
        null,
        name,
      )
    }
    const before = parseChatUsage({ usage: { prompt_tokens: 3, completion_tokens: 1 } })
    t.equal(updateChatUsage(before, { usage: { prompt_tokens: 3, completion_tokens: figure } }), null)
  })
}

test('a chunk that tells nothing leaves the figures as they were', async (t) => {
  const before = parseChatUsage({ usage: { prompt_tokens: 3, completion_tokens: 1 } })
  for (const usage of [null, undefined, {}, { prompt_tokens: null }]) {
    t.strictSame(updateChatUsage(before, { usage }), before)
  }
})

test('Groq tells its figures elsewhere', async (t) => {
  t.match(parseChatUsage({ x_groq: { id: 'x', usage: { prompt_tokens: 1, completion_tokens: 2 } } }), {
    prompt: 1,
    completion: 2,
  })
})

test('whatever is sent, the parts never exceed their whole', async (t) => {
  const count = fc.option(fc.oneof(fc.nat(1000), fc.integer(), fc.double(), fc.constant('7')), {
    nil: undefined,
  })
  const figures = fc.record({
    prompt_tokens: count,
    input_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    prompt_cache_hit_tokens: count,
    prompt_tokens_details: fc.option(fc.record({ cached_tokens: count, audio_tokens: count })),
    completion_tokens_details: fc.option(fc.record({ reasoning_tokens: count, audio_tokens: count })),
  })
  fc.assert(
    fc.property(figures, (usage) => {
      const read = parseChatUsage({ usage })
      if (read === null) return true
      const whole = Object.values(read).every((n) => Number.isInteger(n) && n >= 0)
      return whole && read.cached + read.cacheWrite <= read.prompt && read.reasoning <= read.completion
    }),
  )
  t.pass()
})
