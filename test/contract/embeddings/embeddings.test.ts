/** Embeddings pass through, metered and bounded (contract/gateway 13). */
import tap, { test } from 'tap'
import { mockUpstream, type Script } from '../../support/providers/mock-upstream.js'
import { type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const upstream = await mockUpstream(tap)
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    providers: {
      mock: { kind: 'openai', name: 'Mock', base_url: `${upstream.origin}/v1`, breaker: false },
      theirs: { kind: 'anthropic', base_url: upstream.origin },
    },
    models: {
      'acme/embed': {
        output_modalities: ['embeddings'],
        endpoints: [{ provider: 'mock', upstream_model: 'e-1', prices: { prompt: '0.000001' } }],
      },
      'acme/fixed': {
        output_modalities: ['embeddings'],
        supported_parameters: ['max_tokens'],
        endpoints: [{ provider: 'mock' }],
      },
      'acme/elsewhere': { output_modalities: ['embeddings'], endpoints: [{ provider: 'theirs' }] },
      'acme/chat': { endpoints: [{ provider: 'mock' }] },
    },
    routing: { retries: 0 },
  },
})
tap.teardown(() => server.stop())

const base64 = (...numbers: number[]): string =>
  Buffer.from(new Float32Array(numbers).buffer).toString('base64')
const entry = (index: number, embedding: unknown): object => ({ object: 'embedding', index, embedding })
const answering =
  (data: readonly object[], more: object = { usage: { prompt_tokens: 7, total_tokens: 7 } }): Script =>
  (peer) =>
    peer.json({ object: 'list', data, model: 'e-1', ...more })

interface Answered {
  readonly status: number
  readonly said: Json
  /** What the provider was sent; null when it was not asked. */
  readonly sent: Json
}

async function embed(more: object, script: Script = answering([entry(0, [0.5, -0.25])])): Promise<Answered> {
  upstream.script = script
  const before = upstream.requests.length
  const headers = { 'X-Service-Metadata': 'enabled' }
  const response = await server.post(
    '/embeddings',
    { model: 'acme/embed', input: 'hi', ...more },
    { headers },
  )
  const sent = upstream.requests.length === before ? null : JSON.parse(upstream.requests.at(-1)!.body)
  return { status: response.status, said: (await response.json()) as Json, sent }
}

test('a text becomes a vector, with what it cost, and the provider is sent no more than it needs', async (t) => {
  const { status, said, sent } = await embed({ user: 'somebody' })
  t.equal(status, 200)
  t.match(upstream.requests.at(-1)!.path, '/v1/embeddings')
  const { user, ...rest } = sent
  t.strictSame(rest, { model: 'e-1', input: 'hi' })
  t.match(user, /^user-[0-9a-f]{40}$/)
  t.match(said, {
    id: /^gen-/,
    object: 'list',
    model: 'acme/embed',
    provider: 'Mock',
    data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }],
    usage: { prompt_tokens: 7, total_tokens: 7, cost: 0.000007 },
  })
  const row = await eventually(async () => {
    const response = await server.get(`/generation?id=${said.id}`)
    return response.status === 200 ? ((await response.json()) as Json).data : undefined
  })
  t.match(row, { model: 'acme/embed', api_type: 'embeddings', tokens_prompt: 7, total_cost: 0.000007 })
})

test('batches, tokens and lists of tokens go as they came, and vectors come back in their order', async (t) => {
  const two = answering([entry(1, [1, 0]), entry(0, [0, 1])])
  for (const input of [
    ['a', 'b'],
    [[1, 2], [3]],
  ]) {
    const { said, sent } = await embed({ input }, two)
    t.strictSame(sent.input, input)
    t.strictSame(
      said.data.map(({ embedding }: Json) => embedding),
      [
        [0, 1],
        [1, 0],
      ],
    )
  }
  t.strictSame((await embed({ input: [1, 2, 3], dimensions: 2 })).sent.dimensions, 2)
})

test('a vector comes in the encoding that was asked for, whatever the provider answers with', async (t) => {
  const encoded = base64(0.5, -0.25)
  for (const given of [[0.5, -0.25], encoded]) {
    const script = answering([entry(0, given)])
    const asked = await embed({ encoding_format: 'base64' }, script)
    t.equal(asked.said.data[0].embedding, encoded)
    t.equal(asked.sent.encoding_format, 'base64')
    t.strictSame((await embed({ encoding_format: 'float' }, script)).said.data[0].embedding, [0.5, -0.25])
  }
  const broken = answering([entry(0, `${encoded.slice(0, 4)}\n${encoded.slice(4).replaceAll('=', '')}`)])
  t.equal((await embed({ encoding_format: 'base64' }, broken)).said.data[0].embedding, encoded)
})

test('an answer without a vector for each input, or with one that is none, is a failure', async (t) => {
  const wrong: readonly (readonly object[])[] = [
    [],
    [entry(0, [1]), entry(1, [1])],
    [entry(1, [1])],
    [entry(0, [])],
    [entry(0, [1, null])],
    [entry(0, 'AAA')],
    [entry(0, { a: 1 })],
    [entry(0, base64(Number.NaN))],
    [entry(0, base64(1, Number.POSITIVE_INFINITY))],
  ]
  for (const data of wrong) t.equal((await embed({}, answering(data))).status, 502, JSON.stringify(data))
  // More than 32 bits can hold.
  t.equal((await embed({ encoding_format: 'base64' }, answering([entry(0, [1e300])]))).status, 502)
  const doubled = [entry(0, [1]), entry(0, [2])]
  t.equal((await embed({ input: ['a', 'b'] }, answering(doubled))).status, 502)
})

test('a model that embeds has dimensions and no parameter of chat, and those that are required have to be listed', async (t) => {
  const listed = (await (await server.get('/models/acme/embed')).json()) as Json
  t.strictSame((listed.data ?? listed).supported_parameters, ['dimensions'])
  const provider = { require_parameters: true }
  t.equal((await embed({ dimensions: 2, provider })).status, 200)
  t.equal((await embed({ model: 'acme/fixed', provider })).status, 200)
  t.equal((await embed({ model: 'acme/fixed', dimensions: 2, provider })).status, 404)
  t.equal((await embed({ nonsense: 2, provider })).status, 404)
})

test('tokens are counted where the provider tells none', async (t) => {
  const { said } = await embed({ input: [1, 2, 3, 4, 5] }, answering([entry(0, [1])], {}))
  t.match(said, { usage: { prompt_tokens: 5, cost: 0.000005 }, service_metadata: { usage_estimated: true } })
  const text = await embed({ input: 'five words are in here' }, answering([entry(0, [1])], {}))
  t.ok(text.said.usage.prompt_tokens >= 4 && text.said.usage.prompt_tokens <= 8)
})

test('members that nobody here knows go, are told, or are refused like those of chat', async (t) => {
  const { said, sent } = await embed({ input_type: 'query', nonsense: 1, customer_id: 'c' })
  t.equal(sent.input_type, 'query')
  t.notOk('nonsense' in sent || 'customer_id' in sent)
  t.strictSame(said.service_metadata.untranslated, ['nonsense'])
  for (const member of ['store', 'conversation', 'mcp_servers']) {
    const { status, said: refused } = await embed({ [member]: ['x'] })
    t.equal(status, 400)
    t.match(refused.error.message, member)
  }
})

const REFUSED: readonly (readonly [object, RegExp])[] = [
  [{ input: undefined }, /input: is required/],
  [{ input: '' }, /input: must have at least 1/],
  [{ input: [] }, /input: must have at least 1/],
  [{ input: ['a', ''] }, /input\.1: must have at least 1/],
  [{ input: [[]] }, /input\.0: must have at least 1/],
  [{ input: ['a', 1] }, /input\.1: must be of the kind of the first entry/],
  [{ input: [1, [2]] }, /input\.1: must be of the kind/],
  [{ input: [1.5] }, /input\.0: must be an integer/],
  [{ input: [-1] }, /input\.0: must be at least 0/],
  [{ input: 7 }, /input: must be a string or an array/],
  [{ input: Array(2049).fill('a') }, /input: must have at most 2048/],
  [{ encoding_format: 'int8' }, /encoding_format: must be one of float, base64/],
  [{ dimensions: 0 }, /dimensions: must be at least 1/],
  [{ provider: {}, providers: {} }, /providers: is another word/],
  [{ model: '' }, /model: must/],
]

test('what is no request is a 400 that names the field, and nobody is asked', async (t) => {
  for (const [more, sentence] of REFUSED) {
    const { status, said, sent } = await embed(more)
    t.equal(status, 400, JSON.stringify(more).slice(0, 80))
    t.match(said.error.message, sentence)
    t.equal(sent, null)
  }
})

test('models that do not embed are 404, and models that embed do not chat', async (t) => {
  for (const model of ['acme/chat', 'acme/elsewhere', 'sim/fast']) {
    const { status, said } = await embed({ model })
    t.equal(status, 404)
    t.match(said.error.message, /does not serve this kind of call/)
  }
  const messages = [{ role: 'user', content: 'x' }]
  t.equal((await server.post('/chat/completions', { model: 'acme/embed', messages })).status, 404)
  t.equal((await server.post('/embeddings', { model: 'sim/embed', input: 'x' }, { key: '' })).status, 401)
})

test('a refusal of the provider is told, and its own words with it', async (t) => {
  const { status, said } = await embed({}, (peer) =>
    peer.json({ error: { message: 'too many dimensions', type: 'invalid_request_error' } }, 400),
  )
  t.equal(status, 400)
  t.match(JSON.stringify(said.error), /too many dimensions/)
})

async function simulated(input: unknown, more: object = {}): Promise<number[][]> {
  const response = await server.post('/embeddings', { model: 'sim/embed', input, ...more })
  const said = (await response.json()) as Json
  return said.data.map(({ embedding }: Json) => embedding)
}

const dot = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, value, at) => sum + value * other[at]!, 0)

test('the simulated model gives unit vectors that are alike where words are shared', async (t) => {
  const [cat, same, near, far] = await simulated([
    'the cat sat on the mat',
    'the cat sat on the mat',
    'a cat sat on a mat',
    'quarterly revenue grew again',
  ])
  t.strictSame(cat, same)
  for (const each of [cat!, near!, far!]) {
    t.equal(each.length, 256)
    t.ok(Math.abs(dot(each, each) - 1) < 1e-5)
  }
  t.ok(dot(cat!, near!) > dot(cat!, far!) + 0.3)
  t.equal((await simulated('x', { dimensions: 1000 }))[0]!.length, 1000)
  t.equal((await simulated([1, 2, 3])).length, 1)
  t.equal((await simulated('…'))[0]!.length, 256)
  for (const more of [{ dimensions: 5000 }, { input: Array(2048).fill('x'), dimensions: 513 }]) {
    const response = await server.post('/embeddings', { model: 'sim/embed', input: 'x', ...more })
    t.equal(response.status, 400)
    t.match(((await response.json()) as Json).error.message, /This model/)
  }
})
