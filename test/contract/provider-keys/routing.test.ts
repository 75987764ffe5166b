/** Which account a call goes on when its organization has keys with the provider (contract/decisions 61, 64). */
import tap, { test } from 'tap'
import type { Json } from '../../support/servers/gateway-server.js'
import { answers, OPERATOR_ONE, ownKeyWorld, refusing } from './own-key-world.js'

const world = await ownKeyWorld(tap)
const { server, one, two, claude, manage, tenant, bring, ask, seen } = world

const OWN = 'own-key-0123456789abcdef'
const OTHER = 'other-key-0123456789abcdef'

test('without keys of its own a call goes on the account of the operator, and says so', async (t) => {
  const { key } = await tenant()
  const { json } = await ask(key)
  t.strictSame(seen(one), [OPERATOR_ONE])
  t.equal(json().usage.is_byok, false)
  t.equal(json().service_metadata.is_byok, false)
  t.equal(json().usage.cost, 0.01)
})

test("a key that goes first is what the call goes with, and nothing of the operator's account beside it", async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  const { json } = await ask(ours.key)
  t.strictSame(seen(one), [OWN])
  const { headers } = one.requests.at(-1)!
  t.equal(headers['openai-project'], undefined)
  t.equal(headers['x-trace'], 'on', 'what is no matter of an account goes along')
  const { usage, service_metadata: metadata } = json()
  t.match(usage, { cost: 0, is_byok: true, cost_details: { upstream_inference_cost: 0.01 } })
  t.match(metadata, {
    is_byok: true,
    endpoints: { total: 1, available: [{ provider: 'one', model: 'acme/one', selected: true }] },
    attempts: [{ status: 200, is_byok: true }],
  })
})

test('streams, messages and other formats go on it as well', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  await bring(ours, OTHER, { provider: 'claude' })
  const streamed = await ask(ours.key, 'acme/one', { stream: true })
  t.match(streamed.events().at(-2).usage, { is_byok: true, cost: 0 })
  const body = { model: 'acme/claude', max_tokens: 4, messages: [{ role: 'user', content: 'hi' }] }
  const told: Json = await (await server.post('/messages', body, { key: ours.key })).json()
  t.match(told.usage, { is_byok: true, cost: 0 })
  t.equal((await ask(ours.key, 'acme/claude')).json().usage.is_byok, true)
  t.strictSame([seen(one), seen(claude)], [[OWN], [OTHER, OTHER]])
})

test('tokens are counted on the account that a call would go on, or the next where its key is refused', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN, { provider: 'claude' })
  const speaks = claude.script
  let refuses = false
  claude.script = (peer, { headers }) => {
    if (refuses && headers['x-api-key'] === OWN) peer.json({ error: { message: 'no' } }, 401)
    else peer.json({ input_tokens: 42 })
  }
  const body = { model: 'acme/claude', messages: [{ role: 'user', content: 'hi' }] }
  for (refuses of [false, true]) {
    const counted = await server.post('/messages/count_tokens', body, { key: ours.key })
    t.strictSame(await counted.json(), { input_tokens: 42 })
  }
  claude.script = speaks
  t.strictSame(seen(claude), [OWN, OWN, 'operator-claude-0123456789'])
})

test('keys of a workspace go before those of the organization, and no other workspace has them', async (t) => {
  const ours = await tenant()
  const second = await manage(ours.management, 'POST', '/workspaces', { name: 'second' })
  const made = await manage(ours.management, 'POST', '/keys', {
    name: 'x',
    workspace_id: second.json.data.id,
  })
  await bring(ours, OTHER)
  await bring(ours, OWN, { workspace_id: ours.workspaceId })
  one.script = refusing([OWN], 401)
  await ask(ours.key)
  await ask(made.json.key)
  t.strictSame(seen(one), [OWN, OTHER, OTHER])
  one.script = answers
})

test('keys of an organization are used for nobody else', async (t) => {
  const [ours, theirs] = [await tenant(), await tenant()]
  await bring(ours, OWN)
  await bring(theirs, OTHER)
  await Promise.all([ask(ours.key), ask(theirs.key)])
  t.strictSame(seen(one).sort(), [OTHER, OWN].sort())
  t.strictSame((await manage(theirs.management, 'GET', '/provider-keys')).json.data.length, 1)
})

test("where the key fails the operator's answers, and the call is charged; unless the key says no", async (t) => {
  for (const status of [401, 402, 403, 404, 429, 500, 503]) {
    const ours = await tenant()
    one.script = refusing([OWN], status)
    const record = await bring(ours, OWN)
    const rescued = await ask(ours.key)
    t.equal(rescued.status, 200, String(status))
    t.match(rescued.json().usage, { is_byok: false, cost: 0.01 })
    t.match(rescued.json().service_metadata.attempts, [{ status, is_byok: true }, { status: 200 }])
    t.strictSame(seen(one), [OWN, OPERATOR_ONE])
    await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, { allow_fallback: false })
    const refused = await ask(ours.key)
    t.not(refused.status, 200)
    t.notMatch(seen(one), [OPERATOR_ONE], 'its account is left alone')
  }
  one.script = answers
})

test('a refusal of the request itself is no matter of the account; one of the key in its place is', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  one.script = (peer) =>
    peer.json({ error: { message: 'temperature is wrong', type: 'invalid_request_error' } }, 400)
  t.equal((await ask(ours.key)).status, 400)
  t.strictSame(seen(one), [OWN])
  one.script = refusing([OWN], 400)
  t.equal((await ask(ours.key)).status, 200)
  t.strictSame(seen(one), [OWN, OPERATOR_ONE])
  one.script = answers
})

test('a fallback key is tried when the operator is refused, and only then', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN, { priority: 'fallback' })
  t.equal((await ask(ours.key)).json().usage.is_byok, false)
  one.script = refusing([OPERATOR_ONE], 429)
  t.match((await ask(ours.key)).json().usage, { is_byok: true, cost: 0 })
  one.script = answers
  t.strictSame(seen(one), [OPERATOR_ONE, OPERATOR_ONE, OWN])
})

test('a key is for the models it names, and disabled ones for none', async (t) => {
  const ours = await tenant()
  const record = await bring(ours, OWN, { models: ['acme/other'] })
  await ask(ours.key, 'acme/one')
  await ask(ours.key, 'acme/other')
  await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, { disabled: true })
  await ask(ours.key, 'acme/other')
  await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, {
    disabled: false,
    key: OTHER,
    models: null,
  })
  await ask(ours.key, 'acme/one')
  t.equal((await manage(ours.management, 'DELETE', `/provider-keys/${record.id}`)).json.deleted, true)
  await ask(ours.key, 'acme/one')
  t.strictSame(seen(one), [OPERATOR_ONE, OWN, OPERATOR_ONE, OTHER, OPERATOR_ONE])
})

test('the next provider is asked when all credentials of the first are refused', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  one.script = refusing([OWN, OPERATOR_ONE], 401)
  const rescued = await ask(ours.key, 'acme/both', { provider: { order: ['one', 'two'] } })
  t.equal(rescued.status, 200)
  t.strictSame([seen(one), seen(two).length], [[OWN, OPERATOR_ONE], 1])
  t.match(rescued.json().service_metadata.endpoints.available, [
    { provider: 'one', selected: false },
    { provider: 'two', selected: true },
  ])
  one.script = answers
})

test('a key that always fails is left alone soon, and opens no breaker but its own', async (t) => {
  const [ours, theirs] = [await tenant(), await tenant()]
  await bring(ours, OWN, { allow_fallback: false })
  await bring(theirs, OTHER)
  one.script = refusing([OWN], 401)
  const statuses: number[] = []
  while (statuses.at(-1) !== 503 && statuses.length < 100) statuses.push((await ask(ours.key)).status)
  t.strictSame(statuses.slice(0, 5), [502, 502, 502, 502, 502])
  t.equal(statuses.at(-1), 503, 'its own breaker is open')
  t.equal((await ask(theirs.key)).status, 200)
  t.equal((await ask((await tenant()).key)).status, 200, 'and the operator serves others as before')
  const { json } = await manage(ours.management, 'POST', '/routing/explain', {
    ...{ model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] },
  })
  t.match(json.data.endpoints, [{ is_byok: true, state: /open/ }])
  one.script = answers
  seen(one)
})

test('a key at its limit goes behind for as long as its provider asks', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  one.script = refusing([OWN], 429, { 'retry-after': '60' })
  await ask(ours.key, 'acme/other')
  one.script = answers
  await ask(ours.key, 'acme/other')
  t.strictSame(seen(one), [OWN, OPERATOR_ONE, OPERATOR_ONE])
})

test('a call tries some of its keys, those that work before those that do not, and then the operator', async (t) => {
  const ours = await tenant()
  const keys = Array.from({ length: 30 }, (_, at) => `bad-key-0123456789-${at}`)
  for (const key of keys) await bring(ours, key)
  one.script = refusing(keys, 429, { 'retry-after': '60' })
  const tries = 5
  t.equal((await ask(ours.key)).status, 200)
  t.strictSame(seen(one), [...keys.slice(0, tries), OPERATOR_ONE])
  one.script = answers
  await ask(ours.key)
  t.strictSame(seen(one), [keys[tries]], 'the next that has not been told to wait')
})
