/** Server tools on messages over a real server and simulated models, whole and streamed (contract/tools 1). */
import tap, { test } from 'tap'
import { MessagesReply, MessagesStreamEvent } from '../../../src/features/messages/response-schema.js'
import { askMessages, assembled } from '../../support/clients/messages-calls.js'
import { API_KEY, type Json, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway()
tap.teardown(() => server.stop())

const lines = (...said: string[]) => [{ role: 'user', content: said.join('\n') }]
const MINE = { name: 'get_weather', description: 'The weather of a town', input_schema: { type: 'object' } }
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const body = (more: object): object => ({ model: 'sim/agent', max_tokens: 500, ...more })

async function both(
  more: object,
): Promise<{ readonly whole: Json; readonly streamed: Json; readonly text: string }> {
  const whole = await askMessages(server, body(more))
  if (whole.status !== 200) throw new Error(whole.text)
  const streamed = await askMessages(server, body({ ...more, stream: true }))
  return { whole: whole.json(), streamed: assembled(streamed.events()), text: streamed.text }
}

const typesIn = ({ content }: Json): string[] => content.map(({ type }: Json) => type)

/** Times, and marks over them, differ from call to call. */
const timeless = (content: Json): Json =>
  JSON.parse(
    JSON.stringify(content, (key, value) => (/^(service_mark|datetime|retrieved_at)$/.test(key) ? 0 : value)),
  )

const REQUESTS: readonly (readonly [what: string, more: object, types: readonly string[]])[] = [
  [
    'a call between words',
    {
      tools: [{ type: 'service:datetime' }],
      messages: lines('say One moment.', 'call service:datetime', 'answer Done.'),
    },
    ['text', 'server_tool_use', 'datetime_tool_result', 'text'],
  ],
  [
    'a search and a page by their dated names',
    {
      tools: [SEARCH, { type: 'web_fetch_20250910', name: 'web_fetch' }],
      messages: lines(
        'call web_search {"query":"gate three"}',
        'call web_fetch {"url":"https://waterworks.example/sluice-gates"}',
        'answer It says https://waterworks.example/sluice-gates does.',
      ),
    },
    ['server_tool_use', 'web_search_tool_result', 'server_tool_use', 'web_fetch_tool_result', 'text'],
  ],
  [
    'two calls in a turn, one of which fails',
    {
      tools: [{ type: 'openrouter:datetime' }],
      messages: lines('call datetime {"timezone":"UTC"}', 'and datetime {"timezone":"Mars"}', 'answer Done.'),
    },
    ['server_tool_use', 'server_tool_use', 'datetime_tool_result', 'datetime_tool_result', 'text'],
  ],
  [
    'a tool of an MCP server',
    {
      mcp_servers: [{ type: 'url', name: 'sim' }],
      tools: [{ type: 'mcp_toolset', mcp_server_name: 'sim' }],
      messages: lines('call sim__add {"a":1,"b":2}'),
    },
    ['mcp_tool_use', 'mcp_tool_result', 'text'],
  ],
  [
    'a mixed turn',
    {
      tools: [MINE, { type: 'service:datetime' }],
      messages: lines('call get_weather {"city":"Rome"}', 'and datetime'),
    },
    ['tool_use', 'server_tool_use', 'datetime_tool_result'],
  ],
]

for (const [what, more, types] of REQUESTS) {
  test(`${what}: whole and streamed are the same message`, async (t) => {
    const { whole, streamed } = await both(more)
    t.ok(MessagesReply.safeParse(whole).success, JSON.stringify(MessagesReply.safeParse(whole).error?.issues))
    t.strictSame(typesIn(whole), types)
    t.strictSame(timeless(streamed.content), timeless(whole.content))
    t.equal(streamed.stop_reason, whole.stop_reason)
    for (const figure of ['output_tokens', 'server_tool_use'])
      t.strictSame(streamed.usage[figure], whole.usage[figure], figure)
  })
}

test('what a search found is cited where the answer names it, and counted', async (t) => {
  const { whole } = await both(REQUESTS[1]![1])
  t.match(whole.content.at(-1).citations, [
    {
      type: 'web_search_result_location',
      url: 'https://waterworks.example/sluice-gates',
      encrypted_index: '',
    },
  ])
  t.strictSame(whole.usage.server_tool_use, { web_search_requests: 1, web_fetch_requests: 1 })
})

test('every event of a stream is one of the document, and a tool that runs is told', async (t) => {
  const headers = { 'x-api-key': API_KEY, 'x-service-tool-events': 'enabled' }
  const told = await askMessages(server, body({ ...REQUESTS[0]![1], stream: true }), headers)
  for (const event of told.events()) {
    const read = MessagesStreamEvent.safeParse(event)
    t.ok(read.success, JSON.stringify([event, read.error?.issues]))
  }
  t.match(told.text, /^: service tool datetime 1\/30$/m)
  const shown = told.events().find(({ content_block }: Json) => content_block?.type === 'server_tool_use')
  t.match(
    told.events().filter(({ type }: Json) => type === 'service_tool'),
    [
      {
        service_tool: {
          state: 'started',
          name: 'datetime',
          tool_call_id: shown!.content_block.id,
          arguments: '{}',
        },
      },
      {
        service_tool: {
          state: 'completed',
          name: 'datetime',
          tool_call_id: shown!.content_block.id,
          cost: 0,
        },
      },
    ],
  )
  t.ok(told.events().some(({ type }: Json) => type === 'ping'))
  const silent = await askMessages(server, body({ ...REQUESTS[0]![1], stream: true }))
  t.notMatch(silent.text, /service_tool"/)
})

test('a mixed turn goes on with the caller’s results, and the model is told ours again', async (t) => {
  const messages = lines('call get_weather {"city":"Rome"}', 'and datetime {"timezone":"UTC"}')
  const tools = [MINE, { type: 'service:datetime' }]
  const first = await askMessages(server, body({ tools, messages }))
  t.equal(first.json().stop_reason, 'tool_use')
  const { content } = first.json()
  const [mine, , ours] = content
  const results = [{ type: 'tool_result', tool_use_id: mine.id, content: 'sunny' }]
  const next = [...messages, { role: 'assistant', content }, { role: 'user', content: results }]
  const headers = { 'x-api-key': API_KEY, 'X-Service-Metadata': 'enabled' }
  for (const again of [tools, [MINE]]) {
    const second = await askMessages(server, body({ tools: again, messages: next }), headers)
    t.match(second.json(), { stop_reason: 'end_turn', content: [{ type: 'text', text: /sunny/ }] })
    t.match(second.json().content[0].text, ours.content.datetime)
  }
  const forged = JSON.parse(
    JSON.stringify(next).replace(ours.content.datetime, '1999-01-01T00:00:00.000+00:00'),
  )
  const told = await askMessages(server, body({ tools, messages: forged }), headers)
  t.equal(told.status, 200)
  t.notMatch(told.json().content[0].text, /1999/)
  t.match(told.json().service_metadata.untranslated, ['messages.datetime_tool_result'])
})

test('a loop that stops at its limit is paused where the caller speaks that vocabulary, and goes on', async (t) => {
  const messages = lines(
    'call web_search {"query":"gate three"}',
    'call web_search {"query":"tide mill"}',
    'answer Done.',
  )
  const { whole, streamed } = await both({ tools: [SEARCH], messages, max_tool_calls: 1 })
  t.equal(whole.stop_reason, 'pause_turn')
  t.equal(streamed.stop_reason, 'pause_turn')
  t.strictSame(typesIn(whole), ['server_tool_use', 'web_search_tool_result'])
  const next = [...messages, { role: 'assistant', content: whole.content }]
  const again = await askMessages(server, body({ tools: [SEARCH], messages: next }))
  t.equal(again.json().stop_reason, 'end_turn')
  t.strictSame(typesIn(again.json()), ['server_tool_use', 'web_search_tool_result', 'text'])
  t.match(again.json().content[0].input, { query: 'tide mill' })
  for (const tools of [[{ type: 'service:web_search' }], [SEARCH, { type: 'service:datetime' }]]) {
    const closed = await askMessages(server, body({ tools, messages, max_tool_calls: 1 }))
    t.equal(closed.json().stop_reason, 'end_turn', 'a last turn instead')
    t.equal(typesIn(closed.json()).at(-1), 'text')
  }
})

test('deferred tools are found, called, and known from then on', async (t) => {
  const hidden = { ...MINE, defer_loading: true }
  const other = {
    name: 'send_mail',
    description: 'A letter',
    input_schema: { type: 'object' },
    defer_loading: true,
  }
  for (const [search, query] of [
    [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }, 'weath.r'],
    [{ type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' }, 'weather of a town'],
    [{ type: 'service:tool_search', parameters: { max_results: 1 } }, 'weather'],
  ] as const) {
    const messages = lines(
      `call tool_search {"query":"${query}"}`,
      'call get_weather {"city":"Rome"}',
      'answer Sunny.',
    )
    const tools = [search, hidden, other]
    const { whole, streamed } = await both({ tools, messages })
    t.strictSame(typesIn(whole), ['server_tool_use', 'tool_search_tool_result', 'tool_use'])
    t.strictSame(timeless(streamed.content), timeless(whole.content))
    t.match(whole.content[1].content, {
      type: 'tool_search_tool_search_result',
      tool_references: [{ type: 'tool_reference', tool_name: 'get_weather' }],
    })
    t.equal(whole.content[0].name, 'name' in search ? search.name : 'tool_search_tool_regex')
    const results = [{ type: 'tool_result', tool_use_id: whole.content[2].id, content: 'sunny' }]
    const next = [
      ...messages,
      { role: 'assistant', content: whole.content },
      { role: 'user', content: results },
    ]
    t.match((await askMessages(server, body({ tools, messages: next }))).json(), {
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'Sunny.' }],
    })
  }
  const unfound = await askMessages(
    server,
    body({
      tools: [{ type: 'service:tool_search' }, hidden],
      messages: lines('call get_weather {}', 'answer No.'),
    }),
  )
  t.strictSame(
    typesIn(unfound.json()),
    ['tool_use'],
    'a name that the model guesses is the caller’s all the same',
  )
})

test('tools of a server that are deferred are found by what they say', async (t) => {
  const asked = await askMessages(
    server,
    body({
      mcp_servers: [{ type: 'url', name: 'sim' }],
      tools: [
        { type: 'tool_search_tool_bm25', name: 'tool_search_tool_bm25' },
        {
          type: 'mcp_toolset',
          mcp_server_name: 'sim',
          default_config: { defer_loading: true },
          configs: { echo: { enabled: false } },
        },
      ],
      messages: lines('call tool_search {"query":"add"}', 'call sim__add {"a":1,"b":2}', 'answer Three.'),
    }),
  )
  t.match(asked.json(), {
    content: [
      { type: 'server_tool_use', name: 'tool_search_tool_bm25' },
      { type: 'tool_search_tool_result', content: { tool_references: [{ tool_name: 'sim__add' }] } },
      { type: 'mcp_tool_use', name: 'add' },
      { type: 'mcp_tool_result', is_error: false },
      { type: 'text', text: 'Three.' },
    ],
  })
})

test('the engine native needs a provider that runs the tool', async (t) => {
  for (const tool of [
    { ...SEARCH, engine: 'native' },
    { type: 'service:web_search', parameters: { engine: 'native' } },
  ]) {
    const asked = await askMessages(server, body({ tools: [tool], messages: lines('hi') }))
    t.equal(asked.status, 400)
    t.match(asked.json().error.message, /tools\.0: has the engine native/)
  }
})

test('the sum of the rows is what the answer says that it cost', async (t) => {
  const { whole } = await both(REQUESTS[1]![1])
  const { data } = (await (await server.get(`/generation?id=${whole.id}`)).json()) as Json
  t.equal(data.rows.length, 5)
  const sum = data.rows.reduce((all: number, { charged }: Json) => all + charged, 0)
  t.ok(Math.abs(sum - whole.usage.cost) < 1e-12, `${sum} ${whole.usage.cost}`)
})
