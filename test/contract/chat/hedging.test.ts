/** A second endpoint beside a late one, over real sockets: who answers, who is ended, who pays (contract/decisions 41). */

import tap, { test } from 'tap'
import { mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, CANARY_PROMPT, type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const first = await mockUpstream(tap)
const second = await mockUpstream(tap)

const provider = (name: string, origin: string): object => ({
  kind: 'openai',
  name,
  base_url: `${origin}/v1`,
  breaker: false,
})

const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0, hedge: 'requested', hedge_budget: 1 },
    providers: { first: provider('First', first.origin), second: provider('Second', second.origin) },
    models: {
      'acme/both': {
        endpoints: [
          { provider: 'first', prices: { prompt: '0.000001', completion: '0.000002' } },
          { provider: 'second', prices: { prompt: '0.0001', completion: '0.0002' } },
        ],
      },
    },
  },
})
tap.teardown(() => server.stop())

function answers(peer: Peer, { body }: { readonly body: string }): void {
  if (JSON.parse(body).stream) peer.stream(mockStream('served'))
  else peer.json(mockCompletion('served'))
}

const ask = (more: object) =>
  askChat(
    server,
    { model: 'acme/both', messages: [{ role: 'user', content: CANARY_PROMPT }], ...more },
    { 'X-Service-Metadata': 'enabled' },
  )

const read = async (path: string): Promise<Json> => (await server.get(path)).json()
const spent = async (): Promise<number> => Math.round((await read('/key')).data.usage * 1e9)

/** 10 prompt and 5 completion tokens at the prices of the second, in nano-dollars. */
const COST = 2_000_000

/** Calls of the first alone, until it is known what is late. */
async function learn(stream: boolean): Promise<void> {
  first.script = answers
  for (let call = 0; call < 60; call++) await ask({ stream, provider: { only: ['first'] } })
}

for (const stream of [true, false]) {
  test(`the second answers where the first is silent, stream: ${stream}`, async (t) => {
    await learn(stream)
    first.script = () => {}
    second.script = answers
    const before = await spent()
    const asked = await ask({ stream, provider: { order: ['first', 'second'], hedge: true } })
    t.equal(asked.status, 200)
    const said = stream ? asked.events().at(-2) : asked.json()
    t.match(said, {
      provider: 'Second',
      usage: { cost: COST / 1e9 },
      service_metadata: {
        attempt: 2,
        attempts: [
          { provider: 'First', status: 0, overtaken: true },
          { provider: 'Second', status: 200 },
        ],
      },
    })
    const loser = first.peers.findLast(({ requests }) => requests > 0)!
    await loser.closed()
    t.ok(loser.closedAt !== null, 'the connection of the loser is closed')
    const { data } = await read(`/generation?id=${said.id}`)
    t.match(data, {
      provider_name: 'Second',
      total_cost: COST / 1e9,
      charged: COST / 1e9,
      attempts: 2,
      provider_responses: [
        { provider_name: 'First', status: 0, error: 'overtaken' },
        { provider_name: 'Second', status: 200 },
      ],
      lost_attempts: [
        {
          provider_name: 'First',
          status: 0,
          error: 'overtaken',
          charged: 0,
          upstream_cost_basis: 'estimated',
        },
      ],
    })
    t.ok(data.lost_attempts[0].upstream_cost > 0, 'what the loser may cost is ours, and told')
    await eventually(async () => (await spent()) - before === COST)
    t.equal((await spent()) - before, COST, 'the caller has paid the answer it got, and nothing else')
  })
}

test('messages are hedged as chat is', async (t) => {
  await learn(true)
  first.script = () => {}
  second.script = answers
  const calls = second.requests.length
  const response = await server.post('/messages', {
    model: 'acme/both',
    max_tokens: 16,
    stream: true,
    messages: [{ role: 'user', content: CANARY_PROMPT }],
    provider: { order: ['first', 'second'], hedge: true },
  })
  const text = await response.text()
  t.match(text, 'served')
  t.match(text, 'event: message_stop')
  t.equal(second.requests.length, calls + 1)
})

for (const path of ['/chat/completions', '/messages']) {
  test(`${path}: what is neither true nor false is refused by name`, async (t) => {
    const response = await server.post(path, {
      model: 'acme/both',
      max_tokens: 16,
      messages: [{ role: 'user', content: 'hello' }],
      provider: { hedge: 'always' },
    })
    t.equal(response.status, 400)
    t.match(await response.text(), 'provider.hedge')
  })
}
