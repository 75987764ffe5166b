/** A search server that nobody here wrote answers the tool web_search (contract/tools 3.2). */
import tap, { test } from 'tap'
import { askMessages } from '../support/clients/messages-calls.js'
import { askChat, type Json, startGateway } from '../support/servers/gateway-server.js'
import { HAS_SEARX, startSearx } from '../support/servers/searx-server.js'

const SKIP = HAS_SEARX ? {} : { skip: 'no searx is installed (apt-get install searx)' }

const CORPUS = [
  {
    url: 'https://power.test/tidal',
    title: 'Tidal power',
    text: 'A barrage of 24 turbines makes 240 megawatts.',
  },
  { url: 'https://www.mills.test/tide', title: 'Tide mills', text: 'The mill of Rance was built in 1966.' },
  { url: 'https://power.test/tidal', title: 'The same again', text: 'twice' },
]

const LINES = 'call service:web_search {"query":"tidal power"}'

test('searx', { timeout: 120_000, ...SKIP }, async (t) => {
  const searx = await startSearx(tap)
  const server = await startGateway({
    env: { SLUICE_WORKERS: '1' },
    config: { tools: { web_search: { price: 0.005, searxng: { base_url: searx.baseUrl } } } },
  })
  tap.teardown(() => server.stop())
  const body = (parameters: object = {}) => ({
    model: 'sim/agent',
    messages: [{ role: 'user', content: LINES }],
    tools: [{ type: 'service:web_search', parameters }],
  })
  const urls = ({ annotations = [] }: Json): string[] =>
    annotations.map(({ url_citation }: Json) => url_citation.url)

  await t.test('its results reach the model, the citations and the bill, whole and streamed', async (t) => {
    searx.corpus = CORPUS
    const whole = (await askChat(server, body())).json()
    const { message } = whole.choices[0]
    t.match(message.content, /A barrage of 24 turbines/)
    t.same(urls(message), ['https://power.test/tidal', 'https://www.mills.test/tide'])
    t.match(whole.usage, {
      server_tool_use_details: { web_search_requests: 1 },
      cost_details: { server_tool_cost: 0.005 },
    })
    const events = (await askChat(server, { ...body(), stream: true })).events()
    const deltas = events.flatMap(({ choices = [] }: Json) => choices.map(({ delta }: Json) => delta))
    t.equal(deltas.map(({ content }: Json) => content ?? '').join(''), message.content)
    t.same(deltas.flatMap(urls), urls(message))
    t.equal(searx.asked.length, 2)
  })

  await t.test('domains are asked for and filtered again', async (t) => {
    searx.corpus = CORPUS
    const { message } = (await askChat(server, body({ allowed_domains: ['mills.test'] }))).json().choices[0]
    t.same(urls(message), ['https://www.mills.test/tide'])
    t.equal(searx.asked.at(-1), 'tidal power site:mills.test')
  })

  await t.test('on messages they are blocks of the format', async (t) => {
    const { content } = (
      await askMessages(server, {
        ...{ model: 'sim/agent', max_tokens: 500, messages: [{ role: 'user', content: LINES }] },
        tools: [{ type: 'service:web_search' }],
      })
    ).json()
    t.match(content.find(({ type }: Json) => type === 'web_search_tool_result').content, [
      { type: 'web_search_result', url: 'https://power.test/tidal', title: 'Tidal power' },
    ])
  })

  await t.test('an engine of it that fails is an error that says so, and the answer goes on', async (t) => {
    searx.corpus = null
    const answer = await askChat(server, body())
    t.equal(answer.status, 200)
    t.match(answer.json().choices[0].message.content, /engines did not answer: corpus/)
  })
})
