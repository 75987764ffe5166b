/** contract/gateway 9, contract/decisions 4 and 32: mappings of directory groups. */

import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { refused } from '../../support/servers/account-api.js'
import { type FileApi, fileApi } from '../../support/servers/file-api.js'

const PATH = '/api/v1/scim/group-mappings'
const NOT_FOUND = 'Resource not found'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Calls as the management key. */
const asked = (api: FileApi, method: string, path: string, body?: unknown): Promise<HttpReply> =>
  api.call(api.managementKey, method, path, body === undefined ? {} : { body })

async function mapped(api: FileApi, more: object = {}): Promise<{ id: string; scim_group_id: string }> {
  const wish = { scim_group_id: randomUUID(), workspace_id: api.workspaceId, role: 'member', ...more }
  return (await asked(api, 'POST', PATH, wish)).json.data
}

test('a mapping is created, read, listed, changed and deleted', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  const wish = { scim_group_id: group, workspace_id: api.workspaceId, role: 'member' }
  const made = await asked(api, 'POST', PATH, { ...wish, unknown: 1 })
  t.equal(made.status, 201)
  t.equal(made.headers['content-type'], 'application/json')
  const { id } = made.json.data
  t.match(id, UUID)
  const at = new Date(api.clock.unixSeconds() * 1000).toISOString()
  const { workspace_id, role } = wish
  const names = { id, organization_id: api.organizationId, scim_group_id: group, group_name: null }
  const mapping = { ...names, workspace_id, role, created_at: at, updated_at: at }
  t.strictSame(made.json, { data: mapping })
  t.strictSame((await asked(api, 'GET', `${PATH}/${id}`)).json, { data: mapping })
  t.strictSame((await asked(api, 'GET', `${PATH}/${id.toUpperCase()}`)).json, { data: mapping })
  t.strictSame((await asked(api, 'GET', PATH)).json, { data: [mapping], total_count: 1 })

  api.clock.advance(1_234)
  const changed = await asked(api, 'PATCH', `${PATH}/${id}`, { role: 'admin' })
  t.equal(changed.status, 200)
  const later = new Date(api.clock.unixSeconds() * 1000).toISOString()
  t.match(later, /\.\d{3}Z$/)
  t.strictSame(changed.json, { data: { ...mapping, role: 'admin', updated_at: later } })
  api.clock.advance(1_000)
  t.strictSame(
    (await asked(api, 'PATCH', `${PATH}/${id}`, { role: 'admin' })).json,
    changed.json,
    'no change is none',
  )
  t.strictSame((await asked(api, 'GET', `${PATH}/${id}`)).json, changed.json)

  const deleted = await asked(api, 'DELETE', `${PATH}/${id}?keep_members=false`)
  t.match(deleted, { status: 200 })
  t.strictSame(deleted.json, { deleted: true })
  for (const [method, path, body] of [
    ['GET', `${PATH}/${id}`],
    ['PATCH', `${PATH}/${id}`, { role: 'admin' }],
    ['DELETE', `${PATH}/${id}?keep_members=false`],
  ] as const) {
    const gone = await asked(api, method, path, body)
    refused(t, gone, 404, NOT_FOUND)
  }
  t.strictSame((await asked(api, 'GET', PATH)).json, { data: [], total_count: 0 })
})

test('a group has one role in a workspace', async (t) => {
  const api = await fileApi(t)
  const { scim_group_id } = await mapped(api)
  const again = { scim_group_id: scim_group_id.toUpperCase(), workspace_id: api.workspaceId, role: 'admin' }
  refused(t, await asked(api, 'POST', PATH, again), 409, 'Resource conflict')
  t.equal((await asked(api, 'POST', PATH, { ...again, workspace_id: api.otherWorkspaceId })).status, 201)
})

test('lists come in pages', async (t) => {
  const api = await fileApi(t)
  const ids: string[] = []
  for (let n = 0; n < 4; n++) {
    api.clock.advance(10)
    ids.push((await mapped(api)).id)
  }
  const page = async (query: string) => {
    const { data, total_count } = (await asked(api, 'GET', `${PATH}?${query}`)).json
    return [data.map(({ id }: { id: string }) => id), total_count]
  }
  t.strictSame(await page(''), [ids, 4])
  t.strictSame(await page('limit=2'), [ids.slice(0, 2), 4])
  t.strictSame(await page('limit=2&offset=3'), [ids.slice(3), 4])
  t.strictSame(await page('offset=9'), [[], 4])
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'limit=x']) {
    t.equal((await asked(api, 'GET', `${PATH}?${query}`)).status, 400, query)
  }
})

test('what cannot be is 400 with the name of the field, and nothing is stored', async (t) => {
  const api = await fileApi(t)
  const good = { scim_group_id: randomUUID(), workspace_id: api.workspaceId, role: 'member' }
  const wishes: [object | string, string][] = [
    [{ ...good, role: 'owner' }, 'role: must be admin or member'],
    [{ ...good, role: 'Admin' }, 'role: must be admin or member'],
    [{ ...good, role: null }, 'role: must be admin or member'],
    [{ ...good, role: undefined }, 'role: is required'],
    [{ ...good, scim_group_id: 'admins' }, 'scim_group_id: must be a UUID'],
    [{ ...good, scim_group_id: undefined }, 'scim_group_id: is required'],
    [{ ...good, workspace_id: `${api.workspaceId}0` }, 'workspace_id: must be a UUID'],
    [{ ...good, workspace_id: randomUUID() }, 'workspace_id: is no workspace of this organization'],
    [{ ...good, workspace_id: api.foreignWorkspaceId }, 'workspace_id: is no workspace of this organization'],
  ]
  for (const [wish, message] of wishes) {
    refused(t, await asked(api, 'POST', PATH, wish), 400, message)
  }
  t.strictSame((await asked(api, 'GET', PATH)).json, { data: [], total_count: 0 })
  const { id } = await mapped(api)
  const changes: [unknown, string][] = [
    [{ role: 'owner' }, 'role: must be admin or member'],
    [{}, 'role: is required'],
    [[], 'body: must be an object'],
  ]
  for (const [change, message] of changes) {
    refused(t, await asked(api, 'PATCH', `${PATH}/${id}`, change), 400, message)
  }
  t.equal((await asked(api, 'PATCH', `${PATH}/${id}`)).status, 400, 'no body')
  for (const [query, message] of [
    ['', 'keep_members: is required'],
    ['?keep_members=yes', 'keep_members: must be a boolean'],
  ] as const) {
    refused(t, await asked(api, 'DELETE', `${PATH}/${id}${query}`), 400, message)
  }
  t.equal((await asked(api, 'GET', `${PATH}/${id}`)).json.data.role, 'member')
})

test('malformed ids, and those of others, are 404', async (t) => {
  const api = await fileApi(t)
  const { id } = await mapped(api)
  for (const [key, path] of [
    [api.managementKey, 'x'],
    [api.managementKey, `${id}0`],
    [api.managementKey, randomUUID()],
    [api.managementKey, '%00'],
    [api.managementKey, 'x'.repeat(3_000)],
    [api.foreignManagementKey, id],
  ] as const) {
    for (const [method, body] of [['GET'], ['PATCH', { role: 'admin' }], ['DELETE']] as const) {
      const reply = await api.call(key, method, `${PATH}/${path}?keep_members=true`, { body })
      refused(t, reply, 404, NOT_FOUND, `${method} ${path}`)
    }
  }
  t.strictSame((await api.call(api.foreignManagementKey, 'GET', PATH)).json, { data: [], total_count: 0 })
})

test('any other credential is 401, and the answer says what is wanted', async (t) => {
  const api = await fileApi(t)
  const { id } = await mapped(api)
  const operations = [
    ['GET', PATH],
    ['POST', PATH],
    ['GET', `${PATH}/${id}`],
    ['PATCH', `${PATH}/${id}`],
    ['DELETE', `${PATH}/${id}`],
    ['GET', '/api/v1/scim/groups'],
    ['PUT', `/api/v1/scim/groups/${id}`],
    ['GET', '/api/v1/scim/audit'],
  ] as const
  const keys: [string, string][] = [
    ['', 'Missing Authentication header'],
    ['sk-x', 'Invalid credentials'],
    [api.apiKey, 'Only management keys can perform this operation'],
    [api.personalKey, 'Only management keys can perform this operation'],
  ]
  for (const [method, path] of operations) {
    for (const [key, message] of keys) {
      const reply = await api.call(key, method, path)
      refused(t, reply, 401, message)
      t.equal(reply.headers['www-authenticate'], 'Bearer')
    }
  }
})

test('a store that is broken is 500, one that takes nothing 503', async (t) => {
  const { Fault } = await import('../../../src/base/fault.js')
  for (const [error, status] of [
    [new Error('broken on purpose'), 500],
    [new Fault('unavailable'), 503],
  ] as const) {
    const api = await fileApi(t, {
      around: ({ files, scim }) => ({ files, scim: { ...scim, changeRole: () => Promise.reject(error) } }),
    })
    const { id } = await mapped(api)
    const reply = await asked(api, 'PATCH', `${PATH}/${id}`, { role: 'admin' })
    t.equal(reply.status, status)
    t.notOk(JSON.stringify(reply.json).includes('on purpose'))
  }
})
