/** The strictest public client takes the answers of providers that take their own format lightly. */
import { OpenRouter } from '@openrouter/sdk'
import type { ChatResult, ChatStreamChunk } from '@openrouter/sdk/models'
import { BadGatewayResponseError } from '@openrouter/sdk/models/errors'
import tap, { test } from 'tap'
import { chatBench, MODEL, mockChunk, mockCompletion } from '../support/servers/chat-bench.js'
import { API_KEY, CANARY_PROMPT } from '../support/servers/gateway-server.js'

const { server, upstream } = await chatBench(tap)
const client = new OpenRouter({
  serverURL: server.apiUrl,
  apiKey: API_KEY,
  retryConfig: { strategy: 'none' },
})

function send(stream: boolean): Promise<unknown> {
  const messages = [{ role: 'user' as const, content: CANARY_PROMPT }]
  return client.chat.send({ xOpenRouterMetadata: 'enabled', chatRequest: { model: MODEL, messages, stream } })
}

const says = (message: object, more: object = {}): object =>
  mockCompletion('', { choices: [{ index: 0, message, finish_reason: 'stop', ...more }] })

const NULLS = { prompt_tokens: 1, completion_tokens: 2, total_tokens: null }

/** Each body says `x`. */
const BODIES: readonly (readonly [string, object])[] = [
  ['hardly anything', { choices: [{ message: { content: 'x' } }] }],
  ['null wherever it may', says({ content: 'x', refusal: null, tool_calls: null, audio: null })],
  ['content in parts', says({ content: [{ type: 'text', text: 'x' }] })],
  ['a time with a fraction', mockCompletion('x', { created: 1.5, id: null, model: null })],
  ['no usage', mockCompletion('x', { usage: null })],
  ['usage of nulls', mockCompletion('x', { usage: { ...NULLS, prompt_tokens_details: null } })],
  [
    'usage whose details are odd',
    mockCompletion('x', {
      usage: {
        ...NULLS,
        prompt_tokens_details: { cached_tokens: null },
        completion_tokens_details: {},
        cost: null,
      },
    }),
  ],
  ['usage with fractions', mockCompletion('x', { usage: { prompt_tokens: 1.5, completion_tokens: -1 } })],
  ['no reason to finish', says({ content: 'x' }, { finish_reason: null })],
  ['a reason of its own', says({ content: 'x' }, { finish_reason: 'eos' })],
  ['a position as text', says({ content: 'x' }, { index: '0' })],
  ['reasoning under another name', says({ content: 'x', reasoning_content: 'hm' })],
  ['details of unknown kinds', says({ content: 'x', reasoning_details: [{ type: 'own' }, {}, null, 5] })],
  ['details without their text', says({ content: 'x', reasoning_details: [{ type: 'reasoning.text' }] })],
  ['details without a summary', says({ content: 'x', reasoning_details: [{ type: 'reasoning.summary' }] })],
  ['details without data', says({ content: 'x', reasoning_details: [{ type: 'reasoning.encrypted' }] })],
  [
    'details with odd members',
    says({
      content: 'x',
      reasoning_details: [{ type: 'reasoning.text', text: 5, index: 'a', format: 'own', id: 7 }],
    }),
  ],
  ['log probabilities of nothing', says({ content: 'x' }, { logprobs: {} })],
  [
    'log probabilities without alternatives',
    says({ content: 'x' }, { logprobs: { content: [{ token: 'x', logprob: -1 }] } }),
  ],
  [
    'arguments as an object',
    says({ content: 'x', tool_calls: [{ function: { name: 'f', arguments: {} } }] }),
  ],
  ['a tool call without an id', says({ content: 'x', tool_calls: [{ id: null, function: { name: 'f' } }] })],
  ['images of its own', says({ content: 'x', images: [{ url: 'data:image/png;base64,AA==' }, null] })],
  ['audio in pieces', says({ content: 'x', audio: { id: 5, data: null, expires_at: 1.5 } })],
  ['a tier of its own', mockCompletion('x', { service_tier: 5, system_fingerprint: 5 })],
  ['much that nobody knows', mockCompletion('x', { error: null, timings: { a: 1 }, choices_more: [] })],
]

for (const [what, body] of BODIES) {
  test(`an answer with ${what}`, async (t) => {
    upstream.script = (peer) => peer.json(body)
    const answer = (await send(false)) as ChatResult
    t.equal(answer.choices[0]?.message.content, 'x')
    t.ok(answer.usage !== undefined && answer.usage.totalTokens >= 0)
  })
}

const delta = (delta: unknown, more: object = {}): object => ({
  ...mockChunk({}),
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const END = mockChunk({}, 'stop')

/** Each stream says `x`. */
const STREAMS: readonly (readonly [string, readonly unknown[]])[] = [
  ['hardly anything', [{ choices: [{ delta: { content: 'x' } }] }, { choices: [{ finish_reason: 'stop' }] }]],
  [
    'usage of null in each chunk',
    [
      { ...delta({ content: 'x' }), usage: null },
      { ...END, usage: null },
    ],
  ],
  [
    'usage in each chunk',
    [
      { ...delta({ content: 'x' }), usage: NULLS },
      { ...END, usage: NULLS },
    ],
  ],
  ['a role and content of null', [delta({ role: null, content: null }), delta({ content: 'x' }), END]],
  ['a role of its own', [delta({ role: 'model', content: 'x' }), END]],
  ['content in parts', [delta({ content: [{ type: 'text', text: 'x' }] }), END]],
  ['no delta', [delta({ content: 'x' }), delta(null), delta(undefined), END]],
  ['no choices', [{ ...mockChunk({}), choices: [] }, { id: 'x' }, delta({ content: 'x' }), END]],
  ['an error of null', [{ ...delta({ content: 'x' }), error: null }, END]],
  ['reasoning under another name', [delta({ reasoning_content: 'hm' }), delta({ content: 'x' }), END]],
  [
    'details of unknown kinds',
    [delta({ content: 'x', reasoning_details: [{ type: 'own' }, {}, null] }), END],
  ],
  [
    'details without data',
    [delta({ content: 'x', reasoning_details: [{ type: 'reasoning.encrypted' }] }), END],
  ],
  [
    'tool calls without position',
    [delta({ content: 'x', tool_calls: [{ id: 'a', function: { name: 'f' } }] }), END],
  ],
  [
    'arguments as an object',
    [
      delta({ content: 'x', tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: {} } }] }),
      END,
    ],
  ],
  ['tool calls of null', [delta({ content: 'x', tool_calls: null, refusal: null, audio: null }), END]],
  ['odd log probabilities', [delta({ content: 'x' }, { logprobs: { content: null } }), END]],
  ['audio in pieces', [delta({ content: 'x', audio: { data: null, expires_at: 1.5 } }), END]],
  ['a reason of its own', [delta({ content: 'x' }), mockChunk({}, 'eos')]],
  ['a last chunk without a delta', [delta({ content: 'x' }), delta(undefined, { finish_reason: 'stop' })]],
  ['an identity that changes', [{ ...delta({ content: 'x' }), id: 5, created: 'now', model: null }, END]],
]

for (const [what, events] of STREAMS) {
  test(`a stream with ${what}`, async (t) => {
    upstream.script = (peer) => peer.stream(events)
    const chunks: ChatStreamChunk[] = []
    for await (const chunk of (await send(true)) as AsyncIterable<ChatStreamChunk>) chunks.push(chunk)
    t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'x')
    t.equal(chunks.at(-1)?.error, undefined)
    t.ok((chunks.at(-1)?.usage?.totalTokens ?? -1) >= 0)
  })
}

/** What cannot be an answer at all is a failure of the provider, told in a way that the client understands. */
const NONSENSE: readonly (readonly [string, string])[] = [
  ['no choices', '{"choices":[]}'],
  ['choices that are no list', '{"choices":{}}'],
  ['a message of null', '{"choices":[{"message":null}]}'],
  ['no object', '[]'],
  ['nothing', ''],
  ['no JSON', '<html>'],
]

for (const [what, body] of NONSENSE) {
  test(`an answer of ${what} is a 502 that is accepted as such`, async (t) => {
    upstream.script = (peer) => peer.answer(200, body)
    const error = await send(false).catch((reason: unknown) => reason)
    t.ok(error instanceof BadGatewayResponseError, String(error))
    t.match(error, { statusCode: 502, error: { code: 502 } })
  })
}
