/** Server tools of messages requests over providers that run tools themselves, and over others (contract/tools 1.8, 3.12). */
import tap, { test } from 'tap'
import { askMessages, assembled } from '../../support/clients/messages-calls.js'
import { speaking, type WireAnswer } from '../../support/providers/mock-anthropic.js'
import { mockUpstream, type Script } from '../../support/providers/mock-upstream.js'
import { mockCompletion } from '../../support/servers/chat-bench.js'
import { type Json, startGateway } from '../../support/servers/gateway-server.js'

const SEARCH = { type: 'web_search_20250305', name: 'web_search' }
const CLOCK = { type: 'service:datetime' }
const ASKED = [{ role: 'user', content: 'go' }]
const SIGNED = { type: 'thinking', thinking: 'hm', signature: 'c2lnbmF0dXJl' }

/** What the messages server says, one answer per request. */
let turns: WireAnswer[] = []
const sayingTurns: Script = (peer, request) => {
  const next = turns.shift()
  if (next === undefined) throw new Error('a turn too many')
  speaking(next)(peer, request)
}
const theirs = await mockUpstream(tap, sayingTurns)
const openAi = await mockUpstream(tap, (peer) => peer.json(mockCompletion('Hello')))
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: {
      theirs: { kind: 'anthropic', name: 'Theirs', base_url: theirs.origin },
      other: { kind: 'openai', name: 'Other', base_url: `${openAi.origin}/v1` },
    },
    models: {
      'acme/theirs': { endpoints: [{ provider: 'theirs' }] },
      'acme/other': { endpoints: [{ provider: 'other' }] },
    },
  },
})
tap.teardown(() => server.stop())

const sentTo = ({ requests }: typeof theirs): Json[] => requests.map(({ body }) => JSON.parse(body))
const call = (id: string, name: string, input: object = {}): Json => ({ type: 'tool_use', id, name, input })
const native = [
  { type: 'server_tool_use', id: 'srvtoolu_01', name: 'web_search', input: { query: 'x' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_01',
    content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'e', page_age: null }],
  },
]

test('a provider that runs a tool is left to do it, beside tools of ours', async (t) => {
  for (const stream of [false, true]) {
    theirs.requests.length = 0
    turns = [
      { content: [SIGNED, ...native, call('toolu_1', 'datetime')], stop_reason: 'tool_use' },
      { content: [{ type: 'text', text: 'Late.' }] },
    ]
    const body = { model: 'acme/theirs', max_tokens: 50, messages: ASKED, tools: [SEARCH, CLOCK], stream }
    const asked = await askMessages(server, body)
    const told = stream ? assembled(asked.events()) : asked.json()
    t.strictSame(
      told.content.map(({ type }: Json) => type),
      [
        'thinking',
        'server_tool_use',
        'web_search_tool_result',
        'server_tool_use',
        'datetime_tool_result',
        'text',
      ],
    )
    t.match(told.usage, { input_tokens: 20, output_tokens: 10, service_tier: 'standard' })
    const [first, second] = sentTo(theirs)
    t.match(first.tools, [SEARCH, { name: 'datetime', input_schema: { type: 'object' } }])
    // The signature and the blocks of the provider are handed back as they came.
    t.strictSame(second.messages[1].content, [SIGNED, ...native, call('toolu_1', 'datetime')])
    t.match(second.messages[2].content, [
      { type: 'tool_result', tool_use_id: 'toolu_1', content: /datetime/ },
    ])
  }
})

test('a request whose tools the provider runs alone is one ordinary call', async (t) => {
  theirs.requests.length = 0
  turns = [{ content: [...native, { type: 'text', text: 'Found.' }], stop_reason: 'pause_turn' }]
  const body = {
    model: 'acme/theirs',
    max_tokens: 50,
    messages: ASKED,
    tools: [{ ...SEARCH, engine: 'auto' }],
    max_tool_calls: 3,
  }
  const asked = await askMessages(server, body, { 'X-Service-Metadata': 'enabled' })
  t.strictSame(asked.json().service_metadata.untranslated, ['max_tool_calls'], 'there is no loop to end')
  t.equal(asked.json().stop_reason, 'pause_turn')
  t.strictSame(asked.json().content.slice(0, 2), native)
  t.strictSame(sentTo(theirs)[0].tools, [SEARCH])
})

test('a tool that is switched off here may still be the provider’s', async (t) => {
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }]
  theirs.requests.length = 0
  turns = [{ content: [{ type: 'text', text: 'Done.' }] }]
  const body = { max_tokens: 50, messages: ASKED, tools }
  t.equal((await askMessages(server, { ...body, model: 'acme/theirs' })).status, 200)
  t.strictSame(sentTo(theirs)[0].tools, tools)
  const refused = await askMessages(server, { ...body, model: 'acme/other' })
  t.equal(refused.status, 400)
  t.match(refused.json().error.message, /tools\.0.*switched off/)
})

test('blocks of ours become calls and results for a provider of either format', async (t) => {
  turns = [
    {
      content: [{ type: 'text', text: 'I look.' }, call('toolu_1', 'datetime', { timezone: 'UTC' })],
      stop_reason: 'tool_use',
    },
    { content: [{ type: 'text', text: 'Late.' }] },
  ]
  const body = { max_tokens: 50, tools: [CLOCK] }
  const first = (await askMessages(server, { ...body, model: 'acme/theirs', messages: ASKED })).json()
  const messages = [
    ...ASKED,
    { role: 'assistant', content: first.content },
    { role: 'user', content: 'And now?' },
  ]
  theirs.requests.length = 0
  turns = [{ content: [{ type: 'text', text: 'Later.' }] }]
  for (const tools of [[CLOCK], []]) {
    turns = [{ content: [{ type: 'text', text: 'Later.' }] }]
    const asked = await askMessages(server, { ...body, tools, model: 'acme/theirs', messages })
    t.equal(asked.status, 200, asked.text)
  }
  const id = first.content[1].id
  for (const { messages: sent } of sentTo(theirs)) {
    t.match(sent, [
      ASKED[0],
      {
        role: 'assistant',
        content: [
          { text: 'I look.' },
          { type: 'tool_use', id, name: 'datetime', input: { timezone: 'UTC' } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: /"timezone":"UTC"/ }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Late.' }] },
      { role: 'user', content: 'And now?' },
    ])
    t.notMatch(JSON.stringify(sent), /service_mark|server_tool_use/)
  }
  theirs.requests.length = 0
  turns = [{ content: [] }]
  await askMessages(server, { ...body, model: 'acme/theirs', messages }, {}, '/messages/count_tokens')
  const [count] = sentTo(theirs)
  t.match(count, {
    tools: [{ name: 'datetime' }],
    messages: [{}, {}, { content: [{ type: 'tool_result' }] }],
  })
  t.notMatch(JSON.stringify(count), /service_mark|server_tool_use/, 'nor where it only counts')
  openAi.requests.length = 0
  t.equal((await askMessages(server, { ...body, model: 'acme/other', messages })).status, 200)
  t.match(sentTo(openAi)[0].messages, [
    { role: 'user' },
    { role: 'assistant', tool_calls: [{ id, function: { name: 'datetime' } }] },
    { role: 'tool', tool_call_id: id },
    { role: 'assistant', content: [{ type: 'text', text: 'Late.' }] },
    { role: 'user' },
  ])
})

test('tools that the caller runs are offered to a chat provider with the arguments of the format', async (t) => {
  openAi.requests.length = 0
  const tools = [
    { type: 'bash_20250124', name: 'bash' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
    { type: 'memory_20250818', name: 'memory' },
  ]
  const asked = await askMessages(server, { model: 'acme/other', max_tokens: 50, messages: ASKED, tools })
  t.equal(asked.status, 200)
  t.match(sentTo(openAi)[0].tools, [
    {
      type: 'function',
      function: { name: 'bash', parameters: { properties: { command: {}, restart: {} } } },
    },
    { function: { name: 'str_replace_based_edit_tool', parameters: { required: ['command', 'path'] } } },
    { function: { name: 'memory', parameters: { properties: { old_path: {}, new_path: {} } } } },
  ])
})

test('a failure in a later turn: whole what was said, streamed an error event', async (t) => {
  const body = { model: 'acme/theirs', max_tokens: 50, messages: ASKED, tools: [CLOCK] }
  const saying = {
    content: [{ type: 'text', text: 'I look.' }, call('toolu_1', 'datetime')],
    stop_reason: 'tool_use',
  }
  const failing = { content: [{ type: 'text', text: '' }], stop_reason: 'refusal' }
  turns = [saying, failing]
  const refused = await askMessages(server, body)
  t.equal(refused.json().stop_reason, 'refusal')
  t.equal(refused.json().content[0].text, 'I look.')
  theirs.script = (peer, request) => {
    if (turns.length > 0) sayingTurns(peer, request)
    else peer.json({ type: 'error', error: { type: 'invalid_request_error', message: 'no' } }, 400)
  }
  turns = [saying]
  const broken = await askMessages(server, body)
  t.equal(broken.status, 200, broken.text)
  t.equal(broken.json().stop_reason, null)
  t.strictSame(
    broken.json().content.map(({ type }: Json) => type),
    ['text', 'server_tool_use', 'datetime_tool_result'],
  )
  turns = [saying]
  const streamed = await askMessages(server, { ...body, stream: true })
  t.equal(streamed.events().at(-1)?.type, 'error')
  turns = [{ content: [call('toolu_1', 'datetime')], stop_reason: 'tool_use' }]
  t.equal((await askMessages(server, body)).status, 400, 'nothing was said')
})
