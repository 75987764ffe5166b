/** What a request of the messages format asks for is done, whole and streamed alike (contract/gateway 5). */
import tap, { test } from 'tap'
import { MessagesReply, MessagesStreamEvent } from '../../../src/features/messages/response-schema.js'
import { askMessages, assembled, message } from '../../support/clients/messages-calls.js'
import { API_KEY, type Json, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway({
  config: {
    providers: {
      lab: { kind: 'simulated', name: 'Lab', allow_request_faults: true, breaker: false },
      strict: { kind: 'simulated', name: 'Strict' },
    },
    models: {
      'lab/plain': {
        endpoints: [{ provider: 'lab', simulation: { reasoning_tokens: { constant: 6 }, reasons: 'asked' } }],
      },
      'lab/down': { endpoints: [{ provider: 'lab', simulation: { fault: { kind: 'error' } } }] },
      'strict/plain': { endpoints: [{ provider: 'strict' }] },
      'strict/paused': { endpoints: [{ provider: 'strict', simulation: { stop_reason: 'pause_turn' } }] },
    },
    routing: { retries: 0 },
  },
})
tap.teardown(() => server.stop())

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64')
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64')
const LOOKUP = {
  name: 'lookup',
  input_schema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
}
const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const user = (...content: object[]): object[] => [{ role: 'user', content }]
const document = (source: object): object => ({
  type: 'document',
  source,
  title: 'T',
  citations: { enabled: true },
})
const ASK = { type: 'text', text: 'What is this?' }

type Row = readonly [what: string, more: object, expected: object, simulate?: string]

const ROWS: readonly Row[] = [
  ['text', {}, { stop_reason: 'end_turn', content: [{ type: 'text' }] }],
  ['an empty conversation', { messages: user() }, { content: [{ type: 'text' }] }],
  ['a limit', { max_tokens: 3 }, { stop_reason: 'max_tokens', usage: { output_tokens: 3 } }],
  [
    'a stop sequence',
    { messages: [{ role: 'user', content: 'echo: a b c' }], stop_sequences: [' c'] },
    { stop_reason: 'stop_sequence', stop_sequence: ' c', content: [{ text: 'a b' }] },
  ],
  [
    'thinking',
    { thinking: { type: 'enabled', budget_tokens: 2000 } },
    {
      content: [{ type: 'thinking', thinking: /./, signature: /./ }, { type: 'text' }],
      usage: { output_tokens_details: { thinking_tokens: 6 } },
    },
  ],
  [
    'thinking within a budget',
    { thinking: { type: 'enabled', budget_tokens: 2 } },
    { usage: { output_tokens_details: { thinking_tokens: 2 } } },
  ],
  [
    'adaptive thinking with effort',
    { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    { usage: { output_tokens_details: { thinking_tokens: 12 } } },
  ],
  [
    'thinking that is not shown',
    { thinking: { type: 'adaptive', display: 'omitted' } },
    { content: [{ type: 'thinking', thinking: '', signature: /./ }, { type: 'text' }] },
  ],
  [
    'thinking between tools',
    { thinking: { type: 'between_tools' } },
    { content: [{ type: 'thinking' }, { type: 'text' }] },
  ],
  ['thinking switched off', { thinking: { type: 'disabled' } }, { content: [{ type: 'text' }] }],
  ['effort without thinking', { output_config: { effort: 'max' } }, { content: [{ type: 'text' }] }],
  [
    'redacted thinking',
    { thinking: { type: 'adaptive' } },
    { content: [{ type: 'redacted_thinking', data: /./ }, { type: 'text' }] },
    'thinking=redacted',
  ],
  [
    'a call',
    { tools: [LOOKUP] },
    {
      stop_reason: 'tool_use',
      content: [
        { type: 'tool_use', id: /^toolu_/, name: 'lookup', input: { word: /./ }, caller: { type: 'direct' } },
      ],
    },
  ],
  [
    'thinking before a call',
    { tools: [LOOKUP], thinking: { type: 'adaptive' } },
    { content: [{ type: 'thinking' }, { type: 'tool_use' }] },
  ],
  [
    'parallel calls',
    { tools: [LOOKUP], messages: [{ role: 'user', content: 'parallel' }] },
    { content: [{ type: 'tool_use' }, { type: 'tool_use' }] },
  ],
  [
    'one call at a time',
    {
      tools: [LOOKUP],
      messages: [{ role: 'user', content: 'parallel' }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    { content: [{ type: 'tool_use' }] },
  ],
  [
    'a call that is cut off',
    { tools: [LOOKUP], max_tokens: 2 },
    { stop_reason: 'max_tokens', content: [{ type: 'tool_use', input: {} }] },
  ],
  ['no call', { tools: [LOOKUP], tool_choice: { type: 'none' } }, { content: [{ type: 'text' }] }],
  [
    'tools known by heart',
    { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    { content: [{ type: 'tool_use', name: 'bash', input: { command: /./ } }] },
  ],
  [
    'a search',
    { tools: [SEARCH] },
    {
      content: [
        { type: 'server_tool_use', name: 'web_search', input: { query: /./ } },
        { type: 'web_search_tool_result', content: [] },
        { type: 'text', citations: [] },
      ],
      usage: { server_tool_use: { web_search_requests: 1 } },
    },
  ],
  [
    'a search after thinking',
    { tools: [SEARCH], thinking: { type: 'adaptive' } },
    {
      content: [
        { type: 'thinking' },
        { type: 'server_tool_use' },
        { type: 'web_search_tool_result' },
        { type: 'thinking' },
        { type: 'text' },
      ],
    },
  ],
  [
    'a picture',
    {
      messages: user({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }, ASK),
    },
    { content: [{ type: 'text', citations: [] }] },
  ],
  [
    'a text document',
    { messages: user(document({ type: 'text', media_type: 'text/plain', data: 'Grass is green.' }), ASK) },
    {
      content: [
        {
          citations: [
            {
              type: 'char_location',
              cited_text: 'Grass is green.',
              document_title: 'T',
              start_char_index: 0,
              end_char_index: 15,
            },
          ],
        },
      ],
    },
  ],
  [
    'a PDF',
    { messages: user(document({ type: 'base64', media_type: 'application/pdf', data: PDF }), ASK) },
    { content: [{ citations: [{ type: 'page_location', start_page_number: 1 }] }] },
  ],
  [
    'a document of blocks',
    { messages: user(document({ type: 'content', content: [{ type: 'text', text: 'abc' }] }), ASK) },
    { content: [{ citations: [{ type: 'content_block_location', cited_text: 'abc' }] }] },
  ],
  [
    'a search result',
    {
      messages: user(
        {
          type: 'search_result',
          title: 't',
          source: 's',
          content: [{ type: 'text', text: 'abc' }],
          citations: { enabled: true },
        },
        ASK,
      ),
    },
    { content: [{ citations: [{ type: 'search_result_location', source: 's', cited_text: 'abc' }] }] },
  ],
  [
    'structured output',
    { output_config: { format: { type: 'json_schema', schema: LOOKUP.input_schema } } },
    { content: [{ text: /^\{"word":".*"\}$/ }] },
  ],
  [
    'a cache',
    { system: [{ type: 'text', text: 'Be brief. '.repeat(20), cache_control: { type: 'ephemeral' } }] },
    { usage: { cache_read_input_tokens: 54, input_tokens: 10 } },
  ],
  ['speed', { speed: 'fast' }, { usage: { speed: 'fast' } }],
  [
    'a refusal',
    {},
    {
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: 'general_harms', explanation: /./ },
    },
    'fault=content-filter; after=2',
  ],
  [
    'a compaction',
    {},
    { stop_reason: 'compaction', content: [{ type: 'compaction', content: /./ }, { type: 'text' }] },
    'stop_reason=compaction',
  ],
  ['a pause', {}, { stop_reason: 'pause_turn', stop_details: null }, 'stop_reason=pause_turn'],
  [
    'a full context',
    {},
    { stop_reason: 'model_context_window_exceeded' },
    'stop_reason=model_context_window_exceeded',
  ],
  ['a pause by configuration', { model: 'strict/paused' }, { stop_reason: 'pause_turn' }],
]

for (const [what, more, expected, simulate = ''] of ROWS) {
  test(`${what}, whole and streamed alike`, async (t) => {
    const request = message({ model: 'lab/plain', max_tokens: 4000, ...more })
    const headers = simulate === '' ? {} : { 'X-Service-Simulate': simulate }
    const asked = await askMessages(server, request, headers)
    t.equal(asked.status, 200, asked.text)
    const { id, ...whole } = asked.json()
    t.ok(MessagesReply.safeParse({ id, ...whole }).success)
    t.equal(id, asked.headers.get('x-generation-id'))
    t.match(whole, expected)
    const { content } = expected as { content?: unknown[] }
    if (content !== undefined) t.equal(whole.content.length, content.length, 'and no further block')
    const streamed = await askMessages(server, { ...request, stream: true }, headers)
    t.equal(streamed.status, 200)
    t.match(streamed.headers.get('content-type'), /^text\/event-stream/)
    const events = streamed.events()
    for (const event of events) t.ok(MessagesStreamEvent.safeParse(event).success, JSON.stringify(event))
    const { id: other, ...told } = assembled(events)
    t.equal(other, streamed.headers.get('x-generation-id'))
    t.not(other, id)
    t.strictSame(told, whole)
  })
}

test('an equal request gets an equal answer, without a seed', async (t) => {
  const once = (await askMessages(server, message())).json()
  const again = (
    await askMessages(server, message({ user: 'somebody', metadata: { user_id: 'else' } }))
  ).json()
  t.strictSame(again.content, once.content)
  const other = (await askMessages(server, message({ system: 'Be brief.' }))).json()
  t.notSame(other.content, once.content)
})

test('a conversation of tools ends: a result is answered with text', async (t) => {
  const first = (await askMessages(server, message({ tools: [LOOKUP] }))).json()
  const [call] = first.content
  const result = { type: 'tool_result', tool_use_id: call.id, content: 'found' }
  const messages = [
    { role: 'user', content: 'Look it up.' },
    { role: 'assistant', content: first.content },
    { role: 'user', content: [result, { type: 'text', text: 'And go on.' }] },
  ]
  const next = (await askMessages(server, message({ tools: [LOOKUP], messages }))).json()
  t.match(next, { stop_reason: 'end_turn', content: [{ type: 'text' }] })
})

test('everything a model has said may be sent back to it', async (t) => {
  const thinking = { type: 'adaptive' }
  const first = (await askMessages(server, message({ model: 'lab/plain', tools: [SEARCH], thinking }))).json()
  t.equal(first.content.length, 5)
  const messages = [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: first.content },
    { role: 'user', content: 'On.' },
  ]
  t.equal((await askMessages(server, message({ model: 'lab/plain', messages }))).status, 200)
})

const SENTENCES: readonly (readonly [more: object, said: RegExp])[] = [
  [
    { tools: [{ type: 'brand_new_20300101', name: 'x' }] },
    /^Invalid request parameters: tools\.0: this model runs no tool of type "brand_new_20300101"/,
  ],
  [
    { tools: [{ name: 'a', input_schema: { properties: { b: { enum: [] } }, required: ['b'] } }] },
    /^Invalid request parameters: tools: parameters of "a"/,
  ],
]

test('what a simulated model cannot do is refused with a sentence', async (t) => {
  for (const [more, said] of SENTENCES) {
    for (const stream of [false, true]) {
      const asked = await askMessages(server, message({ ...more, stream }))
      t.equal(asked.status, 400)
      t.match(asked.json(), { error: { type: 'invalid_request_error', message: said }, request_id: /^gen-/ })
    }
  }
})

test('X-Service-Simulate is refused where the operator has not allowed it, or where it is wrong', async (t) => {
  const simulate = (text: string, model: string): Promise<Json> =>
    askMessages(server, message({ model }), { 'X-Service-Simulate': text }).then((asked) => asked.json())
  t.match(await simulate('stop_reason=refusal', 'strict/plain'), { error: { message: /not allowed/ } })
  t.match(await simulate('stop_reason=boredom', 'lab/plain'), {
    error: { message: /X-Service-Simulate: stop_reason/ },
  })
  t.match(await simulate('thinking=loud', 'lab/plain'), {
    error: { message: /X-Service-Simulate: thinking/ },
  })
})

test('require_parameters knows the words of this format', async (t) => {
  const provider = { require_parameters: true }
  const known = {
    stop_sequences: ['x'],
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
    speed: 'fast',
  }
  t.equal((await askMessages(server, message({ ...known, system: 'x', provider }))).status, 200)
  // The fault models think of nothing.
  const thinking = { type: 'adaptive' }
  const asked = await askMessages(server, message({ model: 'sim/overloaded', thinking, provider }))
  t.equal(asked.status, 404)
})

test('a request that cannot be counted is refused by who would count it', async (t) => {
  const count = (...tools: object[]) => askMessages(server, message({ tools }), {}, '/messages/count_tokens')
  t.equal((await count(SEARCH, { type: 'service:datetime' })).status, 200)
  const asked = await count({ type: 'brand_new_20300101', name: 'x' })
  t.equal(asked.status, 400)
  t.match(asked.json(), { error: { message: /runs no tool/ }, request_id: /^gen-/ })
})

test('fallbacks are tried in order, and the answer tells who served', async (t) => {
  const request = { model: 'lab/down', fallbacks: [{ model: 'strict/plain' }] }
  for (const stream of [false, true]) {
    const asked = await askMessages(server, message({ ...request, stream }), {
      'X-Service-Metadata': 'enabled',
    })
    const told = stream ? assembled(asked.events()) : asked.json()
    t.match(told, {
      model: 'strict/plain',
      provider: 'Strict',
      service_metadata: {
        requested: 'lab/down',
        strategy: 'fallback',
        attempt: 2,
        attempts: [{ status: 500 }, { status: 200 }],
      },
    })
  }
})

test('metadata are told on errors to who asks for them, and to nobody else', async (t) => {
  const asked = await askMessages(server, message({ model: 'lab/down' }), {
    'X-OpenRouter-Metadata': 'Enabled',
  })
  t.equal(asked.status, 502)
  t.match(asked.json(), { type: 'error', error: { type: 'api_error' }, service_metadata: { attempt: 0 } })
  t.notOk('service_metadata' in (await askMessages(server, message({ model: 'lab/down' }))).json())
})

test('a key counts in either header, and a query does not matter', async (t) => {
  const bearer = { Authorization: `Bearer ${API_KEY}`, 'x-api-key': '' }
  const beta = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'context-1m-2025-08-07,other' }
  t.equal((await askMessages(server, message(), bearer)).status, 200)
  t.equal((await askMessages(server, message(), beta, '/messages?beta=true')).status, 200)
  t.equal((await askMessages(server, message(), { ...bearer, 'x-api-key': 'ignored' })).status, 200)
})

test('tokens are counted as an answer would count them, and max_tokens is not needed', async (t) => {
  for (const more of [{}, { system: 'Be brief.', tools: [LOOKUP] }, { thinking: { type: 'adaptive' } }]) {
    const { max_tokens: _, ...request } = message({ model: 'lab/plain', ...more })
    const counted = await askMessages(server, request, {}, '/messages/count_tokens?beta=true')
    t.equal(counted.status, 200)
    const { usage } = (await askMessages(server, message({ model: 'lab/plain', ...more }))).json()
    t.strictSame(counted.json(), { input_tokens: usage.input_tokens })
    t.match(counted.headers.get('request-id'), /^req-/)
  }
})
