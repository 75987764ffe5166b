/** SDKs, unmodified, whose calls cross into the other format: their helpers assemble what the translation streams. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { speaking } from '../support/providers/mock-anthropic.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const INPUT = { city: 'Zürich', days: 3 }
const TOOLS = [
  { name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } },
]

/** Says a text and two calls at once, their arguments in pieces and by turns. */
const theirs = await mockUpstream(
  tap,
  speaking({
    content: [
      { type: 'thinking', thinking: 'Both then.', signature: 'c2ln' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: INPUT },
      { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
    ],
    stop_reason: 'tool_use',
  }),
)

const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
})
const call = (index: number, more: object, text: string): object =>
  chunk({
    tool_calls: [{ index, ...more, function: { ...('id' in more && { name: 'weather' }), arguments: text } }],
  })
const JSON_INPUT = JSON.stringify(INPUT)
const CALLS = [0, 1].map((index) => ({
  id: `call_${index}`,
  type: 'function',
  function: { name: 'weather', arguments: index === 0 ? JSON_INPUT : '{}' },
}))
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

const openAi = await mockUpstream(tap, (peer, { body }) => {
  const message = { role: 'assistant', content: 'Let me see.', reasoning: 'Both then.', tool_calls: CALLS }
  if ((JSON.parse(body) as { stream: boolean }).stream) {
    peer.stream([
      chunk({ role: 'assistant', reasoning: 'Both ' }),
      chunk({ reasoning: 'then.' }),
      chunk({ content: 'Let me ' }),
      chunk({ content: 'see.' }),
      call(0, { id: 'call_0', type: 'function' }, JSON_INPUT.slice(0, 5)),
      call(1, { id: 'call_1', type: 'function' }, '{'),
      call(0, {}, JSON_INPUT.slice(5)),
      call(1, {}, '}'),
      chunk({}, 'tool_calls'),
      { ...chunk({}), choices: [], usage: USAGE },
    ])
  } else {
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
    peer.json({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE })
  }
})

const server = await startGateway({
  config: {
    providers: {
      theirs: { kind: 'anthropic', base_url: theirs.origin },
      other: { kind: 'openai', base_url: `${openAi.origin}/v1` },
    },
    models: {
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
      'acme/other': { endpoints: [{ provider: 'other' }] },
    },
  },
})
tap.after(() => server.stop())

test('@anthropic-ai/sdk over a provider of chat: whole, streamed, and the next step of the loop', async (t) => {
  const client = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })
  const asked = {
    model: 'acme/other',
    max_tokens: 100,
    tools: TOOLS,
    messages: [{ role: 'user' as const, content: 'Weather?' }],
  }
  const whole = await client.messages.create(asked)
  t.match(whole, { stop_reason: 'tool_use', usage: { input_tokens: 10, output_tokens: 5 } })
  t.match(whole.content, [
    { type: 'thinking', thinking: 'Both then.', signature: '' },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use', id: 'call_0', name: 'weather', input: INPUT },
    { type: 'tool_use', id: 'call_1', name: 'weather', input: {} },
  ])
  const streamed = await client.messages.stream(asked).finalMessage()
  t.strictSame(streamed.content, whole.content)
  t.equal(streamed.stop_reason, whole.stop_reason)

  const results = ['call_0', 'call_1'].map((id) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: 'rain',
  }))
  await client.messages.create({
    ...asked,
    messages: [
      ...asked.messages,
      { role: 'assistant', content: whole.content },
      { role: 'user', content: results },
    ],
  })
  t.match((JSON.parse(openAi.requests.at(-1)!.body) as { messages: object[] }).messages, [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content: 'Let me see.', reasoning: 'Both then.', tool_calls: CALLS },
    { role: 'tool', tool_call_id: 'call_0', content: 'rain' },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
  ])
})

test('openai over a provider of messages: whole, streamed, and the next step of the loop', async (t) => {
  const client = new OpenAI({ baseURL: `${server.baseUrl}/api/v1`, apiKey: API_KEY, maxRetries: 0 })
  const tools = TOOLS.map(({ name, input_schema: parameters }) => ({
    type: 'function' as const,
    function: { name, parameters },
  }))
  const asked = { model: 'acme/theirs', tools, messages: [{ role: 'user' as const, content: 'Weather?' }] }
  const whole = await client.chat.completions.create(asked)
  const { message, finish_reason } = whole.choices[0]!
  t.equal(finish_reason, 'tool_calls')
  t.match(message, {
    content: 'Let me see.',
    reasoning: 'Both then.',
    tool_calls: [
      { id: 'toolu_1', function: { name: 'weather', arguments: JSON_INPUT } },
      { id: 'toolu_2', function: { name: 'weather', arguments: '{}' } },
    ],
  })
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
  const calls = streamed.choices[0]!.message.tool_calls!
  t.same(
    calls.map((one) => [one.id, JSON.parse((one as { function: { arguments: string } }).function.arguments)]),
    [
      ['toolu_1', INPUT],
      ['toolu_2', {}],
    ],
  )
  const results = message.tool_calls!.map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: 'rain',
  }))
  await client.chat.completions.create({ ...asked, messages: [...asked.messages, message, ...results] })
  t.match((JSON.parse(theirs.requests.at(-1)!.body) as { messages: object[] }).messages, [
    { role: 'user', content: 'Weather?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Both then.', signature: 'c2ln' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: INPUT },
        { type: 'tool_use', id: 'toolu_2', name: 'weather', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: 'rain' },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: 'rain' },
      ],
    },
  ])
})
