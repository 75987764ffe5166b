/** Which endpoint serves when the first one fails, and what the answer then says (contract/gateway 2.7, 3.4). */

import tap, { test } from 'tap'
import { mockUpstream, type Peer, type Script } from '../../support/providers/mock-upstream.js'
import { mockChunk, mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import {
  API_KEY,
  type Asked,
  askChat,
  CANARY_PROMPT,
  type Json,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { freePort } from '../../support/servers/listen.js'

const first = await mockUpstream(tap)
const second = await mockUpstream(tap)

const deadOrigin = async () => `http://127.0.0.1:${await freePort()}`

const provider = (name: string, origin: string): object => ({
  kind: 'openai',
  name,
  base_url: `${origin}/v1`,
  // These providers fail more often than a breaker would let them.
  breaker: false,
})
/** So cheap that the draw by price goes to it ten thousand million times to one. */
const CHEAP = { prompt: '0.000000001', completion: '0.000000002' }
const DEAR = { prompt: '0.0001', completion: '0.0002' }

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: {
      first: provider('First', first.origin),
      second: provider('Second', second.origin),
      dead: provider('Dead', await deadOrigin()),
      hasty: { ...provider('Hasty', first.origin), timeouts: { headers_ms: 150, first_token_ms: 150 } },
    },
    models: {
      'acme/one': { endpoints: [{ provider: 'first', upstream_model: 'one-1', prices: CHEAP }] },
      'acme/two': { endpoints: [{ provider: 'second', upstream_model: 'two-1', prices: DEAR }] },
      'acme/dead': { endpoints: [{ provider: 'dead' }] },
      'acme/late': {
        endpoints: [
          { provider: 'hasty', prices: CHEAP },
          { provider: 'second', prices: DEAR },
        ],
      },
      'acme/both': {
        endpoints: [
          { provider: 'first', upstream_model: 'both-1', prices: CHEAP },
          { provider: 'second', upstream_model: 'both-2', prices: DEAR },
        ],
      },
    },
  },
})
tap.teardown(() => server.stop())

interface Met {
  readonly asked: Asked
  /** The members of a whole answer, or those of the last chunk of a stream. */
  readonly said: Json
  /** Calls to each provider. */
  readonly calls: readonly [number, number]
}

async function meet(body: Readonly<Record<string, unknown>>): Promise<Met> {
  const before = [first.requests.length, second.requests.length] as const
  const asked = await askChat(
    server,
    { messages: [{ role: 'user', content: CANARY_PROMPT }], ...body },
    { 'X-Service-Metadata': 'enabled' },
  )
  const streamed = asked.headers.get('content-type')?.startsWith('text/event-stream') === true
  return {
    asked,
    said: streamed ? asked.events().at(-2) : asked.json(),
    calls: [first.requests.length - before[0], second.requests.length - before[1]],
  }
}

const failing =
  (status: number) =>
  (peer: Peer): void =>
    peer.json({ error: { message: 'no' } }, status, { 'retry-after': '9' })

function answers(peer: Peer, { body }: { readonly body: string }): void {
  if (JSON.parse(body).stream) peer.stream(mockStream('served'))
  else peer.json(mockCompletion('served'))
}

/** How a provider may lose a call before anything of its answer is content, and the status that it came to. */
const LOSSES: readonly (readonly [how: string, status: number, script: Script])[] = [
  ['resets the connection', 0, (peer) => peer.reset()],
  ['closes the connection', 0, (peer) => peer.cut()],
  [
    'cuts the answer after its head',
    200,
    (peer) => {
      peer.streamHead()
      peer.cut()
    },
  ],
  ['answers what cannot be read', 200, (peer) => peer.answer(200, '{"choices":[{')],
  [
    'breaks after a chunk without content',
    200,
    (peer) => {
      peer.streamHead()
      peer.event(mockChunk({ role: 'assistant', content: '' }))
      peer.cut()
    },
  ],
]

async function readGeneration(id: string): Promise<Json> {
  const headers = { Authorization: `Bearer ${API_KEY}` }
  return (await fetch(`${server.apiUrl}/generation?id=${id}`, { headers })).json() as Promise<Json>
}

/** 10 prompt and 5 completion tokens at the second provider's prices. */
const COST = 0.002

for (const status of [429, 500, 503, 529]) {
  for (const stream of [false, true]) {
    test(`a ${status} before the first byte goes to the next model, stream: ${stream}`, async (t) => {
      first.script = failing(status)
      second.script = answers
      const { asked, said, calls } = await meet({ model: 'acme/one', models: ['acme/two'], stream })
      t.equal(asked.status, 200)
      t.same(calls, [1, 1])
      t.equal(JSON.parse(second.requests.at(-1)!.body).model, 'two-1')
      t.match(said, {
        model: 'acme/two',
        provider: 'Second',
        usage: { prompt_tokens: 10, completion_tokens: 5, cost: COST },
        service_metadata: {
          requested: 'acme/one',
          strategy: 'fallback',
          attempt: 2,
          attempts: [
            { provider: 'First', model: 'acme/one', status },
            { provider: 'Second', model: 'acme/two', status: 200 },
          ],
          endpoints: { total: 2, available: [{ selected: false }, { selected: true }] },
        },
      })
    })
  }
}

for (const stream of [false, true]) {
  test(`a refused connection goes to the next model, stream: ${stream}`, async (t) => {
    second.script = answers
    const { asked, said } = await meet({ models: ['acme/dead', 'acme/two'], stream })
    t.equal(asked.status, 200)
    t.match(said.service_metadata, { requested: 'acme/dead', attempts: [{ status: 0 }, { status: 200 }] })
  })

  test(`the next endpoint of the same model serves as well, stream: ${stream}`, async (t) => {
    first.script = failing(429)
    second.script = answers
    const { said, calls } = await meet({ model: 'acme/both', stream })
    t.same(calls, [1, 1])
    t.match(said, { model: 'acme/both', provider: 'Second', usage: { cost: COST } })
    t.equal(JSON.parse(second.requests.at(-1)!.body).model, 'both-2')
  })

  test(`allow_fallbacks: false tells the first failure as it is, stream: ${stream}`, async (t) => {
    first.script = failing(429)
    const body = { model: 'acme/both', provider: { allow_fallbacks: false }, stream }
    const { asked, said, calls } = await meet(body)
    t.equal(asked.status, 429)
    t.equal(asked.headers.get('retry-after'), '9')
    t.same(calls, [1, 0])
    t.match(said.service_metadata, { attempt: 0, attempts: [{ provider: 'First', status: 429 }] })
  })

  test(`when all fail the last failure is told, with every attempt, stream: ${stream}`, async (t) => {
    first.script = failing(500)
    second.script = failing(429)
    const { asked, said, calls } = await meet({ model: 'acme/both', stream })
    t.equal(asked.status, 429)
    t.same(calls, [1, 1])
    t.match(said, {
      error: { code: 429, metadata: { provider_name: 'Second' } },
      service_metadata: { attempt: 0, attempts: [{ status: 500 }, { status: 429 }] },
    })
    t.notOk(said.service_metadata.endpoints.available.some((one: Json) => one.selected))
  })

  for (const status of [400, 413, 422]) {
    test(`a ${status}, the caller’s own mistake, is not tried again, stream: ${stream}`, async (t) => {
      first.script = failing(status)
      const { asked, calls } = await meet({ model: 'acme/both', stream })
      t.equal(asked.status, status)
      t.same(calls, [1, 0])
    })
  }

  for (const [how, status, script] of LOSSES) {
    test(`a call whose provider ${how} is rescued, and its loss stands in the ledger, stream: ${stream}`, async (t) => {
      first.script = script
      second.script = answers
      const { asked, said, calls } = await meet({ model: 'acme/both', stream })
      t.equal(asked.status, 200)
      t.equal(calls[1], 1)
      t.match(said, {
        provider: 'Second',
        usage: { cost: COST },
        service_metadata: { attempt: 2, attempts: [{ provider: 'First', status }, { status: 200 }] },
      })
      const { data } = await readGeneration(asked.headers.get('x-generation-id')!)
      t.match(data, { provider_name: 'Second', attempts: 2, outcome: 'settled' })
      t.equal(data.total_cost, COST)
      t.equal(data.charged, COST)
      t.equal(data.upstream_cost, COST)
      t.equal(data.upstream_cost_basis, 'exact')
      t.equal(data.lost_attempts.length, 1)
      const [lost] = data.lost_attempts
      t.match(lost, { provider_name: 'First', model: 'acme/both', status, charged: 0 })
      t.equal(lost.upstream_cost_basis, 'estimated')
      t.ok(lost.tokens_prompt > 0 && lost.upstream_cost > 0, JSON.stringify(lost))
      const made = { row: data.id, kind: 'turn', turn: 1 }
      t.match(data.provider_responses, [
        { ...made, status, charged: 0, upstream_cost: lost.upstream_cost, queue: null },
        { ...made, status: 200, error: null, charged: COST, upstream_cost: COST, queue: Number },
      ])
    })
  }

  test(`without fallbacks such a call fails, stream: ${stream}`, async (t) => {
    first.script = (peer) => peer.reset()
    const provider = { only: ['first'], allow_fallbacks: false }
    const { asked, calls } = await meet({ model: 'acme/both', stream, provider })
    t.equal(asked.status, 502)
    t.equal(calls[1], 0)
  })
}

for (const stream of [false, true]) {
  for (const [how, script] of [
    ['never answers', () => {}],
    ['sends a head and nothing more', (peer: Peer) => peer.streamHead()],
  ] as const) {
    test(`the endpoint behind one that ${how} has limits of its own, stream: ${stream}`, async (t) => {
      first.script = script
      // Longer than the first one was given.
      second.script = (peer, request) => void setTimeout(() => answers(peer, request), 300)
      const { asked, said, calls } = await meet({ model: 'acme/late', stream })
      t.equal(asked.status, 200)
      t.same(calls, [1, 1])
      t.match(said, { provider: 'Second', service_metadata: { attempt: 2 } })
    })
  }
}

test('after the first byte nothing is tried again', async (t) => {
  first.script = (peer) => {
    peer.streamHead()
    peer.event(mockChunk({ content: 'half' }))
    peer.event({ error: { code: 429, message: 'no' } })
  }
  const { asked, said, calls } = await meet({ model: 'acme/both', stream: true })
  t.equal(asked.status, 200)
  t.same(calls, [1, 0])
  t.match(said, {
    provider: 'First',
    choices: [{ finish_reason: 'error' }],
    error: { code: 429 },
    service_metadata: { attempts: [{ provider: 'First', status: 429 }] },
  })
})

test('the order of the caller decides who is first', async (t) => {
  second.script = answers
  const { said, calls } = await meet({ model: 'acme/both', provider: { order: ['second'] } })
  t.same(calls, [0, 1])
  t.equal(said.provider, 'Second')
})
