/** Both endpoints over both kinds of provider: whoever asks hears the same, in the words of the format asked in. */
import { type Test, test } from 'tap'
import { askMessages, assembled } from '../../support/clients/messages-calls.js'
import { refusing, speaking, WIRE_USAGE } from '../../support/providers/mock-anthropic.js'
import { type MockUpstream, mockUpstream, type Script } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import {
  askChat,
  CANARY_PROMPT,
  type GatewayServer,
  startGateway,
} from '../../support/servers/gateway-server.js'

const PRICES = { prompt: '0.000001', completion: '0.000002' }
const ASKED = [{ role: 'user', content: CANARY_PROMPT }]
const SAID = 'Hello from elsewhere'

interface Crossing {
  readonly server: GatewayServer
  readonly theirs: MockUpstream
  readonly openAi: MockUpstream
}

const sayingChat: Script = (peer, { body }) => {
  if ((JSON.parse(body) as { stream: boolean }).stream)
    peer.stream(mockStream('Hello ', 'from ', 'elsewhere'))
  else peer.json(mockCompletion(SAID))
}
const sayingMessages = speaking({ content: [{ type: 'text', text: SAID }] })

async function crossing(t: Test): Promise<Crossing> {
  const theirs = await mockUpstream(t, sayingMessages)
  const openAi = await mockUpstream(t, sayingChat)
  const endpoint = (provider: string): object => ({
    provider,
    upstream_model: `${provider}-1`,
    prices: PRICES,
  })
  const server = await startGateway({
    env: { SLUICE_WORKERS: '1' },
    config: {
      providers: {
        theirs: { kind: 'anthropic', name: 'Theirs', base_url: theirs.origin },
        other: { kind: 'openai', name: 'Other', base_url: `${openAi.origin}/v1` },
      },
      models: {
        'acme/theirs': { endpoints: [endpoint('theirs')] },
        'acme/other': { endpoints: [endpoint('other')] },
        'acme/both': { endpoints: [endpoint('other'), endpoint('theirs')] },
      },
    },
  })
  t.teardown(() => server.stop())
  return { server, theirs, openAi }
}

test('chat and messages over either kind of provider', async (t) => {
  const { server, theirs, openAi } = await crossing(t)
  for (const model of ['acme/theirs', 'acme/other']) {
    const chat = await askChat(server, { model, messages: ASKED, max_tokens: 50 })
    t.match(chat.json(), {
      choices: [{ message: { role: 'assistant', content: SAID }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    })
    const streamed = await askChat(server, { model, messages: ASKED, max_tokens: 50, stream: true })
    const pieces = streamed.events().map((event) => event.choices?.[0]?.delta.content ?? '')
    t.equal(pieces.join(''), SAID)
    t.equal(streamed.events().at(-1), '[DONE]')

    const message = await askMessages(server, { model, messages: ASKED, max_tokens: 50 })
    t.match(message.json(), {
      type: 'message',
      content: [{ type: 'text', text: SAID, citations: [] }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    })
    const told = await askMessages(server, { model, messages: ASKED, max_tokens: 50, stream: true })
    t.match(assembled(told.events()), {
      content: [{ type: 'text', text: SAID, citations: [] }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    })
  }
  t.equal(theirs.requests.length, 4)
  t.equal(openAi.requests.length, 4)
})

test('what one provider’s format cannot say goes to one whose format can', async (t) => {
  const { server, theirs, openAi } = await crossing(t)
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
  const body = { messages: ASKED, max_tokens: 50, tools }
  const answered = await askMessages(server, { model: 'acme/both', ...body })
  t.equal(answered.status, 200)
  t.equal(openAi.requests.length, 0)
  t.same((JSON.parse(theirs.requests[0]!.body) as { tools: unknown }).tools, tools)
  const refused = await askMessages(server, { model: 'acme/other', ...body })
  t.equal(refused.status, 400)
  t.match(refused.json().error, { type: 'invalid_request_error', message: /tools\.0\.engine: auto finds no/ })
  t.equal(openAi.requests.length, 0)
})

test('a refusal of the provider is told in the dialect of the caller', async (t) => {
  const { server, theirs } = await crossing(t)
  theirs.script = refusing(429, 'rate_limit_error', 'slow down', { 'retry-after': '30' })
  const message = await askMessages(server, { model: 'acme/theirs', messages: ASKED, max_tokens: 50 })
  t.equal(message.status, 429)
  t.match(message.json(), { type: 'error', error: { type: 'rate_limit_error' } })
  t.equal(message.headers.get('retry-after'), '30')
  const chat = await askChat(server, { model: 'acme/theirs', messages: ASKED })
  t.equal(chat.status, 429)
  t.match(chat.json().error, { code: 429, metadata: { provider_code: 'rate_limit_error' } })
})

test('tokens are counted by a provider that can', async (t) => {
  const { server } = await crossing(t)
  const path = '/messages/count_tokens'
  const theirs = await askMessages(server, { model: 'acme/theirs', messages: ASKED }, {}, path)
  t.same(theirs.json(), { input_tokens: 42 })
  const other = await askMessages(server, { model: 'acme/other', messages: ASKED }, {}, path)
  t.ok(other.json().input_tokens > 0)
})

test('figures of a messages server that cannot be true are neither charged nor told, in either format', async (t) => {
  const { server, theirs } = await crossing(t)
  const content = [{ type: 'text', text: SAID }]
  for (const figure of [-1, 1_000_000_001, 2 ** 53 - 1, 1e300]) {
    for (const name of ['input_tokens', 'output_tokens']) {
      theirs.script = speaking({ content, usage: { ...WIRE_USAGE, [name]: figure } })
      for (const stream of [false, true]) {
        const body = { model: 'acme/theirs', messages: ASKED, max_tokens: 50, stream }
        const about = `${name}: ${figure}, ${stream ? 'streamed' : 'whole'}`
        const message = await askMessages(server, body)
        const told = stream ? message.events().at(-2) : message.json()
        t.notMatch(message.text, `:${figure}`, about)
        t.ok(told.usage.output_tokens > 0 && told.usage.output_tokens < 20, about)
        t.ok(told.usage.input_tokens > 0 && told.usage.input_tokens < 50, about)
        t.ok(told.usage.cost > 0 && told.usage.cost < 0.001, about)
        const chat = await askChat(server, body)
        const said = stream ? chat.events().at(-2) : chat.json()
        t.ok(said.usage.cost > 0 && said.usage.cost < 0.001, about)
      }
    }
  }
})

test('JSON of any shape, marks and the wish to cache reach a messages server, and the caller is told what was lost', async (t) => {
  const { server, theirs } = await crossing(t)
  const breakpoint = { prompt_cache_breakpoint: { mode: 'explicit' } }
  for (const stream of [false, true]) {
    const marked = await askChat(
      server,
      {
        model: 'acme/theirs',
        messages: [{ role: 'user', content: [{ type: 'text', text: 'x', ...breakpoint }] }],
        response_format: { type: 'json_object' },
        prompt_cache_options: { mode: 'explicit', ttl: '1h' },
        stream,
      },
      { 'X-Service-Metadata': 'enabled' },
    )
    const told = stream ? marked.events().at(-2) : marked.json()
    t.strictSame(told.service_metadata.untranslated, ['response_format.type'])
    t.match(JSON.parse(theirs.requests.at(-1)!.body), {
      system: /one JSON object/,
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        },
      ],
    })
    // Whoever marks nothing gets the breakpoints that the server needs.
    const managed = { messages: ASKED, cache_control: { type: 'ephemeral' }, stream }
    await askChat(server, { model: 'acme/theirs', ...managed })
    const cached = [{ type: 'text', text: CANARY_PROMPT, cache_control: { type: 'ephemeral' } }]
    t.match(JSON.parse(theirs.requests.at(-1)!.body), { messages: [{ role: 'user', content: cached }] })
    await askMessages(server, { model: 'acme/theirs', max_tokens: 9, ...managed })
    t.match(JSON.parse(theirs.requests.at(-1)!.body), { messages: [{ role: 'user', content: cached }] })
    t.notOk(Object.hasOwn(JSON.parse(theirs.requests.at(-1)!.body), 'cache_control'))
  }
})

test('blocks of any kind go back to a messages server, and to a chat server in words', async (t) => {
  const { server, theirs, openAi } = await crossing(t)
  const content = [
    { type: 'mcp_tool_use', id: 'm1', name: 'echo', server_name: 'lab', input: { a: 1 } },
    { type: 'mcp_tool_result', tool_use_id: 'm1', is_error: false, content: [{ type: 'text', text: 'one' }] },
    { type: 'kind_of_next_year', it: { holds: ['something'] } },
  ]
  const history = [...ASKED, { role: 'assistant', content }, ...ASKED]
  for (const stream of [false, true]) {
    const body = { max_tokens: 50, messages: history, stream }
    t.equal((await askMessages(server, { model: 'acme/theirs', ...body })).status, 200)
    t.strictSame(JSON.parse(theirs.requests.at(-1)!.body).messages[1].content, content)
    const metadata = { 'X-Service-Metadata': 'enabled' }
    const crossed = await askMessages(server, { model: 'acme/other', ...body }, metadata)
    const told = stream ? crossed.events().at(-1) : crossed.json()
    t.strictSame(told.service_metadata.untranslated, [
      'messages.mcp_tool_use',
      'messages.mcp_tool_result',
      'messages.kind_of_next_year',
    ])
    t.strictSame(JSON.parse(openAi.requests.at(-1)!.body).messages[1].content, [
      { type: 'text', text: '[echo] {"a":1}' },
      { type: 'text', text: 'one' },
    ])
  }
})
