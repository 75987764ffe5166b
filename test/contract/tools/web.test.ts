/** The web on both formats, over a real server: the simulated web without configuration, and engines, pages and settings. */
import tap, { test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import { pdfOf } from '../../support/data/pdf.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { playEngine, SEARCH_KEY } from '../../support/providers/strict-search.js'
import { askChat, type GatewayServer, type Json, startGateway } from '../../support/servers/gateway-server.js'

const web = await mockUpstream(tap)
const engine = await mockUpstream(
  tap,
  playEngine('brave', [{ url: 'https://a.example/x', title: 'X', text: 'found' }]),
)
const plain = await startGateway({ env: { SLUICE_WORKERS: '1' } })
const open = await startGateway({
  env: { SLUICE_WORKERS: '1', SLUICE_ALLOW_LOOPBACK_FILES: 'on', BRAVE_KEY: SEARCH_KEY },
  config: {
    tools: {
      web_search: { price: 0.002, brave: { api_key_env: 'BRAVE_KEY', base_url: engine.origin } },
      web_fetch: { enabled: true, price: 0.001, known_addresses_only: true, max_bytes: 10_000 },
    },
  },
})
tap.teardown(() => Promise.all([plain.stop(), open.stop()]))

const lines = (...said: string[]) => [{ role: 'user', content: said.join('\n') }]
const agent = (server: GatewayServer, body: object) => askChat(server, { model: 'sim/agent', ...body })
const messageOf = async (server: GatewayServer, body: object): Promise<Json> => {
  const answer = await agent(server, body)
  tap.equal(answer.status, 200, answer.text)
  return answer.json().choices[0].message
}

test('a simulated model searches, reads a PDF and cites, without any configuration', async (t) => {
  const body = {
    messages: lines(
      'call service:web_search {"query":"gate three jammed"}',
      'call service:web_fetch {"url":"https://waterworks.example/reports/2025.pdf"}',
    ),
    tools: [{ type: 'openrouter:web_search', parameters: { max_results: 2 } }, { type: 'service:web_fetch' }],
  }
  const whole = await messageOf(plain, body)
  t.match(whole.content, /jammed twice/)
  t.match(whole.annotations, [
    { type: 'url_citation', url_citation: { url: 'https://gazette.example/2026/gate-three', title: String } },
    { type: 'url_citation', url_citation: { url: 'https://waterworks.example/reports/2025.pdf' } },
  ])
  const events = (await agent(plain, { ...body, stream: true })).events()
  const deltas = events.flatMap(({ choices = [] }: Json) => choices.map(({ delta }: Json) => delta))
  t.equal(deltas.map(({ content }: Json) => content ?? '').join(''), whole.content)
  t.same(
    deltas.flatMap(({ annotations = [] }: Json) => annotations),
    whole.annotations,
  )
})

test('messages: results, a page and what goes wrong as blocks of the format', async (t) => {
  const { content, usage } = (
    await askMessages(plain, {
      ...{ model: 'sim/agent', max_tokens: 500 },
      messages: lines(
        'call service:web_search {"query":"eclipse"}',
        'call service:web_fetch {"url":"https://almanac.example/winds"}',
        'call service:web_fetch {"url":"https://almanac.example/none"}',
      ),
      tools: [{ type: 'service:web_search' }, { type: 'service:web_fetch' }],
    })
  ).json()
  const results = content
    .filter(({ type }: Json) => /_tool_result$/.test(type))
    .map((block: Json) => block.content)
  t.match(results, [
    [{ type: 'web_search_result', url: 'https://almanac.example/night-sky/2026', page_age: '2025-12-27' }],
    {
      type: 'web_fetch_result',
      url: 'https://almanac.example/winds',
      content: { type: 'document', title: 'Winds of the Marlow coast', source: { data: /south-west/ } },
    },
    { type: 'web_fetch_tool_result_error', error_code: String },
  ])
  t.match(usage.server_tool_use, { web_search_requests: 1, web_fetch_requests: 2 })
})

test('what is not configured, or contradicts itself, is 400 and names the place', async (t) => {
  const hello = { messages: lines('hello') }
  const cases: readonly [body: object, message: RegExp][] = [
    [
      { tools: [{ type: 'service:web_search', parameters: { engine: 'exa' } }] },
      /tools\.0\.parameters\.engine: exa is not configured: set tools\.web_search\.exa/,
    ],
    [{ tools: [{ type: 'service:web_search', parameters: { engine: 'native' } }] }, /native/],
    [
      { tools: [{ type: 'service:web_search', parameters: { allowed_domains: ['a b'] } }] },
      /tools\.0\.parameters\.allowed_domains\.0: must be a domain/,
    ],
    [
      {
        tools: [
          {
            type: 'service:web_search',
            parameters: { allowed_domains: ['a.example'], excluded_domains: ['b.example'] },
          },
        ],
      },
      /not both/,
    ],
    [
      {
        tools: [
          {
            type: 'service:web_fetch',
            parameters: { allowed_domains: ['a.example'], blocked_domains: ['a.example'] },
          },
        ],
      },
      /allowed_domains\.0: is a domain that the other list denies/,
    ],
    [{ plugins: [{ id: 'web', engine: 'firecrawl' }] }, /plugins\.0\.engine: firecrawl is not configured/],
    [{ plugins: [{ id: 'web-fetch', blocked_domains: ['?'] }] }, /plugins\.0\.blocked_domains\.0/],
  ]
  for (const [body, message] of cases) {
    const answer = await agent(plain, { ...hello, ...body })
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.json().error.message, message)
  }
})

test('a configured engine serves every model, and its fee is in the usage', async (t) => {
  const answer = (
    await agent(open, {
      messages: lines('call service:web_search {"query":"x"}'),
      tools: [{ type: 'web_search' }],
    })
  ).json()
  t.match(answer.choices[0].message.content, /found/)
  t.match(answer.usage.cost_details, { server_tool_cost: 0.002 })
  t.equal(engine.requests.length, 1)
})

test('pages of the real web: read where they are known, bounded, and what lies is told', async (t) => {
  const url = (path: string) => `${web.origin}${path}`
  web.script = (peer, { path }) => {
    if (path === '/page')
      return peer.answer(200, `<title>A page</title><p>words <a href="${url('/next')}">next</a>`, {
        'content-type': 'text/html',
      })
    if (path === '/paper')
      return peer.answer(200, pdfOf('On paper'), { 'content-type': 'application/octet-stream' })
    if (path === '/large') return peer.answer(200, 'x'.repeat(20_000), { 'content-type': 'text/plain' })
    return peer.answer(200, 'never asked for', { 'content-type': 'text/plain' })
  }
  const fetched = async (...calls: string[]) => {
    const { content } = await messageOf(open, {
      messages: lines(
        ...calls,
        `Known: ${url('/page')} ${url('/paper')} ${url('/large')} http://127.0.0.1:1/`,
      ),
      tools: [{ type: 'service:web_fetch' }],
    })
    return content as string
  }
  const call = (path: string): string => `call service:web_fetch {"url":"${url(path)}"}`
  t.match(await fetched(call('/page')), /A page.*words/s)
  t.match(await fetched(call('/paper')), /On paper/)
  t.match(await fetched(call('/large')), /larger than 10000 bytes/)
  t.match(await fetched('call service:web_fetch {"url":"http://127.0.0.1:1/"}'), /could not be reached/)
})

test('plugins: search results and pages stand in the prompt, and a search that fails is told', async (t) => {
  const answer = async (server: GatewayServer, body: object) =>
    (await askChat(server, { model: 'sim/instant', ...body }, { 'X-Service-Metadata': 'enabled' })).json()
  const body = { messages: lines('When does the ferry sail? https://harbour.example/ferry'), max_tokens: 5 }
  const bare = await answer(plain, body)
  const asked = await answer(plain, {
    ...body,
    plugins: [{ id: 'web', max_results: 1 }, { id: 'web-fetch' }],
  })
  t.ok(asked.usage.prompt_tokens > bare.usage.prompt_tokens + 200)
  t.match(asked.usage.server_tool_use_details, { web_search_requests: 1, web_fetch_requests: 1 })
  t.match(asked.choices[0].message.annotations, [{ url_citation: { url: /timetable$/ } }])
  t.match(asked.service_metadata.pipeline, [
    { type: 'plugin', name: 'web', summary: /1 search results/ },
    { type: 'plugin', name: 'web-fetch', summary: '1 of 1 addresses were read into the prompt' },
  ])
  engine.script = (peer) => peer.answer(500, '')
  const failed = await answer(open, { messages: lines('hello'), max_tokens: 5, plugins: [{ id: 'web' }] })
  t.equal(failed.choices[0].finish_reason, 'length', 'the request goes on')
  t.match(failed.service_metadata.pipeline, [
    { name: 'web', summary: /brave answers with status 500/, cost_usd: 0.002 },
  ])
})

test('searches of the plugin count toward the limits of the tool', async (t) => {
  const limited = await startGateway({
    env: { SLUICE_WORKERS: '1' },
    config: { tools: { web_search: { limits: { calls_per_minute_per_key: 2 } } } },
  })
  t.teardown(() => limited.stop())
  const search = {
    messages: lines('call service:web_search {"query":"ferry"}'),
    tools: [{ type: 'service:web_search' }],
  }
  t.match((await messageOf(limited, search)).annotations, { length: 3 })
  const asked = async () =>
    (
      await askChat(
        limited,
        { model: 'sim/instant', messages: lines('ferry'), max_tokens: 5, plugins: [{ id: 'web' }] },
        { 'X-Service-Metadata': 'enabled' },
      )
    ).json()
  t.match((await asked()).service_metadata.pipeline, [
    { name: 'web', summary: /results were put into the prompt/ },
  ])
  t.match((await asked()).service_metadata.pipeline, [
    { name: 'web', summary: /limits or credit do not allow/ },
  ])
  t.notOk((await messageOf(limited, search)).annotations, 'nor does the tool run any more')
})
