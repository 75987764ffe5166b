import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { ChunkEncoder, encodeCompletion } from '../../../src/features/chat/encode.js'
import { ChatCompletion, ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import type { ChatRequest, Completion } from '../../../src/gateway/formats/canonical.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import { serviceMetadata } from '../../../src/gateway/run/metadata.js'
import { completion, text, usage } from '../../support/providers/scripted-provider.js'
import { GENERATION_ID, servedGeneration } from '../served-generation.js'

const served = (more: Partial<ChatRequest> = {}): Generation =>
  servedGeneration<ChatRequest>(
    { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }], ...more },
    usage(3, 4, { cached: 1, reasoning: 2 }),
  )

/** Events of a stream's text; the terminator as it is. */
function events(stream: string): (Record<string, unknown> | '[DONE]')[] {
  checkFrames(stream)
  return stream
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const data = frame.slice('data: '.length)
      return data === '[DONE]' ? data : JSON.parse(data)
    })
}

function checkFrames(stream: string): void {
  for (const frame of stream.split('\n\n').slice(0, -1)) {
    if (!frame.startsWith('data: ') || frame.includes('\n')) throw new Error(`no one-line event: ${frame}`)
  }
  if (stream !== '' && !stream.endsWith('\n\n')) throw new Error('the last event has no blank line')
}

test('a whole answer has every member the strictest client wants', async (t) => {
  const body = JSON.parse(encodeCompletion(served(), completion('hello'), null))
  t.ok(ChatCompletion.safeParse(body).success)
  t.equal(body.created, 1_700_000_000, 'whole seconds')
  t.equal(body.system_fingerprint, null)
  t.same(body.usage, {
    prompt_tokens: 3,
    completion_tokens: 4,
    total_tokens: 7,
    prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 0 },
    cost: 0.000_011,
    cost_details: {
      upstream_inference_cost: 0.000_011,
      upstream_inference_prompt_cost: 0.000_003,
      upstream_inference_completions_cost: 0.000_008,
    },
    is_byok: false,
  })
  t.notOk('tool_calls' in body.choices[0].message, 'what is not there is left out, not null')
  t.notOk('service_metadata' in body)
})

test('what few answers tell is told where there is something of it', async (t) => {
  const details = {
    ...{ cacheWrite1h: 2, promptImage: 1, promptVideo: 3, completionImage: 4 },
    ...{ acceptedPrediction: 5, rejectedPrediction: 6, webSearches: 7, toolCallsExecuted: 8 },
  }
  const figures = usage(30, 40, { cacheWrite: 5, details })
  const generation = servedGeneration({ model: 'acme/one', messages: [] }, figures)
  generation.consumption = {
    ...generation.consumption!,
    cost: { total: 9, prompt: 1, completion: 2, tools: 6 },
  }
  const body = JSON.parse(encodeCompletion(generation, completion('hello'), null))
  t.ok(ChatCompletion.safeParse(body).success)
  t.match(body.usage, {
    prompt_tokens_details: {
      image_tokens: 1,
      video_tokens: 3,
      cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
    },
    completion_tokens_details: {
      image_tokens: 4,
      accepted_prediction_tokens: 5,
      rejected_prediction_tokens: 6,
    },
    server_tool_use_details: { web_search_requests: 7, tool_calls_executed: 8 },
    cost_details: { server_tool_cost: 6e-9 },
  })
  const chunks = new ChunkEncoder(generation).end(null)
  t.match(chunks, '"server_tool_use_details":{"tool_calls_executed":8,"web_search_requests":7}')
})

test('routing metadata stands in the answer of who asked for it', async (t) => {
  const generation = served()
  const body = JSON.parse(
    encodeCompletion(generation, completion('x'), serviceMetadata(generation, performance.now())),
  )
  t.ok(ChatCompletion.safeParse(body).success)
  t.match(body.service_metadata, {
    requested: 'acme/one',
    strategy: 'direct',
    region: null,
    attempt: 1,
    endpoints: { total: 1, available: [{ provider: 'ONE', model: 'acme/one', selected: true }] },
  })
})

const THINKING: Completion = {
  ...completion('seen'),
  choices: [
    {
      ...completion('seen').choices[0]!,
      message: {
        role: 'assistant',
        content: 'seen',
        refusal: null,
        reasoning: 'unseen',
        reasoning_details: [{ type: 'reasoning.text', text: 'unseen' }],
      },
    },
  ],
}

for (const [how, more] of [
  ['reasoning.exclude', { reasoning: { exclude: true } }],
  ['include_reasoning: false', { include_reasoning: false }],
] as const) {
  test(`${how} hides the thinking, whole and streamed`, async (t) => {
    const generation = served(more)
    t.notMatch(encodeCompletion(generation, THINKING, null), /unseen/)
    const encoder = new ChunkEncoder(generation)
    encoder.event(text('first'))
    const thought = { reasoning: 'unseen', reasoning_details: [{ type: 'reasoning.text', text: 'unseen' }] }
    t.equal(encoder.event({ type: 'delta', choice: 0, delta: thought }), '', 'and makes no empty chunk')
  })
}

test('a stream says its role first, then text, then why it ended, then what it cost, then [DONE]', async (t) => {
  const generation = served()
  generation.serviceTier = 'default'
  const encoder = new ChunkEncoder(generation)
  const stream = [
    encoder.event(text('he"llo\n')),
    encoder.event(text(' there')),
    encoder.event({ type: 'finish', choice: 0, reason: 'stop', native: 'eos' }),
    encoder.end(serviceMetadata(generation, performance.now())),
  ].join('')
  const all = events(stream)
  t.equal(all.at(-1), '[DONE]')
  const chunks = all.slice(0, -1)
  for (const chunk of chunks) t.ok(ChatCompletionChunk.safeParse(chunk).success, JSON.stringify(chunk))
  t.same(
    chunks.map((chunk) => (chunk as { choices: { delta: unknown }[] }).choices.map(({ delta }) => delta)),
    [[{ role: 'assistant', content: '' }], [{ content: 'he"llo\n' }], [{ content: ' there' }], [{}], []],
  )
  t.match(chunks[3], { choices: [{ finish_reason: 'stop', native_finish_reason: 'eos' }] })
  t.match(chunks[4], {
    usage: { total_tokens: 7 },
    service_tier: 'default',
    service_metadata: { attempt: 1 },
  })
  for (const chunk of chunks.slice(0, 4))
    t.notOk('usage' in (chunk as object), 'usage is never null: it is left out')
})

test('each choice says its role once', async (t) => {
  const encoder = new ChunkEncoder(served())
  const stream = [text('a', 0), text('b', 1), text('c', 0), text('d', 1)]
    .map((event) => encoder.event(event))
    .join('')
  const roles = events(stream).filter((chunk) => JSON.stringify(chunk).includes('"role"'))
  t.equal(roles.length, 2)
})

test('tool calls, reasoning and log probabilities pass as they are', async (t) => {
  const encoder = new ChunkEncoder(served())
  encoder.event(text('first'))
  const call = {
    tool_calls: [{ index: 0, id: 'c', type: 'function' as const, function: { name: 'f', arguments: '' } }],
  }
  t.match(events(encoder.event({ type: 'delta', choice: 0, delta: call })), [{ choices: [{ delta: call }] }])
  const logprobs = { content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }], refusal: null }
  const [chunk] = events(encoder.event({ ...text('a'), logprobs }))
  t.match(chunk, { choices: [{ delta: { content: 'a' }, logprobs }] })
  t.ok(ChatCompletionChunk.safeParse(chunk).success)
})

test('a failure in the stream is a chunk with an error, and then the terminator', async (t) => {
  const encoder = new ChunkEncoder(served())
  encoder.event(text('half'))
  const fault = new Fault('provider-timeout', { metadata: { error_type: 'timeout', provider_name: 'ONE' } })
  const [chunk, done] = events(encoder.failure(fault, null))
  t.ok(ChatCompletionChunk.safeParse(chunk).success)
  t.match(chunk, {
    id: GENERATION_ID,
    choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
    error: { code: 524, metadata: { error_type: 'timeout' } },
  })
  t.equal(done, '[DONE]')
})

test('a defect of ours tells nothing about itself in the stream', async (t) => {
  const encoder = new ChunkEncoder(served())
  const fault = new Fault('internal', {
    note: 'secret',
    metadata: { error_type: 'server', provider_code: 'x' },
  })
  const [chunk] = events(encoder.failure(fault, null))
  t.same((chunk as { error: unknown }).error, { code: 500, message: 'Internal Server Error' })
})

test('the debug echo is a chunk without choices', async (t) => {
  const [chunk] = events(new ChunkEncoder(served()).echo({ model: 'x' }))
  t.ok(ChatCompletionChunk.safeParse(chunk).success)
  t.match(chunk, { choices: [], debug: { echo_upstream_body: { model: 'x' } } })
})
