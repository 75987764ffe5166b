/** contract/gateway 1.6, 5.6 and 11.4: what a message costs, where that is told, and the limits it meets, as on chat. */
import { after, test } from 'tap'
import { askPatiently } from '../../support/clients/ask-again.js'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import {
  API_KEY,
  type Asked,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const PRICED = 'acme/priced'
const server = await startGateway({
  config: {
    models: {
      [PRICED]: {
        endpoints: [
          {
            provider: 'sim',
            prices: { prompt: '0.001', completion: '0.01', request: '0.5' },
            simulation: { tokens: { constant: 4 } },
          },
        ],
      },
    },
  },
})
after(() => server.stop())

async function read(path: string, key: string): Promise<Json> {
  return (await server.get(path, key)).json()
}

async function keyWith(limits: object): Promise<string> {
  const made = await server.post('/keys', { name: 'x', ...limits }, { key: MANAGEMENT_KEY })
  return ((await made.json()) as Json).key
}

function ask(key: string, more: object = {}): Promise<Asked> {
  // The limit of the answer is what is reserved: a larger one would not fit the keys below.
  const body = message({ model: PRICED, max_tokens: 4, ...more })
  return askPatiently(() => askMessages(server, body, { 'x-api-key': key, Connection: 'close' }))
}

test('an answer costs the same in either format, whole and streamed, and the cost is its tokens', async (t) => {
  const { usage } = (await ask(API_KEY)).json()
  const cost = 0.5 + usage.input_tokens * 0.001 + usage.output_tokens * 0.01
  t.ok(Math.abs(usage.cost - cost) < 1e-9, `${usage.cost} and not ${cost}`)
  const { usage: streamed } = (await ask(API_KEY, { stream: true })).events().at(-2)
  t.equal(streamed.cost, usage.cost)
  const { messages } = message()
  const chat = (await askChat(server, { model: PRICED, messages, max_tokens: 4 })).json()
  t.equal(chat.usage.cost, usage.cost)
})

test('a generation is found under the id of its message, with its session and its cost', async (t) => {
  for (const stream of [false, true]) {
    const asked = await ask(API_KEY, {
      stream,
      session_id: 'the session',
      trace: { trace_id: 'their trace' },
    })
    const told = stream ? asked.events()[0].message : asked.json()
    const cost = (stream ? asked.events().at(-2) : told).usage.cost
    t.equal(asked.headers.get('x-generation-id'), told.id)
    const { data } = await read(`/generation?id=${told.id}`, API_KEY)
    t.match(data, {
      id: told.id,
      model: PRICED,
      total_cost: cost,
      session_id: 'the session',
      streamed: stream,
    })
  }
})

test('the cost of messages counts against the limit of the key, which is a billing_error', async (t) => {
  const key = await keyWith({ limit: 0.6 })
  const first = await ask(key)
  t.equal(first.status, 200)
  const { data } = await read('/key', key)
  t.equal(data.usage, first.json().usage.cost)
  for (const stream of [false, true]) {
    const second = await ask(key, { stream })
    t.equal(second.status, 402)
    t.match(second.json(), {
      type: 'error',
      error: { type: 'billing_error', error_type: 'payment_required' },
    })
  }
})

test('requests over the limit of the key are a rate_limit_error that says when to come back', async (t) => {
  const key = await keyWith({ rate_limit: { requests_per_minute: 1 } })
  t.equal((await ask(key)).status, 200)
  const { status, headers, json } = await ask(key)
  t.equal(status, 429)
  t.match(json(), { type: 'error', error: { type: 'rate_limit_error', error_type: 'rate_limit_exceeded' } })
  t.match(headers.get('retry-after'), /^[1-9]\d*$/)
  t.equal(headers.get('x-ratelimit-limit'), '1')
})

test('a count of tokens costs nothing', async (t) => {
  const key = await keyWith({ limit: 0.1 })
  const { max_tokens: _, ...body } = message({ model: PRICED })
  const counted = await askMessages(server, body, { 'x-api-key': key }, '/messages/count_tokens')
  t.equal(counted.status, 200)
  t.equal((await read('/key', key)).data.usage, 0)
})

function count(key: string): Promise<Asked> {
  const { max_tokens: _, ...body } = message({ model: PRICED })
  return askMessages(server, body, { 'x-api-key': key, Connection: 'close' }, '/messages/count_tokens')
}

test('a count is a request among those of the key, and gives its place back', async (t) => {
  const one = await keyWith({ rate_limit: { requests_per_minute: 2 } })
  t.same([(await count(one)).status, (await count(one)).status], [200, 200])
  const refused = await count(one)
  t.equal(refused.status, 429)
  t.match(refused.json(), { error: { type: 'rate_limit_error' } })
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/)
  const single = await keyWith({ rate_limit: { concurrent: 1 } })
  // A worker that is slow to give the place back keeps it for a while.
  for (let call = 0; call < 5; call++)
    t.ok(await eventually(async () => (await count(single)).status === 200))
})

test('whoever has nothing left may not have tokens counted', async (t) => {
  const key = await keyWith({ limit: 0 })
  const { status, json } = await count(key)
  t.equal(status, 402)
  t.match(json(), { error: { type: 'billing_error' } })
})
