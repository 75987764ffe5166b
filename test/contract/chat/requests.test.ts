/** What a provider is really sent for each member of a request (contract/gateway 2, contract/decisions 10). */
import tap, { test } from 'tap'
import { ChatCompletion, ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import { chatBench, mockChunk, mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { API_KEY, CANARY_PROMPT, type Json } from '../../support/servers/gateway-server.js'

const { ask, upstream } = await chatBench(tap)
const MESSAGES = [{ role: 'user', content: CANARY_PROMPT }]

/** Asks with these members; what the provider was sent. */
async function sent(more: object): Promise<Json> {
  const stream = (more as { stream?: boolean }).stream === true
  upstream.script = (peer) => (stream ? peer.stream(mockStream('x')) : peer.json(mockCompletion('x')))
  const seen = upstream.requests.length
  const asked = await ask({ messages: MESSAGES, ...more })
  if (asked.status !== 200) throw new Error(`${asked.status}: ${asked.text}`)
  if (upstream.requests.length !== seen + 1) throw new Error('the provider was not asked once')
  return JSON.parse(upstream.requests.at(-1)!.body)
}

const ALWAYS = ['messages', 'model', 'stream', 'user']

test('the least request: their model, our end user, and nothing else', async (t) => {
  const body = await sent({})
  t.same(Object.keys(body).sort(), ALWAYS)
  t.match(body, { model: 'mock-1', messages: MESSAGES, stream: false, user: /^user-[0-9a-f]{40}$/ })
  const { method, path, headers } = upstream.requests.at(-1)!
  t.match({ method, path }, { method: 'POST', path: '/v1/chat/completions' })
  t.same(Object.keys(headers).sort(), [
    'accept',
    'accept-encoding',
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
  ])
})

test('a stream is always asked for its figures', async (t) => {
  for (const options of [{}, { stream_options: { include_usage: false } }, { stream_options: null }]) {
    const body = await sent({ stream: true, ...options })
    t.same(Object.keys(body).sort(), [...ALWAYS, 'stream_options'].sort())
    t.match(body, { stream: true, stream_options: { include_usage: true } })
    t.equal(upstream.requests.at(-1)!.headers.accept, 'text/event-stream')
  }
})

const TOOLS = [
  {
    type: 'function',
    function: { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true },
    cache_control: { type: 'ephemeral', ttl: '1h' },
  },
]
const SCHEMA = { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } }

/** Members and what becomes of them: one value goes as it came, with a second it becomes that. */
const MEMBERS: readonly (readonly [string, object, object?])[] = [
  ...[
    { temperature: 0 },
    { top_p: 0.5 },
    { top_k: 3 },
    { top_a: 0.1 },
    { min_p: 0.2 },
    { frequency_penalty: -2 },
    { presence_penalty: 2 },
    { repetition_penalty: 1.5 },
    { logit_bias: { 50256: -100 } },
    { logprobs: true },
    { logprobs: true, top_logprobs: 20 },
    { seed: -7 },
    { stop: 'a' },
    { stop: ['a', 'b', 'c', 'd'] },
    { max_tokens: 5 },
    { max_completion_tokens: 6 },
    { modalities: ['text'] },
    { image_config: { size: '1K' } },
    { prediction: { type: 'content', content: 'x' } },
    { response_format: { type: 'json_object' } },
    { response_format: SCHEMA },
    { tools: TOOLS },
    { tools: TOOLS, tool_choice: 'required', parallel_tool_calls: false },
    { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'f' } } },
    { service_tier: 'flex' },
    { cache_control: { type: 'ephemeral' } },
    { prompt_cache_options: { mode: 'explicit' } },
    { verbosity: 'low' },
    { include_reasoning: true },
    { reasoning_effort: 'low' },
    { reasoning: { max_tokens: 100 } },
  ].map((members) => [JSON.stringify(members), members] as const),
  ['of two limits the newer', { max_tokens: 5, max_completion_tokens: 6 }, { max_completion_tokens: 6 }],
  [
    'a schema beside json_object, as one of json_schema',
    { response_format: { type: 'json_object', schema: { type: 'object' } } },
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema: { type: 'object' } },
      },
    },
  ],
  ['an effort, by its common name', { reasoning: { effort: 'high' } }, { reasoning_effort: 'high' }],
  [
    'an effort with more',
    { reasoning: { effort: 'high', summary: 'auto' } },
    { reasoning: { effort: 'high', summary: 'auto' }, reasoning_effort: 'high' },
  ],
  ['an empty list of tools', { tools: [], tool_choice: 'auto', parallel_tool_calls: true }, {}],
  ['a choice among nothing', { tool_choice: 'none' }, {}],
  [
    'what is harmless and not carried out',
    { n: 1, transforms: [], functions: [], function_call: 'auto' },
    {},
  ],
  ['what is for us', { provider: { only: ['mock'] }, route: 'fallback', debug: {} }, {}],
  ['a flag for the choice of endpoints', { structured_outputs: true }, {}],
  ['a plugin that is off', { plugins: [{ id: 'web', enabled: false }] }, {}],
  ['identifiers', { session_id: 's', metadata: { a: 'b' }, trace: { trace_id: 'c' }, user: 'd' }, {}],
  ['what nobody knows', { nonsense: 1, stream: false }, {}],
]

for (const [what, members, becomes = members] of MEMBERS) {
  test(`goes as the contract says: ${what}`, async (t) => {
    const { model: _, messages: __, stream: ___, user, ...rest } = await sent(members)
    t.strictSame(rest, becomes)
    t.match(user, /^user-/)
  })
}

const NULLABLE = [
  ...['max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k', 'top_a', 'min_p'],
  ...['frequency_penalty', 'presence_penalty', 'repetition_penalty', 'logit_bias', 'logprobs'],
  ...['top_logprobs', 'seed', 'stop', 'stream_options', 'prediction', 'structured_outputs', 'verbosity'],
  ...['reasoning', 'reasoning_effort', 'include_reasoning', 'parallel_tool_calls', 'provider', 'route'],
  ...['service_tier', 'prompt_cache_options', 'prompt_cache_key', 'web_search_options', 'stream', 'metadata'],
]

test('members that are null are not sent', async (t) => {
  const body = await sent(Object.fromEntries(NULLABLE.map((name) => [name, null])))
  t.same(Object.keys(body).sort(), ALWAYS)
})

const STRAY = { stray: 'canary-stray' }
const DETAILS = [
  { type: 'reasoning.text', text: 'hm', signature: 'c2ln', index: 0, format: 'anthropic-claude-v1', own: 1 },
  { type: 'reasoning.encrypted', data: 'ZW5j', id: null, index: 1 },
  { type: 'reasoning.summary', summary: 's' },
]
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }
const TEXT = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }
const IMAGE = { type: 'image_url', image_url: { url: 'https://example.org/a.png', detail: 'low' } }

/** A message, and what becomes of it where that is not the same. */
const SAID: readonly (readonly [string, object, object?])[] = [
  ['a system message', { role: 'system', content: 'x', name: 'n' }],
  ['a developer’s parts', { role: 'developer', content: [TEXT] }],
  ['an image', { role: 'user', content: [TEXT, IMAGE] }],
  ['an answer with tool calls', { role: 'assistant', content: null, tool_calls: [CALL] }],
  ['reasoning', { role: 'assistant', content: 'x', reasoning: 'hm', reasoning_details: DETAILS }],
  [
    'tool calls without content',
    { role: 'assistant', tool_calls: [CALL] },
    { role: 'assistant', tool_calls: [CALL], content: null },
  ],
  [
    'the nulls and extras of an echoed answer',
    { role: 'assistant', content: 'x', refusal: null, tool_calls: null, audio: null, model: 'm', ...STRAY },
    { role: 'assistant', content: 'x' },
  ],
  [
    'members of no message, in a part and beside it',
    { role: 'user', content: [{ ...TEXT, ...STRAY }], tool_call_id: 'x', ...STRAY },
    { role: 'user', content: [TEXT] },
  ],
]

for (const [what, message, becomes = message] of SAID) {
  test(`messages go with what belongs to them: ${what}`, async (t) => {
    const { messages } = await sent({ messages: [message, ...MESSAGES] })
    t.strictSame(messages, [becomes, ...MESSAGES])
  })
}

test('a later change of effort counts, and goes as the common member', async (t) => {
  const update = { role: 'developer', content: 'x', configuration_update: { reasoning: { effort: 'low' } } }
  const body = await sent({ messages: [...MESSAGES, update], reasoning_effort: 'high' })
  t.equal(body.reasoning_effort, 'low')
  t.strictSame(body.messages[1], { role: 'developer', content: 'x' })
})

test('a tool loop gives back what the answer said, to the byte', async (t) => {
  const answer = { role: 'assistant', content: null, reasoning_details: DETAILS, tool_calls: [CALL] }
  upstream.script = (peer) =>
    peer.json(mockCompletion('', { choices: [{ index: 0, message: answer, finish_reason: 'tool_calls' }] }))
  const { message } = (await ask({ tools: TOOLS })).json().choices[0]
  t.strictSame(message.reasoning_details, DETAILS)
  t.strictSame(message.tool_calls, [CALL])
  const result = { role: 'tool', tool_call_id: CALL.id, content: '1' }
  const { messages } = await sent({ tools: TOOLS, messages: [...MESSAGES, message, result] })
  t.strictSame(messages[1].reasoning_details, DETAILS)
  t.strictSame(messages[1].tool_calls, [CALL])
  t.strictSame(messages[2], result)
})

test('several choices of a provider all arrive, whole and streamed', async (t) => {
  const choice = (index: number): object => ({
    index,
    message: { role: 'assistant', content: `choice ${index}` },
    finish_reason: 'stop',
  })
  upstream.script = (peer) => peer.json(mockCompletion('', { choices: [choice(0), choice(1)] }))
  const whole = (await ask()).json()
  t.ok(ChatCompletion.safeParse(whole).success)
  t.match(whole.choices, [
    { index: 0, message: { content: 'choice 0' } },
    { index: 1, message: { content: 'choice 1' } },
  ])
  const chunk = (index: number, delta: object, finish: string | null = null): object => ({
    ...mockChunk({}),
    choices: [{ index, delta, finish_reason: finish }],
  })
  upstream.script = (peer) =>
    peer.stream([
      chunk(0, { content: 'a' }),
      chunk(1, { content: 'b' }),
      chunk(1, {}, 'length'),
      chunk(0, {}, 'stop'),
    ])
  const events = (await ask({ stream: true })).events().slice(0, -1)
  for (const event of events) t.ok(ChatCompletionChunk.safeParse(event).success)
  const of = (index: number): Json[] =>
    events.flatMap(({ choices }) => choices).filter((one: Json) => one.index === index)
  const textOf = (index: number): string =>
    of(index)
      .map(({ delta }) => delta.content ?? '')
      .join('')
  t.same([textOf(0), textOf(1)], ['a', 'b'])
  t.equal(of(0).at(-1).finish_reason, 'stop')
  t.equal(of(1).at(-1).finish_reason, 'length')
})

test('no request that went to the provider held the caller’s credential or a stray member', async (t) => {
  t.ok(upstream.requests.length > 50)
  for (const { rawHeaders, body } of upstream.requests) {
    const all = rawHeaders.join('\n') + body
    t.notOk(all.includes(API_KEY) || all.includes(STRAY.stray))
  }
})

const words = 'Looks up what the register holds, and tells it. '.repeat(12)
const lookUp = (name: string, more: object = {}) => ({
  type: 'function',
  function: { name, description: words, parameters: { type: 'object', file_id: 'no reference' }, ...more },
})

test('definitions of functions reach the provider the same, however often they come', async (t) => {
  const tools = [lookUp('one'), lookUp('two', { strict: true })]
  for (let call = 0; call < 5; call++) {
    const content = `${CANARY_PROMPT} ${call} {"tools":[]}`
    const messages = [{ role: 'user', content }]
    const choice = call % 2 === 0 ? 'auto' : { type: 'function', function: { name: 'two' } }
    const body = await sent({ messages, tools, tool_choice: choice, stream: call === 3 })
    t.same(
      { messages: body.messages, tools: body.tools, choice: body.tool_choice },
      { messages, tools, choice },
    )
  }
})

test('members of a definition that nobody knows stay behind each time', async (t) => {
  for (let call = 0; call < 5; call++) {
    const { tools } = await sent({ tools: [lookUp('one', { odd: call < 3 })] })
    t.same(tools, [lookUp('one')])
  }
})

test('wrong definitions are refused each time, after right ones too', async (t) => {
  const right = [lookUp('one')]
  const wrong = [lookUp('one'), lookUp('a name with spaces')]
  for (let call = 0; call < 4; call++) {
    await sent({ tools: right })
    const { status, text } = await ask({ messages: MESSAGES, tools: wrong })
    t.equal(status, 400)
    t.match(text, /tools\.1\.function\.name/)
  }
})
