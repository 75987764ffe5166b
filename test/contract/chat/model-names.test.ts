/** Names that callers have fixed, and models of which only the prefix is configured (contract/decisions 51). */
import tap, { test } from 'tap'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const upstream = await mockUpstream(tap, (peer, { body }) => {
  if (JSON.parse(body).stream) peer.stream(mockStream('served'))
  else
    peer.json(
      mockCompletion('served', { usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } }),
    )
})

const at = (more: object = {}): object => ({ endpoints: [{ provider: 'one', ...more }] })

const server = await startGateway({
  config: {
    providers: { one: { kind: 'openai', base_url: `${upstream.origin}/v1` } },
    models: {
      'acme/large': at({ upstream_model: 'large-v1' }),
      'openai/*': at({ prices: { prompt: '0.001' } }),
      'openai/large': at({ upstream_model: 'large-v2', prices: { prompt: '0.01' } }),
      'openai/mini*': at({ prices: { prompt: '0.000001' } }),
    },
    aliases: { 'gpt-4o': 'acme/large' },
  },
})
tap.teardown(() => server.stop())

const METADATA = { 'X-Service-Metadata': 'enabled' }

/** Of one call: the name the provider was sent, the name the caller reads, and what it cost. */
async function served(
  model: string,
  stream = false,
): Promise<readonly [sent: string, told: string, cost: number]> {
  const messages = [{ role: 'user', content: 'x' }]
  const asked = await askChat(server, { model, messages, stream }, METADATA)
  const answer: Json = stream ? asked.events()[0] : asked.json()
  const sent = JSON.parse(upstream.requests.at(-1)!.body).model
  return [sent, answer.model, answer.usage?.cost ?? 0]
}

const CALLS: readonly (readonly [model: string, sent: string, told: string, cost: number])[] = [
  ['gpt-4o', 'large-v1', 'acme/large', 0],
  ['gpt-4o:floor', 'large-v1', 'acme/large', 0],
  ['acme/large:nitro', 'large-v1', 'acme/large', 0],
  ['openai/o9', 'o9', 'openai/o9', 0.01],
  ['openai/large:nitro', 'large-v2', 'openai/large', 0.1],
  ['openai/mini-2', 'mini-2', 'openai/mini-2', 0.00001],
  ['openai/vendor/m:free', 'vendor/m:free', 'openai/vendor/m:free', 0.01],
]

test('a fixed name and any name under a prefix reach their provider, at the price of their entry', async (t) => {
  for (const [model, sent, told, cost] of CALLS) t.strictSame(await served(model), [sent, told, cost], model)
  t.strictSame((await served('gpt-4o', true)).slice(0, 2), ['large-v1', 'acme/large'], 'streamed')
  const { status } = await askMessages(server, message({ model: 'gpt-4o' }))
  t.equal(status, 200)
  t.equal(JSON.parse(upstream.requests.at(-1)!.body).model, 'large-v1', 'on messages as well')
})

test('what was asked for stands in the metadata, and figures have the name of the entry', async (t) => {
  const messages = [{ role: 'user', content: 'x' }]
  const { service_metadata: told } = (await askChat(server, { model: 'gpt-4o', messages }, METADATA)).json()
  t.match(told, { requested: 'gpt-4o', attempts: [{ model: 'acme/large', status: 200 }] })
  for (let n = 0; n < 5; n++) await served(`openai/made-up-${n}`)
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
  t.match(metrics, 'model="openai/*"')
  t.notMatch(metrics, 'made-up')
})

test('the list shows the further name and its model, and the prefixes', async (t) => {
  const get = async (path: string): Promise<Json> => (await fetch(`${server.apiUrl}${path}`)).json()
  const { data } = await get('/models')
  const own = data.filter(({ id }: Json) => !id.startsWith('sim/'))
  t.strictSame(
    own.map(({ id }: Json) => id),
    ['acme/large', 'gpt-4o', 'openai/*', 'openai/large', 'openai/mini*'],
  )
  t.match(own[1], { canonical_slug: 'acme/large', alias_target: { slug: 'acme/large' }, owned_by: 'one' })
  t.notOk('alias_target' in own[0])
  t.match(await get('/models/gpt-4o'), { id: 'gpt-4o', object: 'model' })
  t.match(await get('/models/openai/anything'), { id: 'openai/anything', pricing: { prompt: '0.001' } })
  t.match(await get('/models/gpt-4o/endpoints'), { data: { endpoints: [{ model_id: 'acme/large' }] } })
})

test('a variant that cannot be had is refused with a sentence, and a provider that does not exist is told', async (t) => {
  const messages = [{ role: 'user', content: 'x' }]
  const ask = (more: object) => askChat(server, { model: 'acme/large', messages, ...more }, METADATA)
  const online = await ask({ model: 'acme/large:online' })
  t.equal(online.status, 400)
  t.match(online.json().error.message, /^Invalid request parameters: model: .*no search engine configured/)
  const wished = (await ask({ provider: { order: ['nobody', 'one'], ignore: ['else'] } })).json()
  t.strictSame(wished.service_metadata.unknown_providers, ['nobody', 'else'])
  t.notOk('unknown_providers' in (await ask({})).json().service_metadata)
})

test('a generation under a prefix is looked up with its own name', async (t) => {
  const messages = [{ role: 'user', content: 'x' }]
  const { id } = (await askChat(server, { model: 'openai/o9', messages })).json()
  const headers = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  const { data }: Json = await (await fetch(`${server.apiUrl}/generation?id=${id}`, { headers })).json()
  t.match(data, { model: 'openai/o9', total_cost: 0.01 })
})

test('a variant is retrieved as the model that it is of, at the price that calls are charged', async (t) => {
  const retrieve = (id: string) => fetch(`${server.apiUrl}/models/${encodeURIComponent(id)}`)
  t.match(await (await retrieve('openai/large:nitro')).json(), {
    id: 'openai/large',
    pricing: { prompt: '0.01' },
  })
  t.match(await (await retrieve('gpt-4o:floor')).json(), { id: 'acme/large' })
  t.match(await (await retrieve('gpt-4o')).json(), { id: 'gpt-4o', alias_target: { slug: 'acme/large' } })
  t.match(await (await retrieve('openai/other:nitro')).json(), { id: 'openai/other:nitro' })
  for (const id of ['openai/large:free', 'openai/<b>', 'acme/none:nitro'])
    t.equal((await retrieve(id)).status, 404, id)
  t.equal((await retrieve('acme/large:online')).status, 200)
})
