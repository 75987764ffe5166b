import { test } from 'tap'
import type { ChatRequest } from '../../../../src/gateway/formats/canonical.js'
import type { EmbeddingsRequest } from '../../../../src/gateway/formats/embeddings.js'
import { buildChatBody } from '../../../../src/gateway/providers/openai/provider.js'
import type { UpstreamClient } from '../../../../src/upstream/port.js'
import {
  API_KEY,
  answer,
  Completed,
  callOf,
  completed,
  completion,
  openAiBench,
  providerCall,
  streamed,
} from '../../../support/clients/openai-calls.js'
import { testClient } from '../../../support/clients/upstream-calls.js'

const body = (request: Partial<ChatRequest>): Record<string, unknown> =>
  buildChatBody(providerCall(request), false)

test('the least request', async (t) => {
  t.same(body({}), {
    model: 'their-name',
    messages: [{ role: 'user', content: 'hi' }],
    stream: false,
    user: 'hashed-user',
  })
  t.same(
    buildChatBody(providerCall({}), true).stream_options,
    { include_usage: true },
    'figures are always asked for',
  )
})

test('what a provider takes goes as it came', async (t) => {
  const passed = {
    max_completion_tokens: 9,
    temperature: 0,
    top_p: 0.5,
    top_k: 3,
    top_a: 0.1,
    min_p: 0.2,
    frequency_penalty: -1,
    presence_penalty: 1,
    repetition_penalty: 1.5,
    logit_bias: { '50256': -100 },
    logprobs: true,
    top_logprobs: 2,
    seed: 7,
    stop: ['a', 'b'],
    modalities: ['text'],
    image_config: { size: '1K' },
    prediction: { type: 'content', content: 'x' },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'n', schema: { type: 'object' }, strict: true },
    },
    tools: [{ type: 'function', function: { name: 'f', parameters: {} } }],
    tool_choice: 'required',
    parallel_tool_calls: false,
    cache_control: { type: 'ephemeral' },
    prompt_cache_options: { mode: 'explicit' },
    verbosity: 'low',
    include_reasoning: true,
    reasoning_effort: 'low',
  } satisfies Partial<ChatRequest>
  const { model, messages, stream, user, ...rest } = body(passed)
  t.strictSame(rest, passed)
  t.ok(model && messages && stream === false && user)
})

test('the tier is the one the plan settled on, whatever the caller asked for', async (t) => {
  const asked = { service_tier: 'priority' } as const
  t.notOk('service_tier' in body(asked), 'none')
  t.equal(buildChatBody(providerCall(asked, { serviceTier: 'flex' }), false).service_tier, 'flex')
})

test('what is meant for the gateway or names somebody never goes', async (t) => {
  const kept = {
    models: ['a/CANARY'],
    provider: { order: ['CANARY'] },
    route: 'fallback',
    plugins: [{ id: 'CANARY' }],
    stop_server_tools_when: [{ type: 'CANARY' }],
    max_tool_calls: 3,
    session_id: 'CANARY',
    user: 'CANARY',
    metadata: { k: 'CANARY' },
    trace: { trace_id: 'CANARY' },
    debug: { echo_upstream_body: true },
    stream: true,
    stream_options: { include_usage: false },
    prompt_cache_key: 'CANARY',
    transforms: ['CANARY'],
    __proto__x: 'CANARY',
  } as Partial<ChatRequest>
  const text = JSON.stringify(body(kept))
  t.notMatch(text, /CANARY/)
  t.same(Object.keys(JSON.parse(text)).sort(), ['messages', 'model', 'prompt_cache_key', 'stream', 'user'])
})

test('equal cache keys of an organization stay equal, others differ', async (t) => {
  const key = (text: string, organizationId = 'org-a'): unknown => {
    const call = providerCall({ prompt_cache_key: text })
    return buildChatBody({ ...call, caller: { ...call.caller, organizationId } }, false).prompt_cache_key
  }
  t.equal(key('a'), key('a'))
  t.not(key('a'), key('b'))
  t.not(key('a'), key('a', 'org-b'))
  t.match(key('a'), /^[\w-]{32}$/)
})

test('null is left out', async (t) => {
  const nulls = {
    temperature: null,
    stop: null,
    max_tokens: null,
    reasoning: null,
    reasoning_effort: null,
    prompt_cache_key: null,
  }
  t.same(Object.keys(body(nulls)).sort(), ['messages', 'model', 'stream', 'user'])
})

test('of two token limits the newer name goes', async (t) => {
  t.match(body({ max_tokens: 5 }), { max_tokens: 5, max_completion_tokens: undefined })
  t.match(body({ max_completion_tokens: 6 }), { max_tokens: undefined, max_completion_tokens: 6 })
  t.match(body({ max_tokens: 5, max_completion_tokens: 6 }), {
    max_tokens: undefined,
    max_completion_tokens: 6,
  })
})

const EFFORTS: readonly (readonly [Partial<ChatRequest>, unknown, unknown])[] = [
  [{ reasoning_effort: 'low' }, 'low', undefined],
  [{ reasoning: { effort: 'high' } }, 'high', undefined],
  [{ reasoning: { effort: 'high', summary: 'auto' } }, 'high', { effort: 'high', summary: 'auto' }],
  [{ reasoning: { max_tokens: 100 } }, undefined, { max_tokens: 100 }],
  [{ reasoning: { enabled: false, summary: null } }, undefined, { enabled: false }],
  [{ reasoning: {} }, undefined, undefined],
]

for (const [request, effort, reasoning] of EFFORTS) {
  test(`reasoning of ${JSON.stringify(request)}`, async (t) => {
    const sent = body(request)
    t.equal(sent.reasoning_effort, effort)
    t.strictSame(sent.reasoning, reasoning)
  })
}

test('a message that changes the effort changes it for the answer', async (t) => {
  const update = (effort: 'low' | 'high') =>
    ({ role: 'system', content: 'x', configuration_update: { reasoning: { effort } } }) as const
  const sent = body({
    reasoning_effort: 'minimal',
    messages: [update('low'), update('high'), { role: 'user', content: 'x' }],
  })
  t.equal(sent.reasoning_effort, 'high')
  t.notMatch(JSON.stringify(sent), /configuration_update/)
})

test('messages and parts carry what a provider knows', async (t) => {
  const messages = [
    {
      role: 'system',
      content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' }, x: 'CANARY' }],
      name: 'n',
      y: 'CANARY',
    },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'u' }, z: 'CANARY' },
        { type: 'text', text: 'b', prompt_cache_breakpoint: null },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      refusal: null,
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }],
      model: 'CANARY',
    },
    { role: 'tool', content: 'r', tool_call_id: 'c', name: 'CANARY' },
  ] as unknown as ChatRequest['messages']
  t.strictSame(JSON.parse(JSON.stringify(body({ messages }).messages)), [
    {
      role: 'system',
      content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }],
      name: 'n',
    },
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'u' } },
        { type: 'text', text: 'b' },
      ],
    },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      reasoning_details: [{ type: 'reasoning.encrypted', data: 'd' }],
      content: null,
    },
    { role: 'tool', content: 'r', tool_call_id: 'c' },
  ])
})

test('on the wire go our headers, the credential of the provider and those of the operator', async (t) => {
  const { mock, provider } = await openAiBench(t, (peer) => peer.json(answer({ content: 'x' })), {
    headers: { 'X-Org': 'acme' },
    path: '/base/v1/?api-version=2',
  })
  await completion(provider)
  const [request] = mock.requests
  t.equal(request!.path, '/base/v1/chat/completions?api-version=2')
  const { host: _, 'content-length': __, ...headers } = request!.headers
  t.strictSame(headers, {
    connection: 'keep-alive',
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'sluice/0.0.0',
    authorization: `Bearer ${API_KEY}`,
    'x-org': 'acme',
  })
  t.equal(JSON.parse(request!.body).model, 'their-name')
})

test('without a credential none is sent, and a stream asks for one', async (t) => {
  const { mock, provider } = await openAiBench(
    t,
    (peer) => peer.stream([{ choices: [{ delta: { content: 'x' } }] }]),
    { apiKey: null },
  )
  await streamed(provider).end.opened
  t.equal(mock.requests[0]!.headers.authorization, undefined)
  t.equal(mock.requests[0]!.headers.accept, 'text/event-stream')
  t.equal(JSON.parse(mock.requests[0]!.body).stream, true)
})

test('headers that belong to the connection are refused when the provider is made', async (t) => {
  for (const name of ['Host', 'Transfer-Encoding', 'content-length', 'Accept-Encoding', 'a b']) {
    await t.rejects(
      openAiBench(t, () => {}, { headers: { [name]: 'CANARY' } }),
      { message: /cannot be set/ },
    )
  }
})

test('a large body is written behind the turn that asks for it, wherever in it the long text stands', async (t) => {
  const client = testClient(t)
  let sent = 0
  const upstream: UpstreamClient = {
    ...client,
    call: (request, receiver) => {
      sent++
      return client.call(request, receiver)
    },
  }
  const { mock, provider } = await openAiBench(
    t,
    (peer) => peer.json({ ...answer({ content: 'x' }), data: [{ embedding: [1] }] }),
    { upstream },
  )
  const LONG = 'A'.repeat(300_000)
  const chat = (content: string) =>
    completed(provider, providerCall({ messages: [{ role: 'user', content }] }))
  const embed = (input: string) => {
    const embedded = new Completed<unknown>()
    provider.embeddings!.complete(
      callOf({ model: 'vendor/name', input, encoding_format: 'float' } as EmbeddingsRequest),
      embedded,
    )
    return embedded
  }
  for (const [begin, text, atOnce] of [
    [chat, 'hi', 1],
    [chat, LONG, 0],
    [embed, 'hi', 1],
    [embed, LONG, 0],
  ] as const) {
    sent = 0
    const { end } = begin(text)
    t.equal(sent, atOnce, `${text.length} characters`)
    t.notOk('fault' in ((await end.opened) as object))
    t.ok(mock.requests.at(-1)!.body.includes(`"${text}"`))
  }
})
