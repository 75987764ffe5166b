/** contract/decisions 39: organizations and their plans belong to the operator; workspaces to each organization. */
import { test } from 'tap'
import { accountApi, refused } from '../../support/servers/account-api.js'

const NOT_FOUND = 'Resource not found'

test('the operator creates an organization and gets its management key, once', async (t) => {
  const { call, manage } = await accountApi(t)
  const made = await manage('POST', '/organizations', { name: 'theirs', plan: 'business' })
  t.equal(made.status, 201)
  t.equal(made.headers['cache-control'], 'no-store')
  const { data, key } = made.json
  t.match(key, /^sk-sluice-mgmt-/)
  t.strictSame(data, {
    id: data.id,
    name: 'theirs',
    plan: 'business',
    credits: null,
    credits_left: null,
    created_at: '2023-11-14T22:13:20.000Z',
    updated_at: null,
  })
  t.match(data.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.match((await call(key, 'GET', '/who-am-i')).json, {
    kind: 'management',
    organizationId: data.id,
    operator: false,
  })
  t.equal((await call(key, 'GET', '/workspaces')).json.data.length, 1)
  t.equal((await call(key, 'POST', '/keys', { name: 'x' })).status, 201)
})

test('a new organization is on the free plan until the operator sets another', async (t) => {
  const { manage, clock } = await accountApi(t)
  const { data } = (await manage('POST', '/organizations', { name: 'theirs' })).json
  t.equal(data.plan, 'free')
  const path = `/organizations/${data.id}`
  t.strictSame((await manage('PATCH', path, {})).json, { data })
  clock.advance(1000)
  for (const plan of ['team', 'business', 'enterprise', 'free']) {
    const expected = { ...data, plan, updated_at: '2023-11-14T22:13:21.000Z' }
    t.strictSame((await manage('PATCH', path, { plan })).json, { data: expected })
    t.strictSame((await manage('GET', path)).json, { data: expected })
  }
  t.equal((await manage('PATCH', path, { name: 'new name' })).json.data.name, 'new name')
})

test('the operator lists all organizations, oldest first', async (t) => {
  const { manage, clock } = await accountApi(t)
  for (const name of ['b', 'a', 'c']) {
    clock.advance(1)
    await manage('POST', '/organizations', { name })
  }
  const { data } = (await manage('GET', '/organizations')).json
  t.strictSame(
    data.map(({ name }: { name: string }) => name),
    ['default', 'b', 'a', 'c'],
  )
})

test('bad input is refused with the name of the field', async (t) => {
  const { manage, accounts } = await accountApi(t)
  const plans = 'plan: must be one of free, team, business, enterprise'
  for (const [path, body, message] of [
    ['organizations', {}, 'name: is required'],
    ['organizations', { name: '' }, 'name: must have at least 1 character'],
    ['organizations', { name: 'x', plan: 'gold' }, plans],
    ['organizations', { name: 'x', plan: null }, plans],
    ['workspaces', {}, 'name: is required'],
    ['workspaces', { name: 'x'.repeat(257) }, 'name: must have at most 256 characters'],
  ] as const) {
    refused(t, await manage('POST', `/${path}`, body), 400, message)
  }
  t.equal(accounts.organizations().length, 1)
})

test('neither an organization’s own management key nor an ordinary key may do any of it', async (t) => {
  const { call, manage, apiKey, accounts } = await accountApi(t)
  const { data, key } = (await manage('POST', '/organizations', { name: 'theirs' })).json
  const operations = [
    ['GET', '/organizations'],
    ['POST', '/organizations', { name: 'x' }],
    ['GET', `/organizations/${data.id}`],
    ['PATCH', `/organizations/${data.id}`, { plan: 'enterprise' }],
  ] as const
  for (const [method, path, body] of operations) {
    refused(t, await call(key, method, path, body), 403, 'Only the operator can perform this operation')
    refused(t, await call(apiKey, method, path, body), 403, 'Only management keys can perform this operation')
    t.equal((await call('', method, path, body)).status, 401)
  }
  t.equal(accounts.organization(data.id)?.plan, 'free')
  t.equal(accounts.organizations().length, 2)
})

test('an organization that is not there is not found', async (t) => {
  const { manage } = await accountApi(t)
  for (const id of ['x', '%ff', 'x'.repeat(5000), '00000000-0000-7000-8000-000000000000']) {
    for (const [method, body] of [['GET'], ['PATCH', { plan: 'free' }]] as const) {
      refused(t, await manage(method, `/organizations/${id}`, body), 404, NOT_FOUND)
    }
  }
})

test('a workspace is deleted by the management key of its organization when nothing belongs to it', async (t) => {
  const { call, manage, managementKey, apiKey } = await accountApi(t)
  const { key } = (await manage('POST', '/organizations', { name: 'theirs' })).json
  const { id } = (await call(key, 'POST', '/workspaces', { name: 'second' })).json.data
  const path = `/workspaces/${id}`
  refused(t, await call(managementKey, 'DELETE', path), 404, NOT_FOUND)
  t.equal((await call(apiKey, 'DELETE', path)).status, 403)
  const { data } = (await call(key, 'POST', '/keys', { name: 'x', workspace_id: id })).json
  const kept = 'Resource conflict: the workspace has keys, which have to be deleted first'
  refused(t, await call(key, 'DELETE', path), 409, kept)
  await call(key, 'DELETE', `/keys/${data.hash}`)
  const deleted = await call(key, 'DELETE', `/workspaces/${id.toUpperCase()}`)
  t.strictSame([deleted.status, deleted.json], [200, { deleted: true }])
  refused(t, await call(key, 'DELETE', path), 404, NOT_FOUND)
  refused(t, await call(key, 'GET', path), 404, NOT_FOUND)
  t.equal((await call(key, 'POST', '/keys', { name: 'x', workspace_id: id })).status, 400)
  const [last] = (await call(key, 'GET', '/workspaces')).json.data
  const lastOne = 'Resource conflict: an organization keeps one workspace'
  refused(t, await call(key, 'DELETE', `/workspaces/${last.id}`), 409, lastOne)
})

test('workspaces are made and listed by the management key of their organization, and by nobody else', async (t) => {
  const { call, manage, managementKey, apiKey, clock } = await accountApi(t)
  const { data: theirs, key } = (await manage('POST', '/organizations', { name: 'theirs' })).json
  clock.advance(1)
  const made = await call(key, 'POST', '/workspaces', { name: 'second' })
  t.equal(made.status, 201)
  t.match(made.json.data, {
    organization_id: theirs.id,
    name: 'second',
    created_at: '2023-11-14T22:13:20.001Z',
  })
  const names = async (by: string): Promise<string[]> =>
    (await call(by, 'GET', '/workspaces')).json.data.map(({ name }: { name: string }) => name)
  t.strictSame(await names(key), ['default', 'second'])
  t.strictSame(await names(managementKey), ['default'])
  t.equal((await call(apiKey, 'GET', '/workspaces')).status, 403)
  t.equal((await call(apiKey, 'POST', '/workspaces', { name: 'x' })).status, 403)
})
