import { test } from 'tap'
import { NEVER_ABORTED } from '../../../../src/base/cancellation.js'
import { Fault } from '../../../../src/base/fault.js'
import type { MessagesRequest } from '../../../../src/gateway/formats/messages.js'
import { buildCountBody, buildMessagesBody } from '../../../../src/gateway/providers/anthropic/provider.js'
import { sealReasoning } from '../../../../src/gateway/translation/sealed-reasoning.js'
import {
  messagesCall,
  streamedMessages,
  textBlock,
  wholeMessage,
} from '../../../support/clients/messages-face-calls.js'
import { ANTHROPIC_KEY, anthropicBench, speaking } from '../../../support/providers/mock-anthropic.js'

const MESSAGES = [{ role: 'user', content: 'hi' }] as const
const HEAD = { model: 'their-name', max_tokens: 100, metadata: { user_id: 'hashed-user' } }

/** Everything of the format goes as it came, what nobody knows inside included. */
const KNOWN: Partial<MessagesRequest> = {
  messages: [
    {
      role: 'user',
      content: [
        { type: 'brand_new', what: { ever: 1 } },
        { type: 'text', text: 'x', odd: null },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'tool_use', id: 'a', name: 'f', input: { n: 1 }, caller: { type: 'direct' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content: 'no' }] },
    { role: 'system', content: 'mind', clear_at: 'never' },
  ],
  system: [{ type: 'text', text: 's', cache_control: { type: 'ephemeral', ttl: '1h' } }],
  temperature: 0.5,
  top_p: 0.9,
  top_k: 3,
  stop_sequences: ['x'],
  tools: [
    { name: 'f', input_schema: { type: 'object' }, brand_new: true },
    { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
  ],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 2048, display: 'summarized' },
  output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } }, odd: 1 },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  cache_control: { type: 'ephemeral' },
  speed: 'fast',
}

test('what the server takes goes as it came, with members and kinds that nobody knows', async (t) => {
  const call = messagesCall(KNOWN)
  t.strictSame(buildMessagesBody(call, true), { ...KNOWN, ...HEAD, stream: true })
  t.equal(
    (buildMessagesBody(call, true) as { messages: unknown }).messages,
    call.request.messages,
    'not even a copy',
  )
  t.same(call.droppedFields, [])
})

test('what is meant for the gateway or names somebody never goes', async (t) => {
  const ours = {
    models: ['a/b'],
    provider: { only: ['x'] },
    route: 'fallback',
    plugins: [{ id: 'web', enabled: false }],
    stop_server_tools_when: [{ type: 'step_count_is', step_count: 1 }],
    session_id: 'canary-session',
    user: 'canary-user',
    trace: { trace_id: 'canary-trace' },
    metadata: { user_id: 'canary-user' },
    fallbacks: [{ model: 'a/b' }],
    debug: { echo_upstream_body: true },
    odd: 'canary',
  } as unknown as Partial<MessagesRequest>
  t.strictSame(buildMessagesBody(messagesCall(ours), false), { ...HEAD, messages: MESSAGES, stream: false })
})

test('nulls and the default speed say nothing', async (t) => {
  const nulls = {
    cache_control: null,
    context_management: null,
    speed: 'standard',
    service_tier: null,
  } as const
  t.strictSame(buildMessagesBody(messagesCall(nulls), false), { ...HEAD, messages: MESSAGES, stream: false })
})

const TIERS: readonly (readonly [string, string | undefined, readonly string[]])[] = [
  ['auto', 'auto', []],
  ['standard_only', 'standard_only', []],
  ['default', 'standard_only', []],
  ['flex', undefined, ['service_tier']],
]

for (const [asked, sent, lost] of TIERS) {
  test(`the tier ${asked} goes as ${sent}`, async (t) => {
    const call = messagesCall({}, { serviceTier: asked })
    t.equal((buildMessagesBody(call, false) as { service_tier?: string }).service_tier, sent)
    t.same(call.droppedFields, lost)
  })
}

test('thinking that another provider wrote stays behind, and says so', async (t) => {
  const seal = sealReasoning({ type: 'reasoning.text', format: 'openai-responses-v1' })
  const call = messagesCall({
    messages: [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'x', signature: '' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'x', signature: seal },
          { type: 'redacted_thinking', data: seal },
          { type: 'redacted_thinking', data: 'own' },
          textBlock('b'),
        ],
      },
    ],
  })
  t.strictSame((buildMessagesBody(call, false) as { messages: unknown }).messages, [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'own' }, textBlock('b')] },
  ])
  t.same(call.droppedFields, ['messages.thinking'])
})

test('the headers are ours and the operator’s, and the path stands below the base', async (t) => {
  const headers = { 'Anthropic-Beta': 'a-1,b-2', 'x-extra': 'extra-canary' }
  const { mock, provider } = await anthropicBench(t, speaking({ content: [textBlock('x')] }), { headers })
  await wholeMessage(provider.messages)
  await streamedMessages(provider.messages).end.opened
  t.equal(await provider.countMessages(messagesCall(), NEVER_ABORTED), 42)
  t.same(
    mock.requests.map(({ path }) => path),
    ['/v1/messages', '/v1/messages', '/v1/messages/count_tokens'],
  )
  t.same(
    mock.requests.map((request) => request.headers.accept),
    ['application/json', 'text/event-stream', 'application/json'],
  )
  for (const request of mock.requests) {
    t.match(request.headers, {
      'x-api-key': ANTHROPIC_KEY,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a-1,b-2',
      'x-extra': 'extra-canary',
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'sluice/0.0.0',
    })
    t.notOk('authorization' in request.headers)
  }
})

test('a version of the operator’s wins over ours, and no key means no header', async (t) => {
  const { mock, provider } = await anthropicBench(t, speaking({ content: [] }), {
    apiKey: null,
    headers: { 'anthropic-version': '2026-10-21' },
  })
  await wholeMessage(provider.messages)
  t.equal(mock.requests[0]?.headers['anthropic-version'], '2026-10-21')
  t.notOk('x-api-key' in mock.requests[0]!.headers)
})

test('a header that belongs to the connection cannot be fixed', async (t) => {
  await t.rejects(
    anthropicBench(t, () => {}, { headers: { 'Content-Length': '1' } }),
    RangeError,
  )
})

test('a count takes what the operation takes', async (t) => {
  const { messages, system, tools, tool_choice, thinking, output_config, context_management, cache_control } =
    KNOWN
  t.strictSame(buildCountBody(messagesCall({ ...KNOWN, user: 'u' })), {
    model: 'their-name',
    messages,
    system,
    tools,
    tool_choice,
    thinking,
    output_config,
    context_management,
    cache_control,
  })
})

test('a count that fails is a fault, and one that is none as well', async (t) => {
  const { mock, provider } = await anthropicBench(t, (peer) => peer.json({ input_tokens: -1 }))
  const broken = await provider.countMessages(messagesCall(), NEVER_ABORTED)
  t.ok(broken instanceof Fault && broken.kind === 'provider-failed')
  mock.script = (peer) =>
    peer.json({ type: 'error', error: { type: 'rate_limit_error' } }, 429, { 'retry-after': '7' })
  t.match(await provider.countMessages(messagesCall(), NEVER_ABORTED), {
    kind: 'rate-limited',
    retryAfter: 7,
  })
})
