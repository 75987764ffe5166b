/** Who may call what is a table in the configuration (contract/decisions 3); a reload counts at once. */
import tap, { test } from 'tap'
import { httpClient } from '../../support/clients/http-client.js'
import {
  API_KEY,
  CANARY_PROMPT,
  eventsOf,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const WORKERS = 3

function configOf(permissions: Readonly<Record<string, 'key' | 'management'>>): Record<string, unknown> {
  const simulation = { first_token_ms: { constant: 5 }, gap_ms: { constant: 20 } }
  return {
    permissions,
    providers: { lab: { kind: 'simulated' } },
    models: { 'lab/slow': { endpoints: [{ provider: 'lab', simulation }] } },
  }
}

const server = await startGateway({
  env: { SLUICE_WORKERS: String(WORKERS), SLUICE_LOG_LEVEL: 'info' },
  config: configOf({}),
})
tap.teardown(() => server.stop())

const ARRIVED = 'all workers have the new configuration'

async function reloaded(permissions: Readonly<Record<string, 'key' | 'management'>>): Promise<void> {
  const times = (): number => server.log().split(ARRIVED).length
  const before = times()
  server.reload(configOf(permissions))
  await eventually(() => times() > before)
}

/** Statuses of many calls, each on a connection of its own: the kernel chooses a worker anew for each. */
async function statuses(path: string, key: string, body?: object): Promise<number[]> {
  const calls = Array.from({ length: 24 }, async () => {
    const client = httpClient(server.baseUrl, 1)
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const wanted = { method: body === undefined ? 'GET' : 'POST', path: `/api/v1${path}`, headers }
    const { status } = await client.send(
      body === undefined ? wanted : { ...wanted, body: JSON.stringify(body) },
    )
    client.close()
    return status
  })
  return [...new Set(await Promise.all(calls))]
}

const CHAT = { model: 'sim/instant', messages: [{ role: 'user', content: CANARY_PROMPT }] }

test('a row opens an operation to ordinary keys, and its absence closes it again', async (t) => {
  t.same(await statuses('/keys', API_KEY), [403])
  await reloaded({ list_keys: 'key' })
  t.same(await statuses('/keys', API_KEY), [200])
  t.same(await statuses('/workspaces', API_KEY), [403], 'the others stay closed')
  t.same(await statuses('/keys', 'sk-wrong'), [401], 'and a key is still needed')
  await reloaded({})
  t.same(await statuses('/keys', API_KEY), [403])
})

test('a row closes an operation to ordinary keys, and its absence opens it again', async (t) => {
  t.same(await statuses('/chat/completions', API_KEY, CHAT), [200])
  await reloaded({ chat_completions: 'management' })
  t.same(await statuses('/chat/completions', API_KEY, CHAT), [403])
  t.same(await statuses('/chat/completions', MANAGEMENT_KEY, CHAT), [200])
  await reloaded({})
  t.same(await statuses('/chat/completions', API_KEY, CHAT), [200])
})

test('a stream that runs when its operation is closed goes on to its end', async (t) => {
  const response = await server.post('/chat/completions', {
    ...CHAT,
    model: 'lab/slow',
    stream: true,
    max_tokens: 300,
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = (await reader.read()).value ?? ''
  await reloaded({ chat_completions: 'management' })
  t.same(await statuses('/chat/completions', API_KEY, CHAT), [403])
  t.notMatch(text, 'finish_reason":"', 'it is still under way')
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
  const events = eventsOf(text)
  t.equal(events.at(-1), '[DONE]')
  t.match(events.at(-2), { usage: { completion_tokens: 300 } })
  await reloaded({})
})
