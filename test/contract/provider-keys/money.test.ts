/**
 * contract/decisions 61: what goes on the caller's own account is charged to nobody here, told as what the provider asks,
 * summed up apart, and counts in the limits of keys that say so.
 */
import tap, { test } from 'tap'
import type { Json } from '../../support/servers/gateway-server.js'
import { answers, ownKeyWorld, refusing, type Tenant } from './own-key-world.js'

const { manage, tenant, bring, ask, one } = await ownKeyWorld(tap)

const OWN = 'own-key-0123456789abcdef'

const keyOf = async ({ management, hash }: Tenant): Promise<Json> =>
  (await manage(management, 'GET', `/keys/${hash}`)).json.data

const spentOf = async ({ management }: Tenant): Promise<number> =>
  (await manage(management, 'GET', '/credits')).json.data.total_usage

const periods = (name: string, dollars: number): object =>
  Object.fromEntries(['', '_daily', '_weekly', '_monthly'].map((period) => [name + period, dollars]))

test('usage of both accounts is summed up apart, in all four periods, and credits lose what was charged', async (t) => {
  const ours = await tenant({ credits: 1 })
  await ask(ours.key)
  await bring(ours, OWN)
  for (let call = 0; call < 3; call++) await ask(ours.key)
  const told = { ...periods('usage', 0.01), ...periods('byok_usage', 0.03) }
  t.match(await keyOf(ours), told)
  t.match((await manage(ours.management, 'GET', '/keys')).json.data, [told])
  t.match((await manage(ours.key, 'GET', '/key')).json.data, told)
  t.equal(await spentOf(ours), 0.01)
})

test('a generation tells on whose account it went, and what each side paid', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  const { id } = (await ask(ours.key)).json()
  const own = (await manage(ours.key, 'GET', `/generation?id=${id}`)).json.data
  t.match(own, { is_byok: true, total_cost: 0, charged: 0, usage: 0, upstream_cost: 0.01 })
  t.match(own, { upstream_inference_cost: 0.01, upstream_cost_basis: 'exact' })
  one.script = refusing([OWN], 401)
  const rescued = (await ask(ours.key)).json().id
  one.script = answers
  const both = (await manage(ours.key, 'GET', `/generation?id=${rescued}`)).json.data
  t.match(both, { is_byok: false, charged: 0.01, upstream_cost: 0.01, attempts: 2 })
})

test('what the caller may have lost on its own account is told as its own', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  one.script = (peer, request) => {
    if (request.headers.authorization === `Bearer ${OWN}`) peer.cut()
    else answers(peer, request)
  }
  const { id } = (await ask(ours.key)).json()
  one.script = answers
  const { lost_attempts: lost, ...rest } = (await manage(ours.key, 'GET', `/generation?id=${id}`)).json.data
  t.match(lost, [{ is_byok: true, charged: 0, upstream_cost: 0.01 }])
  t.match(rest, { is_byok: false, charged: 0.01 })
  t.match(await keyOf(ours), { usage: 0.01, byok_usage: 0 })
})

test('an organization without credit goes on its own account all the same, and not on that of the operator', async (t) => {
  const ours = await tenant({ credits: 0 })
  t.equal((await ask(ours.key)).status, 402)
  await bring(ours, OWN)
  t.match((await ask(ours.key)).json().usage, { is_byok: true, cost: 0 })
  one.script = refusing([OWN], 401)
  t.equal((await ask(ours.key)).status, 502, 'it has nothing to be rescued with')
  one.script = answers
  t.equal(await spentOf(ours), 0)
})

test("a key's limit counts what was charged, and the caller's own account only where it says so", async (t) => {
  const plain = await tenant({ key: { limit: 0.015 } })
  const inclusive = await tenant({ key: { limit: 0.035, include_byok_in_limit: true } })
  for (const each of [plain, inclusive]) await bring(each, OWN)
  for (let call = 0; call < 4; call++) t.equal((await ask(plain.key)).status, 200)
  t.match(await keyOf(plain), { limit_remaining: 0.015, byok_usage: 0.04 })
  for (let call = 0; call < 3; call++) t.equal((await ask(inclusive.key)).status, 200)
  const refused = await ask(inclusive.key)
  t.equal(refused.status, 402)
  t.match(refused.json().error.message, /may cost \$0\.01, and \$0\.005 is left of the limit of this key/)
  t.match(await keyOf(inclusive), { limit_remaining: 0.005, usage: 0, byok_usage: 0.03 })
})

test('a refusal says how long an answer would fit by the prices of the account that counts', async (t) => {
  const inclusive = { limit: 0.005, include_byok_in_limit: true }
  for (const allow_fallback of [true, false]) {
    const ours = await tenant({ key: inclusive })
    await bring(ours, OWN, { allow_fallback })
    const refused = await ask(ours.key, 'acme/long', { max_tokens: 1000 })
    t.equal(refused.status, 402)
    t.match(refused.json().error.metadata, { needed: 0.01, available: 0.005, affordable_tokens: 500 })
  }
})

test('a limit counts from now on as the key says now, whatever was spent before', async (t) => {
  const ours = await tenant({ key: { limit: 0.035 } })
  const record = await bring(ours, OWN)
  await ask(ours.key)
  await ask(ours.key)
  const path = `/keys/${ours.hash}`
  const inclusive = async (on: boolean): Promise<void> => {
    await manage(ours.management, 'PATCH', path, { include_byok_in_limit: on })
  }
  await inclusive(true)
  t.equal((await keyOf(ours)).limit_remaining, 0.015)
  t.equal((await ask(ours.key)).status, 200)
  t.equal((await ask(ours.key)).status, 402, 'three calls of its own account are in the limit')
  await inclusive(false)
  await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, { disabled: true })
  t.equal((await keyOf(ours)).limit_remaining, 0.035)
  t.equal((await ask(ours.key)).status, 200)
  await manage(ours.management, 'PATCH', `/provider-keys/${record.id}`, { disabled: false })
  await inclusive(true)
  t.equal((await ask(ours.key)).status, 402, 'and what was charged meanwhile is as well')
  t.match(await keyOf(ours), { usage: 0.01, byok_usage: 0.03, limit_remaining: 0 })
})

test('what is reserved for either account is given back, whichever answers', async (t) => {
  // Of both there is just enough for all calls: what is not given back refuses the last ones.
  const ours = await tenant({ credits: 0.05, key: { limit: 0.1, include_byok_in_limit: true } })
  await bring(ours, OWN)
  for (let call = 0; call < 10; call++) {
    one.script = call % 2 === 0 ? answers : refusing([OWN], 404)
    t.equal((await ask(ours.key, 'acme/one')).status, 200, `call ${call}`)
  }
  one.script = answers
  t.match(await keyOf(ours), { usage: 0.05, byok_usage: 0.05, limit_remaining: 0 })
  t.equal(await spentOf(ours), 0.05)
})
