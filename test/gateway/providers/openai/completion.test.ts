import { test } from 'tap'
import type { AssistantMessage, FinishReason } from '../../../../src/gateway/formats/canonical.js'
import {
  answer,
  completion,
  GENERATION,
  openAiBench,
  streamed,
} from '../../../support/clients/openai-calls.js'

const reads = (sent: unknown, read: Partial<AssistantMessage>) => [sent, read] as const
const same = (message: Partial<AssistantMessage>) => reads(message, message)
const MADE = `call_${GENERATION.slice(4)}`

const MESSAGES = {
  'a text': reads({ role: 'assistant', content: 'hi', refusal: null }, { content: 'hi' }),
  'an empty text': reads({ content: '' }, { content: '' }),
  'no content': reads({ content: null, refusal: 'no' }, { content: null, refusal: 'no' }),
  'a content of parts': reads(
    { content: [{ type: 'text', text: 'a' }, { type: 'x' }, { type: 'text', text: 'b' }] },
    { content: 'ab' },
  ),
  'thinking among the parts': reads(
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'b' },
      ],
    },
    { content: 'b', reasoning: 'hm' },
  ),
  reasoning: same({ content: 'a', reasoning: 'r' }),
  'reasoning in the other spelling': reads(
    { content: 'a', reasoning_content: 'r' },
    { content: 'a', reasoning: 'r' },
  ),
  'reasoning details, those that are some': reads(
    { content: 'a', reasoning_details: [{ type: 'reasoning.text', text: 't' }, null, { text: 1 }] },
    { content: 'a', reasoning_details: [{ type: 'reasoning.text', text: 't' }] },
  ),
  'members that are null are absent': reads(
    {
      content: 'a',
      tool_calls: null,
      audio: null,
      images: null,
      annotations: null,
      reasoning: null,
      reasoning_details: null,
    },
    { content: 'a' },
  ),
  'a tool call': same({
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
  }),
  'tool calls in need of repair': reads(
    {
      content: '',
      tool_calls: [
        { function: { name: 'f', arguments: { a: 1 } } },
        { id: '', type: null, function: { name: 'g' } },
        { id: 'x' },
      ],
    },
    {
      content: null,
      tool_calls: [
        { id: `${MADE}_0`, type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
        { id: `${MADE}_1`, type: 'function', function: { name: 'g', arguments: '' } },
      ],
    },
  ),
  'the old single call': reads(
    { content: null, function_call: { name: 'f', arguments: '{}' } },
    {
      content: null,
      tool_calls: [{ id: `${MADE}_0`, type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
  ),
  'images, audio and annotations': same({
    content: 'a',
    images: [{ image_url: { url: 'u' } }],
    audio: { id: 'i' },
    annotations: [{ type: 'file' }],
  }),
}

for (const [name, [sent, read]] of Object.entries(MESSAGES)) {
  test(`a message with ${name}`, async (t) => {
    const { provider } = await openAiBench(t, (peer) => peer.json(answer(sent)))
    const { choices } = await completion(provider)
    t.strictSame(choices, [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...read },
        finishReason: 'stop',
        native: 'stop',
        logprobs: null,
      },
    ])
  })
}

const REASONS: readonly (readonly [native: unknown, reason: FinishReason])[] = [
  ['stop', 'stop'],
  ['end_turn', 'stop'],
  ['eos', 'stop'],
  ['STOP', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['SAFETY', 'content_filter'],
  ['error', 'error'],
  ['something_new', 'stop'],
  [null, 'stop'],
  ['', 'stop'],
  [7, 'stop'],
]

test('reasons to stop', async (t) => {
  let native: unknown
  const { provider } = await openAiBench(t, (peer) =>
    peer.json({ choices: [{ message: { content: 'x' }, finish_reason: native }] }),
  )
  for (const [word, reason] of REASONS) {
    native = word
    const [choice] = (await completion(provider)).choices
    t.equal(choice!.finishReason, reason, `${word}`)
    t.equal(choice!.native, typeof word === 'string' && word !== '' ? word : null)
  }
})

test('log probabilities have every member', async (t) => {
  const logprobs = {
    content: [
      {
        token: 'a',
        logprob: -0.5,
        bytes: [97],
        top_logprobs: [{ token: 'b', logprob: -1 }, { nonsense: 1 }],
      },
      { token: 'c', logprob: -1, bytes: 'x' },
      { token: 1 },
    ],
  }
  const { provider } = await openAiBench(t, (peer) =>
    peer.json({ choices: [{ message: { content: 'x' }, logprobs }] }),
  )
  t.strictSame((await completion(provider)).choices[0]!.logprobs, {
    content: [
      { token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [{ token: 'b', logprob: -1, bytes: null }] },
      { token: 'c', logprob: -1, bytes: null, top_logprobs: [] },
    ],
    refusal: null,
  })
})

test('figures and tier', async (t) => {
  const extra = { usage: { prompt_tokens: 1, completion_tokens: 2 }, service_tier: 'flex' }
  const { mock, provider } = await openAiBench(t, (peer) => peer.json(answer({ content: 'x' }, extra)))
  t.match(await completion(provider), { usage: { prompt: 1, completion: 2 }, serviceTier: 'flex' })
  mock.script = (peer) => peer.json(answer({ content: 'x' }))
  t.match(await completion(provider), { usage: null, serviceTier: null })
})

test('several choices keep their numbers, or get the one of their place', async (t) => {
  const choices = [{ message: { content: 'a' } }, { index: 2, message: { content: 'c' } }, null]
  const { provider } = await openAiBench(t, (peer) => peer.json({ choices }))
  const read = (await completion(provider)).choices
  t.same(
    read.map(({ index, message }) => `${index}${message.content}`),
    ['0a', '2c'],
  )
})

test('an answer cut into single bytes is read whole', async (t) => {
  const bytes = Buffer.from(JSON.stringify(answer({ content: 'é€😀' })))
  const { provider } = await openAiBench(t, (peer) => {
    peer.head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    for (const byte of bytes) peer.chunk(Uint8Array.of(byte))
    peer.endChunks()
  })
  t.equal((await completion(provider)).choices[0]!.message.content, 'é€😀')
})

test('calls keep their connection', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => peer.json(answer({ content: 'x' })))
  for (let i = 0; i < 4; i++) await completion(provider)
  t.equal(mock.peers.length, 1)
})

test('a document for a stream becomes its events', async (t) => {
  const message = {
    content: 'hi',
    reasoning: 'r',
    tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
  }
  const extra = { usage: { prompt_tokens: 1, completion_tokens: 2 }, service_tier: 'flex' }
  const { provider } = await openAiBench(t, (peer) => peer.json(answer(message, extra)))
  const one = streamed(provider)
  t.equal(await one.end.opened, 'ended')
  t.strictSame(one.events.slice(0, 3), [
    {
      type: 'delta',
      choice: 0,
      delta: {
        content: 'hi',
        reasoning: 'r',
        tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    },
    { type: 'finish', choice: 0, reason: 'stop', native: 'stop' },
    { type: 'tier', serviceTier: 'flex' },
  ])
  t.same(one.told, ['delta', 'finish', 'tier', 'usage', 'ended'])
})
