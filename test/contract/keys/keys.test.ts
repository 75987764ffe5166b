/** contract/gateway 11.3: management of an organization's keys. */
import { test } from 'tap'
import { hashKey, keyLabel } from '../../../src/identity/api-keys.js'
import { accountApi, refused } from '../../support/servers/account-api.js'

const NEVER_USED = {
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
}
const NOT_FOUND = 'Resource not found'

test('a key is created with what was asked, and shown once', async (t) => {
  const { call, manage, accounts } = await accountApi(t)
  const [workspace] = (await manage('GET', '/workspaces')).json.data
  const made = await manage('POST', '/keys', {
    name: 'for the robots',
    limit: 12.345678901,
    limit_reset: 'monthly',
    expires_at: '2030-01-31T13:00:00+01:00',
    include_byok_in_limit: true,
    workspace_id: workspace.id,
    creator_user_id: 'user_1',
    external: { user: 'theirs' },
    unknown_member: 'ignored',
  })
  t.equal(made.status, 201)
  t.equal(made.headers['cache-control'], 'no-store')
  const { data, key } = made.json
  t.match(key, /^sk-sluice-v1-[A-Za-z0-9_-]{43}$/)
  t.strictSame(data, {
    hash: hashKey(key),
    name: 'for the robots',
    label: keyLabel(key),
    limit: 12.345678901,
    limit_remaining: 12.345678901,
    limit_reset: 'monthly',
    include_byok_in_limit: true,
    ...NEVER_USED,
    creator_user_id: 'user_1',
    expires_at: '2030-01-31T12:00:00.000Z',
    disabled: false,
    workspace_id: workspace.id,
    external_user: 'theirs',
    created_at: '2023-11-14T22:13:20.000Z',
    updated_at: null,
    rate_limit: null,
  })
  t.strictSame((await manage('GET', `/keys/${data.hash}`)).json, { data })
  t.strictSame(await call(key, 'GET', '/who-am-i').then(({ json }) => json.kind), 'personal')
  t.notOk(JSON.stringify(accounts.keys()).includes(key.slice(20)), 'the store does not have it')
})

test('a key needs a name and nothing else', async (t) => {
  const { call, manage } = await accountApi(t)
  const { status, json } = await manage('POST', '/keys', { name: 'x' })
  t.equal(status, 201)
  t.match(json.data, {
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    include_byok_in_limit: false,
    creator_user_id: null,
    expires_at: null,
    external_user: null,
    disabled: false,
  })
  const [workspace] = (await manage('GET', '/workspaces')).json.data
  t.equal(json.data.workspace_id, workspace.id, 'it is in the first workspace')
  t.match((await call(json.key, 'GET', '/who-am-i')).json, { kind: 'workspace' })
})

const NO_TIME = 'expires_at: must be an ISO 8601 date-time with a zone, such as 2030-01-31T12:00:00Z'

const REFUSED: readonly (readonly [body: unknown, message: string])[] = [
  [{}, 'name: is required'],
  [{ name: '' }, 'name: must have at least 1 character'],
  [{ name: null }, 'name: must be a string'],
  [{ name: 'x'.repeat(257) }, 'name: must have at most 256 characters'],
  [{ name: 'x', limit: '5' }, 'limit: must be a number'],
  [{ name: 'x', limit: -0.01 }, 'limit: must be at least 0'],
  [{ name: 'x', limit: 9_000_001 }, 'limit: must be at most 9000000'],
  [{ name: 'x', limit_reset: 'yearly' }, 'limit_reset: must be daily, weekly, monthly or null'],
  [{ name: 'x', limit_reset: 1 }, 'limit_reset: must be daily, weekly, monthly or null'],
  [{ name: 'x', expires_at: '2030-01-31' }, NO_TIME],
  [{ name: 'x', expires_at: '2030-02-30T12:00:00Z' }, NO_TIME],
  [{ name: 'x', expires_at: '2030-01-31T12:00:00' }, NO_TIME],
  [{ name: 'x', expires_at: 5 }, 'expires_at: must be a string'],
  [{ name: 'x', include_byok_in_limit: 'yes' }, 'include_byok_in_limit: must be a boolean'],
  [{ name: 'x', workspace_id: 'nowhere' }, 'workspace_id: is no workspace of this organization'],
  [{ name: 'x', workspace_id: null }, 'workspace_id: must be a string'],
  [{ name: 'x', creator_user_id: '' }, 'creator_user_id: must have at least 1 character'],
  [{ name: 'x', external: 'user' }, 'external: must be an object'],
  [{ name: 'x', external: {} }, 'external.user: is required'],
  [{ name: 'x', external: { user: 'u', api_key: 'k' } }, 'external.api_key: is not supported'],
  [[], 'body: must be an object'],
  ['{', 'body: is not valid JSON'],
]

test('bad input is refused with the name of the field, and no key is made', async (t) => {
  const { manage, accounts } = await accountApi(t)
  for (const [body, message] of REFUSED) {
    refused(t, await manage('POST', '/keys', body), 400, message, JSON.stringify(body))
  }
  t.equal(accounts.keys().length, 2)
})

test('changes change what they name, and null takes a limit away', async (t) => {
  const { manage, clock } = await accountApi(t)
  const { data } = (await manage('POST', '/keys', { name: 'x', limit: 5, limit_reset: 'daily' })).json
  const path = `/keys/${data.hash}`
  t.strictSame((await manage('PATCH', path, {})).json, { data }, 'nothing asked, nothing changed')
  clock.advance(1500)
  const updated_at = '2023-11-14T22:13:21.500Z'
  const steps = [
    [{ name: 'y' }, { name: 'y' }],
    [{ disabled: true }, { disabled: true }],
    [{ disabled: false }, { disabled: false }],
    [
      { limit: 0.1, include_byok_in_limit: true },
      { limit: 0.1, limit_remaining: 0.1, include_byok_in_limit: true },
    ],
    [{ limit: 0 }, { limit: 0, limit_remaining: 0 }],
    [{ limit_reset: 'weekly' }, { limit_reset: 'weekly' }],
    [
      { limit: null, limit_reset: null },
      { limit: null, limit_remaining: null, limit_reset: null },
    ],
  ] as const
  let expected = { ...data, updated_at }
  for (const [change, effect] of steps) {
    expected = { ...expected, ...effect }
    const reply = await manage('PATCH', path, change)
    t.strictSame({ status: reply.status, json: reply.json }, { status: 200, json: { data: expected } })
    t.strictSame((await manage('GET', path)).json, { data: expected })
  }
  refused(t, await manage('PATCH', path, { disabled: 'true' }), 400, 'disabled: must be a boolean')
  t.strictSame((await manage('GET', path)).json, { data: expected })
})

test('a disabled key is refused by the next call, and let in again when it is enabled', async (t) => {
  const { call, manage } = await accountApi(t)
  const { data, key } = (await manage('POST', '/keys', { name: 'x' })).json
  for (const disabled of [true, false, true, false]) {
    await manage('PATCH', `/keys/${data.hash}`, { disabled })
    const reply = await call(key, 'GET', '/key')
    if (disabled) refused(t, reply, 401, 'Invalid credentials')
    else t.equal(reply.status, 200)
  }
})

test('a key ends when it says', async (t) => {
  const { call, manage, clock } = await accountApi(t)
  const expires_at = new Date(clock.unixSeconds() * 1000 + 2000).toISOString()
  const { key } = (await manage('POST', '/keys', { name: 'x', expires_at })).json
  clock.advance(1999)
  t.equal((await call(key, 'GET', '/key')).json.data.expires_at, expires_at)
  clock.advance(1)
  refused(t, await call(key, 'GET', '/key'), 401, 'Invalid credentials')
})

test('a deleted key is gone for good', async (t) => {
  const { call, manage } = await accountApi(t)
  const { data, key } = (await manage('POST', '/keys', { name: 'x' })).json
  const path = `/keys/${data.hash}`
  const deleted = await manage('DELETE', path)
  t.strictSame({ status: deleted.status, json: deleted.json }, { status: 200, json: { deleted: true } })
  t.equal((await call(key, 'GET', '/key')).status, 401)
  for (const [method, body] of [['GET'], ['PATCH', { disabled: false }], ['DELETE']] as const) {
    refused(t, await manage(method, path, body), 404, NOT_FOUND, method)
  }
  t.equal((await call(key, 'GET', '/key')).status, 401)
  t.notOk((await manage('GET', '/keys?include_disabled=true')).text.includes(data.hash))
})

test('a list has the keys of the organization, oldest first, and pages', async (t) => {
  const { manage, clock } = await accountApi(t)
  const names = ['default']
  for (let n = 0; n < 104; n++) {
    clock.advance(1)
    await manage('POST', '/keys', { name: `key ${n}` })
    names.push(`key ${n}`)
  }
  const listed = async (query: string): Promise<string[]> => {
    const { data } = (await manage('GET', `/keys${query}`)).json
    return data.map(({ name }: { name: string }) => name)
  }
  t.strictSame(await listed(''), names.slice(0, 100), 'the management key is not among them')
  t.strictSame(await listed('?offset=3'), names.slice(3, 103))
  t.strictSame(await listed('?offset=100'), names.slice(100))
  t.strictSame(await listed('?offset=105'), [])
})

test('a list leaves out disabled keys unless asked, and can keep to a workspace', async (t) => {
  const { manage } = await accountApi(t)
  const workspace = (await manage('POST', '/workspaces', { name: 'second' })).json.data
  const made = async (body: object): Promise<string> => (await manage('POST', '/keys', body)).json.data.hash
  await made({ name: 'there', workspace_id: workspace.id })
  const off = await made({ name: 'off' })
  await manage('PATCH', `/keys/${off}`, { disabled: true })
  const listed = async (query: string): Promise<string[]> => {
    const { data } = (await manage('GET', `/keys${query}`)).json
    return data.map(({ name }: { name: string }) => name).sort()
  }
  t.strictSame(await listed(''), ['default', 'there'])
  t.strictSame(await listed('?include_disabled=false'), ['default', 'there'])
  t.strictSame(await listed('?include_disabled=true'), ['default', 'off', 'there'])
  t.strictSame(await listed(`?workspace_id=${workspace.id}`), ['there'])
  t.strictSame(await listed('?workspace_id=nowhere'), [])
  for (const [query, message] of [
    ['offset=-1', 'offset: must be at least 0'],
    ['offset=x', 'offset: must be an integer'],
    ['include_disabled=1', 'include_disabled: must be a boolean'],
    ['workspace_id=%ff', 'workspace_id: must be a string'],
  ] as const) {
    refused(t, await manage('GET', `/keys?${query}`), 400, message)
  }
})

test('a list finds keys by a part of the name, in any case, or by what the hash begins with', async (t) => {
  const { manage, clock } = await accountApi(t)
  const made = async (name: string): Promise<string> => {
    clock.advance(1)
    return (await manage('POST', '/keys', { name })).json.data.hash
  }
  for (let n = 0; n < 120; n++) await made(`job ${n}`)
  const street = await made('Große Straße')
  const listed = async (query: string): Promise<string[]> => {
    const { data } = (await manage('GET', `/keys?${query}`)).json
    return data.map(({ name }: { name: string }) => name)
  }
  t.strictSame(await listed('q=JOB+119'), ['job 119'], 'beyond the first page of all')
  t.strictSame(await listed('q=job+11&offset=9'), ['job 118', 'job 119'], 'pages are of what was found')
  t.strictSame(await listed(`q=${encodeURIComponent('GROSSE STRASSE')}`), ['Große Straße'])
  t.strictSame(await listed(`q=${street}`), ['Große Straße'])
  t.strictSame(await listed(`q=${street.slice(0, 12)}`), ['Große Straße'])
  t.strictSame(await listed(`q=${street.slice(1)}`), [], 'no other part of it')
  t.equal((await listed('q=')).length, 100)
  refused(t, await manage('GET', '/keys?q=%ff'), 400, 'q: must be a string')
})

test('what names no key of the organization is not found, whatever it is', async (t) => {
  const { call, manage, managementKey, apiKey } = await accountApi(t)
  const { key: theirs } = (await manage('POST', '/organizations', { name: 'theirs' })).json
  const foreign = (await call(theirs, 'POST', '/keys', { name: 'foreign' })).json
  const own = hashKey(apiKey)
  const none = [
    foreign.data.hash,
    hashKey('unknown'),
    own.toUpperCase(),
    own.slice(1),
    'x',
    '%ff',
    '%00',
    apiKey,
  ]
  for (const hash of [...none, 'x'.repeat(5000), hashKey(managementKey)]) {
    for (const [method, body] of [['GET'], ['PATCH', { disabled: true }], ['DELETE']] as const) {
      const reply = await manage(method, `/keys/${hash}`, body)
      refused(t, reply, 404, NOT_FOUND, `${method} ${hash.slice(0, 20)}`)
    }
  }
  t.equal((await call(foreign.key, 'GET', '/key')).status, 200, 'the other organization’s key lives')
  t.equal((await manage('GET', '/keys')).json.data.length, 1)
  const moved = { name: 'x', workspace_id: foreign.data.workspace_id }
  t.equal((await manage('POST', '/keys', moved)).status, 400, 'nor can one be put there')
})

test('an ordinary key may not manage keys, and without one nothing is said', async (t) => {
  const { call, apiKey, logged } = await accountApi(t)
  const operations = [
    ['GET', '/keys'],
    ['POST', '/keys', { name: 'x' }],
    ['GET', `/keys/${hashKey(apiKey)}`],
    ['PATCH', `/keys/${hashKey(apiKey)}`, { limit: null }],
    ['DELETE', `/keys/${hashKey(apiKey)}`],
  ] as const
  for (const [method, path, body] of operations) {
    refused(t, await call(apiKey, method, path, body), 403, 'Only management keys can perform this operation')
    const nobody = await call('', method, path, body)
    refused(t, nobody, 401, 'Missing Authentication header')
    t.equal(nobody.headers['www-authenticate'], 'Bearer')
    refused(t, await call('sk-sluice-v1-stranger', method, path, body), 401, 'Invalid credentials')
  }
  t.notOk(logged().includes(apiKey), 'the log does not have the key')
})
