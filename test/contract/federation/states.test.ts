/** contract/decisions 17, 18, 37, 38: what stops exchanges, what cuts tokens off, and who may exchange for whom. */
import tap, { type Test, test } from 'tap'
import { IssuerServer } from '../../support/providers/issuer-server.js'
import { type Answered, FederationServer } from '../../support/servers/federation-server.js'
import { askChat, type Json } from '../../support/servers/gateway-server.js'

const bench = await FederationServer.start(tap)
const { server } = bench

/** How many calls in a row meet both workers. */
const SEVERAL = 8

/** The status a token gets, on whichever worker. */
async function statuses(token: string): Promise<number[]> {
  const calls = Array.from({ length: SEVERAL }, () => bench.manage('GET', '/key', undefined, token))
  return [...new Set((await Promise.all(calls)).map(({ status }) => status))]
}

async function exchanges(policyId: string): Promise<Answered[]> {
  return Promise.all(Array.from({ length: SEVERAL }, () => bench.exchange(policyId)))
}

/** Exchanges fail on every worker, and the token that was issued before still works. */
async function stopsNewOnes(t: Test, policyId: string, token: string): Promise<void> {
  for (const { status, json } of await exchanges(policyId)) {
    t.equal(status, 400)
    t.equal(json.error, 'invalid_grant')
  }
  t.strictSame(await statuses(token), [200])
}

async function works(t: Test, policyId: string): Promise<void> {
  for (const { status } of await exchanges(policyId)) t.equal(status, 200)
}

test('a pause stops exchanges and revokes nothing; enabling lets them go on', async (t) => {
  const { policy } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  await bench.made('PATCH', `/federation/policies/${policy.id}`, { enabled: false })
  await stopsNewOnes(t, policy.id, token)
  await bench.made('PATCH', `/federation/policies/${policy.id}`, { enabled: true })
  await works(t, policy.id)
})

test('deleting the policy stops exchanges and revokes nothing', async (t) => {
  const { policy } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  await bench.manage('DELETE', `/federation/policies/${policy.id}`)
  await stopsNewOnes(t, policy.id, token)
})

test('deleting the issuer stops exchanges and revokes nothing, and its URL saved again revives nothing', async (t) => {
  const { issuer, policy } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  await bench.manage('DELETE', `/federation/issuers/${issuer.id}`)
  await bench.newIssuer()
  await stopsNewOnes(t, policy.id, token)
})

test('losing the plan stops exchanges and revokes nothing; having it again lets them go on', async (t) => {
  const made: Json = (await bench.manage('POST', '/organizations', { name: 'x', plan: 'business' })).json
  const { hash } = await bench.newKey(made.key)
  const issuer = await bench.newIssuer({}, made.key)
  const policy = await bench.newPolicy({ issuer_id: issuer.id, api_key_hash: hash }, made.key)
  const token = await bench.accessToken(policy.id)
  for (const plan of ['free', 'team']) {
    await bench.made('PATCH', `/organizations/${made.data.id}`, { plan })
    await stopsNewOnes(t, policy.id, token)
  }
  await bench.made('PATCH', `/organizations/${made.data.id}`, { plan: 'enterprise' })
  await works(t, policy.id)
})

test('disabling the key cuts its tokens off at once, on every worker; enabling it brings them back', async (t) => {
  const { target, policy } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  t.strictSame(await statuses(token), [200], 'and every worker remembers the token now')
  await bench.made('PATCH', `/keys/${target.hash}`, { disabled: true })
  t.strictSame(await statuses(token), [401])
  for (const stream of [false, true]) {
    const body = { model: 'sim/instant', messages: [{ role: 'user', content: 'x' }], stream }
    const chat = await askChat(server, body, { Authorization: `Bearer ${token}` })
    t.strictSame(chat.json(), { error: { code: 401, message: 'Invalid credentials' } })
  }
  t.equal((await bench.exchange(policy.id)).status, 400)
  await bench.made('PATCH', `/keys/${target.hash}`, { disabled: false })
  t.strictSame(await statuses(token), [200])
})

test('deleting the key cuts its tokens off at once and for good', async (t) => {
  const { target, policy } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  t.strictSame(await statuses(token), [200])
  await bench.manage('DELETE', `/keys/${target.hash}`)
  t.strictSame(await statuses(token), [401])
  t.equal((await bench.exchange(policy.id)).status, 400)
})

test('a changed policy or issuer counts from the next exchange on, on every worker', async (t) => {
  const { issuer, policy } = await bench.trusting()
  const path = `/federation/policies/${policy.id}`
  await works(t, policy.id)
  await bench.made('PATCH', path, { audience: 'other' })
  for (const { status } of await exchanges(policy.id)) t.equal(status, 400)
  await bench.made('PATCH', path, { audience: policy.audience, claim_checks: { scopes: 'a' } })
  for (const { status } of await exchanges(policy.id)) t.equal(status, 400)
  await bench.made('PATCH', path, { claim_checks: { scopes: null }, condition: 'subject == "x"' })
  for (const { status } of await exchanges(policy.id)) t.equal(status, 400)
  await bench.made('PATCH', path, { condition: null })
  await works(t, policy.id)
  const elsewhere = await IssuerServer.start(tap)
  await bench.made('PATCH', `/federation/issuers/${issuer.id}`, { jwks_url: elsewhere.jwksUrl })
  for (const { status } of await exchanges(policy.id)) t.equal(status, 400, 'that set has no such key')
  await bench.made('PATCH', `/federation/issuers/${issuer.id}`, { jwks_url: null })
  await works(t, policy.id)
})

test('of 4 organizations with 3 issuers and 3 policies each, only the named policy mints, for its own key', async (t) => {
  const servers = [bench.issuer, await IssuerServer.start(tap), await IssuerServer.start(tap)]
  for (const each of servers) each.keys = [bench.key.jwk]
  const policies: { id: string; url: string; subject: string; key: string }[] = []
  for (const name of ['a', 'b', 'c', 'd']) {
    const { key } = (await bench.manage('POST', '/organizations', { name, plan: 'business' })).json
    for (const [n, { url }] of servers.entries()) {
      const target = await bench.newKey(key)
      const issuer = await bench.newIssuer({ issuer_url: url }, key)
      const subject = `workload ${n}`
      const wish = { issuer_id: issuer.id, api_key_hash: target.hash, subject }
      policies.push({ id: (await bench.newPolicy(wish, key)).id, url, subject, key: target.key })
    }
  }
  for (const named of policies) {
    const own = await bench.manage('GET', '/key', undefined, named.key)
    for (const { url, subject } of policies.slice(0, 3)) {
      const fits = url === named.url && subject === named.subject
      const answer = await bench.exchange(named.id, bench.token({ iss: url, sub: subject }))
      t.equal(answer.status, fits ? 200 : 400)
      if (!fits) continue
      const seen = await bench.manage('GET', '/key', undefined, answer.json.access_token)
      t.strictSame(seen.json, own.json)
    }
  }
})

test('files are for keys: an access token neither uploads nor lists, reads nor deletes them', async (t) => {
  const { policy, target } = await bench.trusting()
  const token = await bench.accessToken(policy.id)
  const form = new FormData()
  form.append('file', new Blob(['hello']), 'hello.txt')
  const send = (key: string, method: string, path: string, body?: FormData): Promise<Response> =>
    fetch(`${bench.server.apiUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}` },
      body: body ?? null,
    })
  const made = await send(target.key, 'POST', '/files', form)
  t.equal(made.status, 200, 'the key itself may')
  const { id } = (await made.json()) as { id: string }
  for (const [method, path] of [
    ['POST', '/files'],
    ['GET', '/files'],
    ['GET', `/files/${id}`],
    ['DELETE', `/files/${id}`],
  ] as const) {
    const answer = await send(token, method, path, method === 'POST' ? form : undefined)
    t.equal(answer.status, 403, `${method} ${path}`)
    t.match(await answer.json(), {
      error: { code: 403, message: /Access tokens cannot perform this operation/ },
    })
  }
  t.equal((await send(target.key, 'GET', `/files/${id}`)).status, 200, 'it is still there')
})
