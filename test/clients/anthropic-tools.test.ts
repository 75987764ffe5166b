/** The `@anthropic-ai/sdk` package, unmodified, and tools that the gateway runs (contract/tools 1). */
import Anthropic from '@anthropic-ai/sdk'
import type { MessageCreateParamsNonStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages'
import tap, { test } from 'tap'
import { API_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())

const client = new Anthropic({ baseURL: `${server.baseUrl}/api`, apiKey: API_KEY, maxRetries: 0 })

const SEARCH = { type: 'web_search_20250305' as const, name: 'web_search' as const }
const WEATHER = { name: 'get_weather', description: 'Weather', input_schema: { type: 'object' as const } }

/** Tools that the package knows have its types; of ours it passes on what it is given. */
function asking(
  tools: readonly object[],
  more: object,
  ...lines: readonly string[]
): MessageCreateParamsNonStreaming {
  const messages = [{ role: 'user' as const, content: lines.join('\n') }]
  return { model: 'sim/agent', max_tokens: 500, messages, tools: tools as never, ...more }
}

const service = (name: string, parameters: object = {}): object => ({ type: `service:${name}`, parameters })

const REQUESTS: readonly (readonly [
  what: string,
  request: MessageCreateParamsNonStreaming,
  types: readonly string[],
])[] = [
  [
    'web search',
    asking([SEARCH], {}, 'say I look.', 'call web_search {"query":"gate three"}', 'answer Found.'),
    ['text', 'server_tool_use', 'web_search_tool_result', 'text'],
  ],
  [
    'web fetch',
    asking(
      [{ type: 'web_fetch_20250910', name: 'web_fetch' }],
      {},
      'call web_fetch {"url":"https://waterworks.example/sluice-gates"}',
      'answer Read.',
    ),
    ['server_tool_use', 'web_fetch_tool_result', 'text'],
  ],
  [
    'the time',
    asking([service('datetime')], {}, 'call datetime {"timezone":"Mars"}', 'answer Late.'),
    ['server_tool_use', 'datetime_tool_result', 'text'],
  ],
  [
    'the catalogue',
    asking(
      [service('experimental__search_models')],
      {},
      'call experimental__search_models {"query":"zzz"}',
      'answer None.',
    ),
    ['server_tool_use', 'experimental__search_models_tool_result', 'text'],
  ],
  [
    'a memory',
    asking([service('memory')], {}, 'call memory {"command":"view","path":"/memories"}', 'answer Empty.'),
    ['server_tool_use', 'memory_tool_result', 'text'],
  ],
  [
    'an MCP server',
    asking(
      [{ type: 'mcp_toolset', mcp_server_name: 'sim' }],
      { mcp_servers: [{ type: 'url', name: 'sim' }] },
      'call sim__add {"a":1,"b":2}',
      'answer Three.',
    ),
    ['mcp_tool_use', 'mcp_tool_result', 'text'],
  ],
  [
    'an adviser',
    asking(
      [{ type: 'advisor_20260301', name: 'advisor', model: 'sim/echo' }],
      {},
      'call advisor {"prompt":"what"}',
      'answer So.',
    ),
    ['server_tool_use', 'advisor_tool_result', 'text'],
  ],
  [
    'a search for tools',
    asking(
      [
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
        { ...WEATHER, defer_loading: true },
      ],
      {},
      'call tool_search {"query":"weather"}',
      'answer It is there.',
    ),
    ['server_tool_use', 'tool_search_tool_result', 'text'],
  ],
]

/** When a page was fetched, and the mark over that, differ from call to call. */
const timeless = (content: unknown): unknown =>
  JSON.parse(
    JSON.stringify(content, (key, value) => (/^(service_mark|retrieved_at)$/.test(key) ? undefined : value)),
  )

for (const [what, request, types] of REQUESTS) {
  test(`${what}: create, stream() and its helper tell the same message`, async (t) => {
    const whole = await client.messages.create(request)
    t.strictSame(
      whole.content.map(({ type }) => type),
      types,
    )
    const stream = client.messages.stream(request)
    let streamed = ''
    stream.on('text', (piece) => {
      streamed += piece
    })
    const final = await stream.finalMessage()
    t.strictSame(timeless(final.content), timeless(whole.content))
    t.equal(final.stop_reason, whole.stop_reason)
    t.strictSame(final.usage.server_tool_use, whole.usage.server_tool_use)
    t.equal(streamed, whole.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join(''))
  })
}

test('a conversation goes on with what the package has put together, streamed or whole', async (t) => {
  const request = asking(
    [SEARCH, WEATHER],
    {},
    'call get_weather {"city":"Rome"}',
    'and web_search {"query":"gate three"}',
  )
  for (const first of [
    await client.messages.create(request),
    await client.messages.stream(request).finalMessage(),
  ]) {
    t.equal(first.stop_reason, 'tool_use')
    const call = first.content.find((block) => block.type === 'tool_use')
    const messages: MessageParam[] = [
      ...request.messages,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call!.id, content: 'sunny' }] },
    ]
    const { data, response } = await client.messages
      .create({ ...request, messages }, { headers: { 'X-Service-Metadata': 'enabled' } })
      .withResponse()
    t.equal(response.status, 200)
    t.equal(data.stop_reason, 'end_turn')
    const [said] = data.content
    t.match(said, { type: 'text', text: /sunny/ })
    t.match(said, { text: /Gate three gets new rails/ }, 'the model is told again what the search found')
    t.notOk(JSON.stringify(data).includes('untranslated'))
  }
})

test('a turn that was paused goes on when it is sent back as it is', async (t) => {
  const request = asking(
    [SEARCH],
    { max_tool_calls: 1 },
    'call web_search {"query":"gate three"}',
    'call web_search {"query":"tide mill"}',
    'answer Done.',
  )
  const messages: MessageParam[] = [...request.messages]
  const reasons: (string | null)[] = []
  const types: string[] = []
  do {
    const message = await client.messages.create({ ...request, messages })
    messages.push({ role: 'assistant', content: message.content })
    reasons.push(message.stop_reason)
    types.push(...message.content.map(({ type }) => type))
  } while (reasons.at(-1) === 'pause_turn' && reasons.length < 5)
  t.strictSame(reasons, ['pause_turn', 'pause_turn', 'end_turn'])
  t.equal(types.filter((type) => type === 'web_search_tool_result').length, 2)
})

test('tools that the caller runs come back to it, with arguments that it knows', async (t) => {
  const tools = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'memory_20250818', name: 'memory' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
  ]
  const lines = ['call bash {"command":"ls"}', 'and memory {"command":"view","path":"/memories"}']
  const message = await client.messages.create(asking(tools, {}, ...lines))
  t.match(message, {
    stop_reason: 'tool_use',
    content: [
      { type: 'tool_use', name: 'bash', input: { command: 'ls' } },
      { type: 'tool_use', name: 'memory', input: { command: 'view' } },
    ],
  })
})
