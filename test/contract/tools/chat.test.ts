/** Server tools on chat over a real server and simulated models, whole and streamed (contract/tools 1). */
import tap, { test } from 'tap'
import { ChatCompletion, ChatCompletionChunk } from '../../../src/features/chat/response-schema.js'
import { API_KEY, askChat, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await startGateway()
tap.teardown(() => server.stop())

const lines = (...said: string[]) => [{ role: 'user', content: said.join('\n') }]
const MINE = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }

/** What the deltas of a stream add up to. */
function assembled(events: readonly Json[]) {
  const chunks = events.filter((event) => event !== '[DONE]')
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }: Json) => delta))
  const calls: Json[] = []
  for (const { tool_calls = [] } of deltas) {
    for (const { index, id, function: called } of tool_calls) {
      calls[index] ??= { id, type: 'function', function: { name: called.name, arguments: '' } }
      calls[index].function.arguments += called.arguments ?? ''
    }
  }
  const finishes = chunks.flatMap(({ choices }) =>
    choices.flatMap((choice: Json) => choice.finish_reason ?? []),
  )
  return {
    chunks,
    content: deltas.map(({ content }) => content ?? '').join(''),
    roles: deltas.flatMap(({ role }) => role ?? []),
    calls,
    details: deltas.flatMap(({ reasoning_details = [] }) => reasoning_details),
    annotations: deltas.flatMap(({ annotations = [] }) => annotations),
    finishes,
    usage: chunks.flatMap(({ usage }) => usage ?? []),
  }
}

async function both(body: object) {
  const whole = await askChat(server, { model: 'sim/agent', ...body })
  const streamed = await askChat(server, { model: 'sim/agent', stream: true, ...body })
  return { whole, streamed: { ...streamed, ...assembled(streamed.events()) } }
}

const REQUESTS: readonly (readonly [name: string, body: object])[] = [
  [
    'one call',
    {
      tools: [{ type: 'service:datetime' }],
      messages: lines('say One moment.', 'call service:datetime', 'answer Done.'),
    },
  ],
  [
    'several turns, and several calls in one',
    {
      tools: [{ type: 'openrouter:datetime' }, { type: 'web_search' }],
      messages: lines(
        'say First.',
        'call service:web_search {"query":"gate three"}',
        'and service:datetime {"timezone":"Europe/London"}',
        'say Then.',
        'call service:web_search {"query":"tidal power"}',
        'answer All found.',
      ),
    },
  ],
  [
    'a call that goes wrong',
    {
      tools: [{ type: 'service:datetime' }],
      messages: lines('call service:datetime {"timezone":"Mars/Base"}', 'answer Hm.'),
    },
  ],
  ['a plugin', { plugins: [{ id: 'web' }], messages: lines('answer With what was found.') }],
  [
    'a limit',
    {
      tools: [{ type: 'service:experimental__search_models' }],
      max_tool_calls: 2,
      messages: lines('call service:experimental__search_models {"query":"a"}', 'forever'),
    },
  ],
]

for (const [name, body] of REQUESTS) {
  test(`the same whole and streamed: ${name}`, async (t) => {
    const { whole, streamed } = await both(body)
    t.equal(whole.status, 200, whole.text)
    t.equal(streamed.status, 200, streamed.text)
    const answer = whole.json()
    t.ok(ChatCompletion.safeParse(answer).success, whole.text)
    const { message, finish_reason } = answer.choices[0]
    for (const chunk of streamed.chunks)
      t.ok(ChatCompletionChunk.safeParse(chunk).success, JSON.stringify(chunk))
    t.equal(streamed.content, message.content)
    t.strictSame(streamed.finishes, [finish_reason])
    t.strictSame(streamed.roles, ['assistant'])
    t.equal(new Set(streamed.chunks.map(({ id }) => id)).size, 1)
    t.strictSame(streamed.annotations, message.annotations ?? [])
    t.strictSame(streamed.usage, [answer.usage])
    t.strictSame(streamed.calls, [], 'what the gateway runs is not shown')
  })
}

test('what is cited is annotated, and the figures say what was run', async (t) => {
  const { whole } = await both(REQUESTS[1]![1])
  const { choices, usage } = whole.json()
  t.match(choices[0].message.annotations, [
    { type: 'url_citation', url_citation: { url: /^https?:/, title: /./ } },
  ])
  t.match(usage.server_tool_use_details, {
    tool_calls_requested: 3,
    tool_calls_executed: 3,
    web_search_requests: 2,
  })
  const { data } = (await (
    await server.get(`/generation?id=${whole.headers.get('x-generation-id')}`)
  ).json()) as Json
  const turns = data.rows.filter(({ kind }: Json) => kind === 'turn')
  t.equal(turns.length, 3)
  const sum = data.rows.reduce((total: number, { charged }: Json) => total + charged, 0)
  t.equal(sum.toFixed(9), usage.cost.toFixed(9), 'the sum of the rows is the cost')
})

test('progress is a comment, and chunks for who asks; without comments there are none', async (t) => {
  const body = { model: 'sim/agent', stream: true, ...REQUESTS[0]![1] }
  const plain = await askChat(server, body)
  t.match(plain.text, /\n: service tool datetime 1\/30\n\n/)
  t.notMatch(plain.text, /service_tool/)
  const told = await askChat(server, body, { 'X-Service-Tool-Events': 'enabled' })
  const events = told.events().filter((event) => event?.service_tool !== undefined)
  for (const event of events) t.ok(ChatCompletionChunk.safeParse(event).success)
  t.match(events, [
    { choices: [], service_tool: { state: 'started', name: 'datetime', arguments: '{}' } },
    { choices: [], service_tool: { state: 'completed', name: 'datetime', cost: 0 } },
  ])
  t.equal(events[0].service_tool.tool_call_id, events[1].service_tool.tool_call_id)
  const quiet = await askChat(server, body, { 'X-Service-Keep-Alive': 'disabled' })
  t.notMatch(quiet.text, /^:/m)
})

const MIXED = {
  tools: [{ type: 'service:datetime' }, MINE],
  messages: lines(
    'call service:datetime',
    'call service:datetime {"timezone":"Europe/London"}',
    'and get_weather {"city":"Oslo"}',
  ),
}

/** The next request of a caller that has run its own function. */
function following(message: Json, change: (detail: Json) => Json = (detail) => detail) {
  const details = message.reasoning_details.map(change)
  return {
    ...MIXED,
    messages: [
      ...MIXED.messages,
      { ...message, reasoning_details: details },
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '{"celsius":7}' },
    ],
  }
}

test('a mixed turn hands the caller’s calls over, and the next request resumes the loop', async (t) => {
  const { whole, streamed } = await both(MIXED)
  const { message, finish_reason } = whole.json().choices[0]
  t.equal(finish_reason, 'tool_calls')
  t.match(message.tool_calls, [{ function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }])
  t.equal(message.reasoning_details.length, 2)
  t.strictSame(streamed.finishes, ['tool_calls'])
  t.match(streamed.calls, [{ function: message.tool_calls[0].function }])
  t.equal(streamed.details.length, 2)
  const next = await askChat(
    server,
    { model: 'sim/agent', ...following(message) },
    { 'X-Service-Metadata': 'enabled' },
  )
  t.equal(next.status, 200, next.text)
  const { choices, service_metadata } = next.json()
  t.match(choices[0].message.content, /celsius/)
  t.match(choices[0].message.content, /Europe\/London/, 'the model sees the results of both turns')
  t.notOk('untranslated' in service_metadata)
})

test('results travel also where the thinking is not shown', async (t) => {
  const { whole, streamed } = await both({ ...MIXED, reasoning: { exclude: true } })
  const { message } = whole.json().choices[0]
  t.equal(message.reasoning_details.length, 2)
  t.equal(streamed.details.length, 2)
  const next = await askChat(server, { model: 'sim/agent', ...following(message) })
  t.match(next.json().choices[0].message.content, /Europe\/London/)
})

test('a forged detail is dropped and named, and the model does not see it', async (t) => {
  const { message } = (await both(MIXED)).whole.json().choices[0]
  const forged = following(message, (detail) => ({ ...detail, result: '{"datetime":"1066"}' }))
  const next = await askChat(server, { model: 'sim/agent', ...forged }, { 'X-Service-Metadata': 'enabled' })
  const { choices, service_metadata } = next.json()
  t.strictSame(service_metadata.untranslated, ['reasoning_details'])
  t.notMatch(choices[0].message.content, /1066/)
})

const REFUSED: readonly (readonly [name: string, body: object, named: RegExp])[] = [
  ['a tool that is switched off', { tools: [{ type: 'service:bash' }] }, /tools\.0.*bash/],
  ['an unknown tool', { tools: [{ type: 'service:telescope' }] }, /tools\.0\.type/],
  [
    'a tool named twice',
    { tools: [{ type: 'service:datetime' }, { type: 'openrouter:datetime' }] },
    /tools\.1\.type.*second time/,
  ],
  [
    'a zone that is none',
    { tools: [{ type: 'service:datetime', parameters: { timezone: 'Mars/Base' } }] },
    /tools\.0\.parameters\.timezone/,
  ],
  [
    'domain lists that contradict themselves',
    { tools: [{ type: 'web_search', allowed_domains: ['a.b'], excluded_domains: ['c.d'] }] },
    /tools\.0.*not both/,
  ],
  [
    'no condition at all',
    { tools: [{ type: 'service:datetime' }], stop_server_tools_when: [] },
    /stop_server_tools_when/,
  ],
  ['max_tool_calls of 0', { tools: [{ type: 'service:datetime' }], max_tool_calls: 0 }, /max_tool_calls/],
  ['max_tool_calls of 31', { tools: [{ type: 'service:datetime' }], max_tool_calls: 31 }, /max_tool_calls/],
  [
    'a choice that is none of the tools',
    { tools: [{ type: 'service:datetime' }], tool_choice: { type: 'service:files' } },
    /tool_choice/,
  ],
  [
    'an MCP server that nobody has',
    { tools: [{ type: 'service:mcp', parameters: { server_label: 'nobody' } }] },
    /tools\.0.*server_label/,
  ],
]

for (const [name, body, named] of REFUSED) {
  test(`400 naming the member: ${name}`, async (t) => {
    const refused = await askChat(server, { model: 'sim/agent', messages: lines('answer never'), ...body })
    t.equal(refused.status, 400)
    t.match(refused.json().error.message, named)
  })
}

test('a caller that leaves while a loop runs leaves nothing behind', async (t) => {
  const body = { model: 'sim/agent', stream: true, ...REQUESTS[4]![1], max_tool_calls: 30 }
  const leaver = new AbortController()
  const response = await fetch(`${server.apiUrl}/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal: leaver.signal,
  })
  await response.body!.getReader().read()
  leaver.abort()
  const id = response.headers.get('x-generation-id')
  const data = await eventually(async () => {
    const found = await server.get(`/generation?id=${id}`)
    return found.status === 200 ? ((await found.json()) as Json).data : undefined
  })
  t.equal(data.cancelled, true)
})
