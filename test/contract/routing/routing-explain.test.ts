/** `POST /routing/explain` and `sluice explain`: the plan of a request, without a call. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { makeFolder } from '../../support/data/temp-folder.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion } from '../../support/servers/chat-bench.js'
import {
  API_KEY,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { runMain } from '../../support/servers/main-command.js'

const upstream = await mockUpstream(tap)
const CONFIG = {
  providers: {
    one: { kind: 'openai', name: 'One', base_url: `${upstream.origin}/v1` },
    two: { kind: 'openai', name: 'Two', base_url: `${upstream.origin}/v1`, collects_data: true },
  },
  models: {
    'acme/both': {
      endpoints: [
        { provider: 'one', region: 'eu-west-1' },
        { provider: 'two', quantization: 'int8', region: 'eu-west-1' },
      ],
    },
  },
}
const server = await startGateway({ env: { SLUICE_WORKERS: '1' }, config: CONFIG })
tap.teardown(() => server.stop())

async function explained(body: unknown, key = MANAGEMENT_KEY): Promise<{ status: number; said: Json }> {
  const response = await server.post('/routing/explain', body, { key })
  return { status: response.status, said: await response.json() }
}

test('the plan of a chat request is told with its reasons, and no provider is called', async (t) => {
  const body = { model: 'acme/both', messages: [], provider: { order: ['two'], data_collection: 'allow' } }
  const { status, said } = await explained(body)
  t.equal(status, 200)
  t.match(said.data, { requested: 'acme/both', total: 2, excluded: [] })
  t.same(
    said.data.endpoints.map(({ slug, state, latency_ms }: Json) => [slug, state, latency_ms]),
    [
      ['two', 'closed', null],
      ['one', 'closed', null],
    ],
  )
  t.equal(upstream.requests.length, 0)
})

test('what is excluded says why', async (t) => {
  const { said } = await explained({ models: ['acme/both'], provider: { data_collection: 'deny' } })
  t.match(said.data, { endpoints: [{ slug: 'one' }], excluded: [{ slug: 'two', why: 'collects data' }] })
})

test('what has been measured is told here and by the endpoints operation', async (t) => {
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 400)
  await askChat(server, {
    model: 'acme/both',
    messages: [{ role: 'user', content: 'x' }],
    provider: { only: ['one'] },
  })
  upstream.script = (peer) => peer.json({ error: { message: 'no' } }, 500)
  await askChat(server, {
    model: 'acme/both',
    messages: [{ role: 'user', content: 'x' }],
    provider: { only: ['one'] },
  })
  const listed: Json = await (await fetch(`${server.apiUrl}/models/acme/both/endpoints`)).json()
  t.match(listed.data.endpoints[0], { uptime_last_5m: 0, latency_last_30m: null, status: 0 })
  t.match(listed.data.endpoints[1], { uptime_last_5m: null })
})

/** The same wishes in the messages format. */
async function messaged(body: object): Promise<Json> {
  const response = await fetch(`${server.apiUrl}/messages`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      model: 'acme/both',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'x' }],
      ...body,
    }),
  })
  return response.json() as Promise<Json>
}

const WRONG = [
  ['an unknown model', { model: 'acme/none' }, 404, /acme\/none does not exist/],
  [
    'an unknown provider',
    { model: 'acme/both', provider: { only: ['nobody'] } },
    404,
    /there are one, sim, two/,
  ],
  ['a sort that does not exist', { model: 'acme/both', provider: { sort: 'beauty' } }, 400, /provider\.sort/],
  ['a negative price', { model: 'acme/both', provider: { max_price: { prompt: -1 } } }, 400, /max_price/],
  [
    'a provider wanted and unwanted',
    { model: 'acme/both', provider: { only: ['one'], ignore: ['one'] } },
    400,
    /provider\.only: must not name a provider that provider\.ignore names/,
  ],
  [
    'a route against its partition',
    { model: 'acme/both', route: 'fallback', provider: { sort: { by: 'price', partition: 'none' } } },
    400,
    /fallback says the opposite/,
  ],
  [
    '`only` that excludes everything',
    { model: 'acme/both', provider: { only: ['sim'] } },
    404,
    /No endpoint/,
  ],
] as const

for (const [what, body, expected, sentence] of WRONG) {
  test(`${what} is refused as a call would be`, async (t) => {
    const { status, said } = await explained(body)
    t.equal(status, expected)
    t.match(said.error.message, sentence)
    const called = await askChat(server, { messages: [{ role: 'user', content: 'x' }], ...body })
    t.equal(called.status, expected)
    t.match((await messaged(body)).error.message, sentence)
    t.match(await command([], JSON.stringify(body)), [1, '', sentence], 'nor does the command plan it')
  })
}

test('a request without a model is refused', async (t) => {
  const { status, said } = await explained({ messages: [] })
  t.equal(status, 400)
  t.match(said.error.message, /neither model nor models/)
})

test('the tag of an endpoint, as it is listed, names that endpoint alone', async (t) => {
  const listed: Json = await (await fetch(`${server.apiUrl}/models/acme/both/endpoints`)).json()
  t.same(
    listed.data.endpoints.map(({ tag }: Json) => tag),
    ['one', 'two/int8'],
  )
  const { said } = await explained({ model: 'acme/both', provider: { only: ['two/int8'] } })
  t.same(
    said.data.endpoints.map(({ slug }: Json) => slug),
    ['two'],
  )
  const renamed = await explained({ model: 'acme/both', providers: { only: ['two/int8'] } })
  t.same(renamed.said.data.endpoints, said.data.endpoints, 'providers is another word')
  const ordered = await explained({ model: 'acme/both', provider: { order: ['two/int8', 'one'] } })
  t.equal(ordered.said.data.endpoints[0].slug, 'two')
  t.equal((await explained({ model: 'acme/both', provider: { only: ['two/fp16'] } })).status, 404)
  const spared = await explained({ model: 'acme/both', provider: { ignore: ['two/'] } })
  t.equal(spared.said.data.endpoints.length, 2, 'a name that nobody has ignores nobody')
})

test('a request with messages is not planned for a model that only speaks', async (t) => {
  const asked = await explained({ model: 'sim/speech', messages: [] })
  t.equal(asked.status, 404)
  t.match(asked.said.error.message, /does not serve this kind of call/)
  t.equal((await explained({ model: 'sim/speech', voice: 'alba', input: 'x' })).status, 200)
})

const SPOKEN = { model: 'sim/speech', voice: 'alba', input: 'x', response_format: 'mp3' }

test('what a spoken request is about is no parameter that an endpoint could lack', async (t) => {
  const provider = { require_parameters: true }
  t.equal((await explained({ ...SPOKEN, provider })).status, 200)
  const spoken = await server.post('/audio/speech', { ...SPOKEN, provider })
  t.equal(spoken.status, 200, spoken.status === 200 ? '' : await spoken.clone().text())
  await spoken.arrayBuffer()
})

test('an ordinary key may not ask', async (t) => {
  t.equal((await explained({ model: 'acme/both' }, API_KEY)).status, 403)
})

/** `sluice explain` with the configuration in a file. */
function command(
  args: readonly string[],
  input: string,
  env: Record<string, string> = {},
): Promise<[status: number | null, stdout: string, stderr: string]> {
  const folder = makeFolder()
  const path = join(folder, 'sluice.json')
  writeFileSync(path, JSON.stringify(CONFIG))
  return runMain(['explain', ...args], { SLUICE_CONFIG: path, SLUICE_DATA_DIR: folder, ...env }, input)
}

test('the command plans from the configuration alone', async (t) => {
  const body = JSON.stringify({ model: 'acme/both', provider: { quantizations: ['int8'] } })
  const [status, stdout] = await command([], body)
  t.equal(status, 0)
  t.match(stdout, /acme\/both: 1 of 2 endpoints/)
  t.match(stdout, /Two +acme\/both +closed/)
  t.match(stdout, /One +acme\/both +its quantization is unknown/)
})

test('the command asks a running server', async (t) => {
  const args = ['--server', server.baseUrl, '--json']
  const [status, stdout] = await command(args, '{"model":"acme/both"}', {
    SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
  })
  t.equal(status, 0)
  t.equal(JSON.parse(stdout).total, 2)
})

test('a generation is explained by its row: who could have answered, who did, and why', async (t) => {
  upstream.script = (peer, { body }) => {
    if (JSON.parse(body).stream === true) peer.json({ error: { message: 'no' } }, 500)
    else peer.json(mockCompletion('served'))
  }
  const messages = [{ role: 'user', content: 'x' }]
  const caller = { 'HTTP-Referer': 'https://app.example.com/', 'X-Title': 'An app', 'User-Agent': 'tests/1' }
  const labels = { user: 'somebody', metadata: { team: 'search' }, trace: { trace_id: 'nightly', build: 7 } }
  const asked = await askChat(server, { model: 'acme/both', messages, ...labels }, caller)
  t.equal(asked.status, 200)
  const { id } = asked.json()
  const found = await fetch(`${server.apiUrl}/generation?id=${id}`, {
    headers: { Authorization: `Bearer ${API_KEY}` },
  })
  const { data } = (await found.json()) as Json
  t.match(data, {
    ...{
      external_user: 'somebody',
      http_referer: 'https://app.example.com/',
      origin: 'https://app.example.com/',
    },
    ...{ user_agent: 'tests/1', title: 'An app', data_region: 'europe', region: 'eu-west-1' },
    ...{ metadata: { team: 'search' }, trace: { trace_id: 'nightly', build: 7 } },
    ...{ config_version: /^[0-9a-f]{12}$/, price_version: /^[0-9a-f]{8}$/, unlisted_candidates: 0 },
    phases: { admit: Number, queue: Number, connect: Number, first_event: null, total: Number },
    provider_responses: [{ status: 200, error: null }],
  })
  const chances = data.candidates.map(({ probability }: Json) => probability)
  t.equal(chances.length, 2)
  t.equal(chances[0] + chances[1], 1)
  const env = { SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }
  const [status, stdout] = await command([id, '--server', server.baseUrl], '', env)
  t.equal(status, 0)
  t.match(stdout, `${id}: acme/both by`)
  t.match(stdout, /0\.500 +weight by price: 1\n/)
  t.match(stdout, `configuration ${data.config_version}, prices ${data.price_version}`)

  const failed = await askChat(server, { model: 'acme/both', messages, stream: true })
  const [, told] = await command(
    [failed.headers.get('x-generation-id') ?? '', '--server', server.baseUrl],
    '',
    env,
  )
  t.match(told, /failed, charged \$0/)
  t.ok((told.match(/acme\/both +500 +provider-failed/g) ?? []).length >= 2, told)
  const [bare, , fault] = await command([id], '', env)
  t.equal(bare, 2)
  t.match(fault, /--server/)
})

const MISUSED = [
  ['no JSON', [], 'nonsense', 1, /cannot be read/],
  ['no model', [], '{}', 1, /neither model nor models/],
  ['no object', [], '[]', 1, /must be a JSON object/],
  ['a wish of a wrong type', [], '{"model":"a/b","provider":{"order":"one"}}', 1, /provider\.order/],
  ['an unknown model', [], '{"model":"a/b"}', 1, /a\/b does not exist/],
  [
    'a server without a key',
    ['--server', 'http://127.0.0.1:1'],
    '{"model":"a/b"}',
    1,
    /SLUICE_MANAGEMENT_KEY is needed/,
  ],
  ['an unknown option', ['--loud'], '', 2, /usage: sluice explain/],
  ['two files', ['a', 'b'], '', 2, /takes one file/],
] as const

for (const [what, args, input, code, sentence] of MISUSED) {
  test(`the command says what is wrong: ${what}`, async (t) => {
    const [status, stdout, stderr] = await command(args, input)
    t.equal(status, code)
    t.equal(stdout, '')
    t.match(stderr, sentence)
  })
}

test('what is offered as a change of the request is a request that the server takes', async (t) => {
  let asked = 0
  for (const model of ['acme/both', 'acme/both:nitro']) {
    const { said } = await explained({ model, provider: { preferred_max_latency: 1 } })
    for (const { says, request } of said.data.endpoints.flatMap(({ would_change: all }: Json) => all)) {
      if (request === null) continue
      asked++
      const provider = { preferred_max_latency: 1, ...request.provider }
      t.equal((await explained({ model, ...request, provider })).status, 200, says)
    }
  }
  t.ok(asked > 0)
})
