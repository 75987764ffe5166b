/** What loops of server tools cost, as callers, keys, operators and collectors of metrics see it (contract/tools 2). */
import tap, { type Test, test } from 'tap'
import { API_KEY, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const TOOLS = {
  datetime: { price: 0.001, limits: { calls_per_minute_per_organization: 12 } },
  experimental__search_models: { price: '0.000000003' },
  memory: { enabled: false },
  web_search: { price: 0.005, limits: { calls_per_minute_per_key: 2 } },
}
const NATIVE = {
  providers: { native: { kind: 'anthropic', base_url: 'http://127.0.0.1:9' } },
  models: { 'acme/native': { endpoints: [{ provider: 'native' }] } },
}
const server = await startGateway({ config: { tools: TOOLS, ...NATIVE } })
tap.teardown(() => server.stop())

const TWO_CALLS =
  'call service:datetime {"timezone":"Asia/Tokyo"}\ncall service:experimental__search_models {"query":"x"}'
const TYPES = ['service:datetime', 'service:experimental__search_models']

function request(lines: string, more: object = {}): object {
  const tools = TYPES.map((type) => ({ type }))
  return { model: 'sim/agent', max_tokens: 200, messages: [{ role: 'user', content: lines }], tools, ...more }
}

async function generationOf(id: string): Promise<Json> {
  const response = await server.get(`/generation?id=${id}`)
  if (response.status !== 200) throw new Error(await response.text())
  return ((await response.json()) as Json).data
}

async function keyUsage(): Promise<number> {
  const { data } = (await (await server.get('/key')).json()) as Json
  return data.usage
}

/** In nano-dollars, which add up. */
const nanos = (dollars: number): number => Math.round(dollars * 1e9)
const sum = (amounts: readonly number[]): number =>
  amounts.reduce((before, amount) => before + nanos(amount), 0)

/** The last `usage` of a stream, and the id of its answer. */
function lastUsage(text: string): { readonly id: string; readonly usage: Json } {
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json]) => JSON.parse(json!) as Json)
  const usage = events.map((event) => event.usage).findLast((told) => told?.cost !== undefined)
  const id = events[0].id ?? events[0].message.id
  return { id, usage }
}

const WAYS = [
  ['/chat/completions', false],
  ['/chat/completions', true],
  ['/messages', false],
  ['/messages', true],
] as const

for (const [path, stream] of WAYS) {
  test(`usage is the sum of the rows, and what the key has used: ${path}, stream ${stream}`, async (t) => {
    const before = await keyUsage()
    const response = await server.post(path, request(TWO_CALLS, { stream }))
    t.equal(response.status, 200)
    const text = await response.text()
    const { id, usage } = stream ? lastUsage(text) : (JSON.parse(text) as Json)
    const told = await generationOf(id)
    t.match(told, { outcome: 'settled', api_type: 'completions', streamed: stream })
    t.strictSame(
      told.rows.map(({ kind, name }: Json) => `${kind} ${name}`),
      [
        'turn sim/agent',
        'tool datetime',
        'turn sim/agent',
        'tool experimental__search_models',
        'turn sim/agent',
      ],
    )
    const charged = sum(told.rows.map((row: Json) => row.charged))
    t.equal(nanos(usage.cost), charged)
    const turns = told.rows.filter(({ kind }: Json) => kind === 'turn')
    t.match(
      told.provider_responses,
      turns.map(({ id: row, charged }: Json, at: number) => ({ row, kind: 'turn', turn: at + 1, charged })),
    )
    t.equal(told.provider_responses.length, 3, 'an attempt of each turn')
    t.equal(nanos(told.total_cost), charged)
    t.equal(nanos((await keyUsage()) - before), charged)
    t.equal(nanos(usage.cost_details.server_tool_cost), 1_000_003, 'both fees')
    t.equal(nanos(usage.cost_details.upstream_inference_cost), charged - 1_000_003)
    t.equal(nanos(told.upstream_cost), charged - 1_000_003)
    t.match(told.units, { tool_calls_requested: 2, tool_calls_executed: 2 })
    if (path === '/messages') return
    t.match(usage.server_tool_use_details, { tool_calls_requested: 2, tool_calls_executed: 2 })
    t.equal(usage.prompt_tokens, told.tokens_prompt)
  })
}

test('a row of a request can be read by its own id, and no further one', async (t) => {
  const said = (await (
    await server.post('/chat/completions', request('call service:datetime {}'))
  ).json()) as Json
  t.match(await generationOf(`${said.id}.2`), {
    api_type: 'tool',
    model: 'datetime',
    total_cost: 0.001,
    rows: [],
  })
  for (const id of [`${said.id}.9`, `${said.id}.02`, `${said.id}.`])
    t.equal((await server.get(`/generation?id=${id}`)).status, 404, id)
})

test('the pipeline tells each tool that was run, with its cost', async (t) => {
  const headers = { 'X-Service-Metadata': 'enabled' }
  const response = await server.post('/chat/completions', request(TWO_CALLS), { headers })
  const { service_metadata: told } = (await response.json()) as Json
  t.match(told.pipeline, [
    { type: 'server_tools', name: 'datetime', cost_usd: 0.001 },
    { type: 'server_tools', name: 'experimental__search_models', cost_usd: 3e-9 },
  ])
})

test('models that run beneath a tool, and their tools, are rows and stages of the same request', async (t) => {
  const tools = [
    { type: 'service:advisor', parameters: { model: 'sim/agent', tools: [{ type: TYPES[1] }] } },
    { type: 'service:fusion', parameters: { analysis_models: ['sim/fast', 'sim/agent'], model: 'sim/fast' } },
  ]
  const inner = JSON.stringify({ prompt: `call ${TYPES[1]} {"query":"y"}\nanswer yes` })
  const lines = `call service:advisor ${inner}\ncall service:fusion {"prompt":"is it late?"}\nanswer done`
  const headers = { 'X-Service-Metadata': 'enabled' }
  const response = await server.post('/chat/completions', request(lines, { tools }), { headers })
  const said = (await response.json()) as Json
  const { rows } = await generationOf(said.id)
  const kinds = new Set(rows.map(({ kind }: Json) => kind))
  t.strictSame([...kinds].sort(), ['advisor', 'judge', 'panel', 'tool', 'turn'])
  t.equal(nanos(said.usage.cost), sum(rows.map((row: Json) => row.charged)))
  const staged = said.service_metadata.pipeline.map(({ name }: Json) => name)
  for (const name of ['advisor', 'fusion', 'experimental__search_models'])
    t.ok(staged.includes(name), `${name} of ${staged}`)
  const fees = sum(said.service_metadata.pipeline.map((stage: Json) => stage.cost_usd ?? 0))
  t.equal(fees, nanos(said.usage.cost_details.server_tool_cost))
})

test('a tool that is switched off is a 400 that names it', async (t) => {
  for (const type of ['service:memory', 'openrouter:memory']) {
    const response = await server.post('/chat/completions', request('hello', { tools: [{ type }] }))
    t.equal(response.status, 400)
    t.match(((await response.json()) as Json).error.message, type)
  }
})

test('a limit of a tool that is used up is a result for the model, and costs nothing', async (t) => {
  const lines = Array.from(
    { length: 14 },
    (_, at) => `call service:datetime {"timezone":"Etc/GMT+${at % 12}"}`,
  )
  // Twelve in a minute: some are used up by the tests before.
  const response = await server.post('/chat/completions', request(lines.join('\n'), { max_tool_calls: 30 }))
  t.equal(response.status, 200)
  const said = (await response.json()) as Json
  const { rows } = await generationOf(said.id)
  const fees = rows.filter(({ kind }: Json) => kind === 'tool')
  t.ok(fees.length < 12, `${fees.length} of 14 ran`)
  t.equal(nanos(said.usage.cost), sum(rows.map((row: Json) => row.charged)))
  const { tool_calls_requested: asked, tool_calls_executed: ran } = said.usage.server_tool_use_details
  t.ok(asked > ran, `${asked} asked, ${ran} run`)
})

test('a key that is disabled in the middle ends the loop there, and what ran is settled', async (t) => {
  let cut = await disableInTheMiddle(t)
  // Machines of a fleet that are busy may not call in a limit in time: the loop ends by that before it meets the key.
  for (let again = 0; again < 4 && /"error":\{"code":503/.test(cut.text); again++)
    cut = await disableInTheMiddle(t)
  t.match(cut.text, /"error":\{"code":401/)
  const told = await generationOf(cut.id)
  t.match(told, { outcome: 'failed', finish_reason: 'tool_calls' })
  const ran = told.rows.filter(({ kind }: Json) => kind === 'tool').length
  t.ok(ran >= 1 && ran < 25, `${ran} of 25 calls were run`)
  const key = (await (await server.get(`/keys/${cut.hash}`, MANAGEMENT_KEY)).json()) as Json
  t.equal(nanos(key.data.usage), sum(told.rows.map((row: Json) => row.charged)))
})

/** What a loop of 25 tools answers whose key is disabled after the first of them. */
async function disableInTheMiddle(t: Test): Promise<{ id: string; hash: string; text: string }> {
  const asked = { name: 'short', limit: 1 }
  const made = (await (await server.post('/keys', asked, { key: MANAGEMENT_KEY })).json()) as Json
  const hash: string = made.data.hash
  const lines = Array.from({ length: 25 }, (_, at) => `call ${TYPES[1]} {"query":"q${at}"}`).join('\n')
  const headers = { 'X-Service-Tool-Events': 'enabled' }
  const body = request(lines, { stream: true })
  const response = await server.post('/chat/completions', body, { key: made.key, headers })
  let text = ''
  let disabled: Promise<Response> | null = null
  for await (const piece of response.body!) {
    text += Buffer.from(piece).toString()
    if (!text.includes('"completed"')) continue
    disabled ??= fetch(`${server.apiUrl}/keys/${hash}`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      body: '{"disabled":true}',
    })
  }
  t.equal((await disabled)?.status, 200)
  return { id: response.headers.get('x-generation-id')!, hash, text }
}

test('a search by the plugin costs and counts as one by the tool, and the request says what has searched', async (t) => {
  const plugins = [{ id: 'web' }]
  const asked = { model: 'sim/agent', plugins, messages: [{ role: 'user', content: 'gate three' }] }
  const ids: string[] = []
  for (let call = 0; call < 3; call++) {
    const response = await server.post('/chat/completions', asked)
    const said = (await response.json()) as Json
    ids.push(said.id)
    t.equal(response.status, 200)
    t.equal(nanos(said.usage.cost_details.server_tool_cost ?? 0), call < 2 ? 5_000_000 : 0)
  }
  const searched = await generationOf(ids[1]!)
  t.match(searched, {
    web_search_engine: 'simulated',
    rows: [{ kind: 'plugin', name: 'web', charged: 0.005 }, {}],
  })
  const refused = await generationOf(ids[2]!)
  t.match(refused, { outcome: 'settled', web_search_engine: null })
  t.equal(refused.rows.length, 1, 'the limit of searches left the turn alone')
})

test('calls, errors, time and money of tools are in the metrics', async (t) => {
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
  t.match(metrics, /^sluice_tool_calls_total\{worker="\d+",tool="datetime"\} [1-9]/m)
  t.match(metrics, /^sluice_tool_charged_dollars_total\{worker="\d+",tool="datetime"\} 0\.\d+/m)
  t.match(metrics, /^sluice_tool_duration_seconds_count\{worker="\d+",tool="datetime"\} [1-9]/m)
})

test('explaining tells the tools, what runs them, and what they may cost', async (t) => {
  const asked = { ...request('hello'), plugins: [{ id: 'response-healing' }], max_tool_calls: 4 }
  const response = await server.post('/routing/explain', asked, { key: MANAGEMENT_KEY })
  const { data } = (await response.json()) as Json
  t.match(data.loop, {
    tools: [
      { type: 'service:datetime', name: 'datetime', functions: ['datetime'], fee: 0.001 },
      { name: 'experimental__search_models', fee: 3e-9 },
    ],
    plugins: [{ id: 'response-healing', unasked: false }],
    route: null,
    cost: { most_turns: 14, most_calls: 100, most_fees: 0.1, max_cost: null, most: null },
  })
  const plain = await server.post(
    '/routing/explain',
    { model: 'sim/agent', messages: [] },
    { key: MANAGEMENT_KEY },
  )
  t.equal(((await plain.json()) as Json).data.loop, null)
  const off = await server.post(
    '/routing/explain',
    { model: 'sim/agent', messages: [], tools: [{ type: 'service:memory' }] },
    { key: MANAGEMENT_KEY },
  )
  t.equal(off.status, 400, 'as the request itself would be')
})

test('explaining tells a tool with a date as ours where its provider does not run it', async (t) => {
  const type = 'web_search_20250305'
  const explain = async (model: string, more: object = {}): Promise<Json> => {
    const asked = { model, messages: [], tools: [{ type, name: 'web_search', ...more }] }
    const response = await server.post('/routing/explain', asked, { key: MANAGEMENT_KEY })
    const said = (await response.json()) as Json
    return said.data?.loop === undefined ? said : said.data.loop
  }
  const ours = [{ type, name: 'web_search', backend: 'simulated', functions: ['web_search'], fee: 0.005 }]
  t.match(await explain('sim/agent', { max_uses: 2 }), { tools: ours })
  t.equal(await explain('acme/native'), null)
})

test('prices and switches count from a reload on', async (t) => {
  server.reload({ tools: { datetime: { price: 0.5 }, memory: { enabled: false } } })
  let price = 0
  // The answer of a worker that has not heard of it yet is the old one.
  while (price !== 0.5) {
    const response = await server.post('/routing/explain', request('hello'), { key: MANAGEMENT_KEY })
    price = ((await response.json()) as Json).data.loop.tools[0].fee
  }
  t.equal(price, 0.5)
  t.equal((await server.post('/chat/completions', request('hello'), { key: API_KEY })).status, 200)
})
