/** Sign-in providers as management has them. */
import tap, { test } from 'tap'
import { API_KEY, type Json } from '../../support/servers/gateway-server.js'
import { SignInBench } from '../../support/servers/sign-in-bench.js'

const bench = await SignInBench.start(tap, { SLUICE_ALLOW_LOOPBACK_ISSUERS: 'off' })
const organization = await bench.newOrganization()
const directory = await bench.newDirectory(organization)
const PATH = '/sign-in-providers'
const WISH = { name: 'people', issuer: 'https://id.example.com', client_id: 'sluice' }

const asked = (method: string, path: string, body?: unknown, key = organization.key) =>
  bench.manage(method, path, body, key)

test('a provider is made, read, listed, changed and deleted', async (t) => {
  const made = await asked('POST', PATH, {
    ...WISH,
    client_secret: 'canary',
    connection_id: directory.id,
    scopes: ['profile'],
  })
  t.equal(made.status, 201, JSON.stringify(made.json))
  const { data } = made.json
  t.match(data, {
    name: 'people',
    issuer: WISH.issuer,
    client_id: 'sluice',
    has_client_secret: true,
    connection_id: directory.id,
    subject_claim: 'sub',
    scopes: ['openid', 'profile'],
    redirect_uri: `${bench.server.apiUrl}/sign-in/${data.id}/callback`,
    sign_in_url: `${bench.server.apiUrl}/sign-in/${data.id}`,
    updated_at: null,
  })
  t.strictSame((await asked('GET', `${PATH}/${data.id}`)).json.data, data)
  t.strictSame((await asked('GET', PATH)).json, { data: [data], total_count: 1 })
  const changes = { name: 'staff', client_secret: null, scopes: ['email', 'openid'] }
  const changed = (await asked('PATCH', `${PATH}/${data.id}`, changes)).json.data
  t.match(changed, {
    name: 'staff',
    has_client_secret: false,
    scopes: ['openid', 'email'],
    client_id: 'sluice',
  })
  t.equal((await asked('DELETE', `${PATH}/${data.id}`)).status, 200)
  t.equal((await asked('GET', `${PATH}/${data.id}`)).status, 404)
  t.equal((await asked('DELETE', `${PATH}/${data.id}`)).status, 404)
  const audit = (await asked('GET', '/federation/audit?trail=changes')).json.data
  t.strictSame(
    audit.map((row: Json) => [row.action, row.issuer_id]),
    ['delete', 'update', 'create'].map((verb) => [`sign-in-provider.${verb}`, data.id]),
  )
  t.notMatch(JSON.stringify([made.json, changed, audit]), 'canary')
})

test('what is not fit is named', async (t) => {
  const foreign = await bench.newDirectory(await bench.newOrganization())
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ issuer: 'http://id.example.com' }, /issuer: must use https/],
    [{ issuer: 'https://id.example.com/?a=b' }, /issuer: must have no query/],
    [{ issuer: 'https://10.0.0.1' }, /issuer: must not name a private/],
    [{ issuer: 'https://169.254.169.254' }, /issuer: must not name a private/],
    [{ issuer: 'http://127.0.0.1:9000' }, /issuer/],
    [{ issuer: 'https://localhost' }, /issuer: must not name a host of this machine/],
    [{ issuer: 'https://user@id.example.com' }, /issuer: must name no user/],
    [{ issuer: '' }, /issuer/],
    [{ name: '' }, /name/],
    [{ client_id: 7 }, /client_id/],
    [{ client_secret: '' }, /client_secret/],
    [{ connection_id: foreign.id }, /connection_id: is no connection of this organization/],
    [{ connection_id: 'x' }, /connection_id/],
    [{ subject_claim: 'email' }, /subject_claim: must be a claim that no one can change/],
    [{ subject_claim: 'preferred_username' }, /subject_claim/],
    [{ scopes: ['a b'] }, /scopes/],
    [{ scopes: 'openid' }, /scopes/],
    [{ scopes: Array.from({ length: 21 }, (_, n) => `s${n}`) }, /scopes/],
    [{ jwks_url: 'https://id.example.com/keys' }, /jwks_url: is no member/],
  ]
  for (const [more, named] of cases) {
    const { status, json } = await asked('POST', PATH, { ...WISH, ...more })
    t.equal(status, 400, JSON.stringify(more))
    t.match(json.error.message, named)
  }
  t.equal((await asked('GET', PATH)).json.total_count, 0)
})

test('issuer, connection and subject claim stay as they are', async (t) => {
  const { data } = (await asked('POST', PATH, WISH)).json
  for (const more of [
    { issuer: 'https://other.example' },
    { connection_id: directory.id },
    { subject_claim: 'oid' },
  ])
    t.equal((await asked('PATCH', `${PATH}/${data.id}`, more)).status, 400, JSON.stringify(more))
  t.strictSame((await asked('GET', `${PATH}/${data.id}`)).json.data, data)
})

test('only management of the organization has to do with its providers', async (t) => {
  const { data } = (await asked('POST', PATH, WISH)).json
  const other = await bench.newOrganization()
  for (const [method, path, body] of [
    ['GET', `${PATH}/${data.id}`, undefined],
    ['PATCH', `${PATH}/${data.id}`, { name: 'mine' }],
    ['DELETE', `${PATH}/${data.id}`, undefined],
  ] as const) {
    t.equal((await asked(method, path, body, other.key)).status, 404, method)
    t.equal((await asked(method, path, body, API_KEY)).status, 403, method)
    t.equal((await asked(method, path, body, 'wrong')).status, 401, method)
  }
  t.strictSame((await asked('GET', PATH, undefined, other.key)).json.data, [])
})

test('sign-ins of an address are limited as exchanges are', async (t) => {
  const settings = { SLUICE_EXCHANGES_PER_MINUTE: '1', SLUICE_EXCHANGE_BURST: '3' }
  const wanted = [400, 400, 400, 429, 429]
  let statuses: number[] = []
  // A worker whose supervisor is late to answer counts by itself for a moment: then once more, at another server.
  for (let tries = 0; tries < 5 && statuses.join() !== wanted.join(); tries++) {
    const limited = await SignInBench.start(t, settings)
    statuses = []
    for (let n = 0; n < 5; n++) {
      const { status } = await fetch(`${limited.server.apiUrl}/sign-in/none/callback`)
      statuses.push(status)
    }
  }
  t.strictSame(statuses, wanted)
})
