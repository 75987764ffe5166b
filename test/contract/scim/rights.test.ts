/** What a role is good for, from when on, and who can tell afterwards. */
import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { hashKey } from '../../../src/identity/api-keys.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { refused } from '../../support/servers/account-api.js'
import { type FileApi, fileApi } from '../../support/servers/file-api.js'

const MAPPINGS = '/api/v1/scim/group-mappings'
const GROUPS = '/api/v1/scim/groups'

const asked = (api: FileApi, method: string, path: string, body?: unknown): Promise<HttpReply> =>
  api.call(api.managementKey, method, path, body === undefined ? {} : { body })

/** Whether the personal key of `user_1` may do what an admin of its workspace may: see the keys of others there. */
async function isAdmin(api: FileApi, key = api.personalKey): Promise<boolean> {
  const { status, json } = await api.call(key, 'GET', '/api/v1/keys')
  if (status !== 200 && status !== 403) throw new Error(`answered ${status}`)
  return status === 200 && json.data.some(({ hash }: { hash: string }) => hash === hashKey(api.apiKey))
}

const deliver = (api: FileApi, group: string, members: readonly string[]): Promise<HttpReply> =>
  asked(api, 'PUT', `${GROUPS}/${group}`, { display_name: 'Platform', members })

async function map(api: FileApi, group: string, role: string, workspace = api.workspaceId): Promise<string> {
  const wish = { scim_group_id: group, workspace_id: workspace, role }
  return (await asked(api, 'POST', MAPPINGS, wish)).json.data.id
}

test('the role of a group decides what its members’ personal keys may do, from the next call on', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  t.notOk(await isAdmin(api), 'nobody has a role yet')
  const id = await map(api, group, 'admin')
  t.notOk(await isAdmin(api), 'the directory has not delivered the group')
  await deliver(api, group, ['user_0', 'user_1'])
  t.ok(await isAdmin(api))
  for (const [role, may] of [
    ['member', false],
    ['admin', true],
  ] as const) {
    await asked(api, 'PATCH', `${MAPPINGS}/${id}`, { role })
    t.equal(await isAdmin(api), may, role)
  }
  await deliver(api, group, ['user_0'])
  t.notOk(await isAdmin(api), 'who leaves the group loses its role')
  await deliver(api, group, ['user_1'])
  t.ok(await isAdmin(api))
  await asked(api, 'DELETE', `${GROUPS}/${group}`)
  t.notOk(await isAdmin(api), 'a group that has gone has no members')
})

test('a role counts in its workspace, for personal keys, and nowhere else', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  await deliver(api, group, ['user_1'])
  await map(api, group, 'admin', api.otherWorkspaceId)
  t.notOk(await isAdmin(api), 'another workspace')
  await map(api, group, 'admin')
  t.ok(await isAdmin(api))
  t.notOk(await isAdmin(api, api.apiKey), 'a workspace key belongs to nobody')
  const { id: file } = await api.made('made')
  for (const path of [`/api/v1/files/${file}/content`, '/api/v1/scim/groups', '/api/v1/scim/audit']) {
    const { status } = await api.call(api.personalKey, 'GET', path)
    t.ok([401, 403].includes(status), `${path} is for management keys (contract/decisions 60)`)
  }
})

test('of several roles the strongest counts', async (t) => {
  const api = await fileApi(t)
  const [one, two] = [randomUUID(), randomUUID()]
  await deliver(api, one, ['user_1'])
  await deliver(api, two, ['user_1'])
  await map(api, one, 'member')
  const admin = await map(api, two, 'admin')
  t.ok(await isAdmin(api))
  await asked(api, 'PATCH', `${MAPPINGS}/${admin}`, { role: 'member' })
  t.notOk(await isAdmin(api))
})

test('who deletes a mapping says whether its members keep their role', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  await deliver(api, group, ['user_1'])
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'admin')}?keep_members=false`)
  t.notOk(await isAdmin(api))
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'admin')}?keep_members=true`)
  t.ok(await isAdmin(api), 'kept')
  await deliver(api, group, [])
  t.ok(await isAdmin(api), 'it is their own now')
  await deliver(api, group, ['user_1'])
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'member')}?keep_members=true`)
  t.ok(await isAdmin(api), 'a weaker one takes nothing away')
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'member')}?keep_members=false`)
  t.notOk(await isAdmin(api), 'and this takes all of it')
})

test('kept roles are listed, named in the audit, and can be taken away', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  const roles = '/api/v1/scim/direct-roles'
  const member = 'max@example.com/ops ü'
  const list = async (query = ''): Promise<unknown> => (await asked(api, 'GET', `${roles}${query}`)).json
  await deliver(api, group, ['user_1', member])
  const mapping = await map(api, group, 'admin')
  t.strictSame(await list(), { data: [], total_count: 0 }, 'what groups give is not kept')
  await asked(api, 'DELETE', `${MAPPINGS}/${mapping}?keep_members=true`)
  await asked(api, 'DELETE', `${GROUPS}/${group}`)
  const { data, total_count } = (await list()) as { data: { user_id: string }[]; total_count: number }
  t.equal(total_count, 2)
  const view = {
    organization_id: api.organizationId,
    workspace_id: api.workspaceId,
    user_id: member,
    role: 'admin',
    mapping_id: mapping,
    created_at: new Date(api.clock.unixSeconds() * 1000).toISOString(),
  }
  t.strictSame(
    data.find(({ user_id }) => user_id === member),
    view,
  )
  t.strictSame(await list(`?workspace_id=${api.workspaceId}&limit=1`), {
    data: data.slice(0, 1),
    total_count: 2,
  })
  t.strictSame(await list(`?workspace_id=${api.otherWorkspaceId}`), { data: [], total_count: 0 })
  t.equal((await asked(api, 'GET', `${roles}?workspace_id=${randomUUID()}`)).status, 404)

  const one = `${roles}/${api.workspaceId}/user_1`
  t.equal((await api.call(api.foreignManagementKey, 'DELETE', one)).status, 404, 'of another organization')
  t.equal((await api.call(api.personalKey, 'DELETE', one)).status, 401)
  t.ok(await isAdmin(api))
  t.strictSame((await asked(api, 'DELETE', one)).json, { deleted: true })
  t.notOk(await isAdmin(api), 'from the next call on')
  t.equal((await asked(api, 'DELETE', one)).status, 404)
  t.equal(
    (await asked(api, 'DELETE', `${roles}/${api.otherWorkspaceId}/${encodeURIComponent(member)}`)).status,
    404,
  )
  t.equal(
    (await asked(api, 'DELETE', `${roles}/${api.workspaceId}/${encodeURIComponent(member)}`)).status,
    200,
  )
  t.strictSame(await list(), { data: [], total_count: 0 })

  const audit = (await asked(api, 'GET', '/api/v1/scim/audit')).json
  const told = audit.data.map(({ action, user_ids }: { action: string; user_ids: string[] }) => [
    action,
    ...user_ids,
  ])
  t.strictSame(told.slice(0, 5), [
    ['role.remove', member],
    ['role.remove', 'user_1'],
    ['group.delete'],
    ['mapping.delete'],
    ['role.keep', 'user_1', member],
  ])
})

test('a group of thousands keeps its roles in rows of a hundred, and loses what was kept', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  const users = Array.from({ length: 250 }, (_, n) => `user ${n}`)
  await deliver(api, group, users)
  const rows = async (action: string): Promise<number[]> => {
    const { data } = (await asked(api, 'GET', '/api/v1/scim/audit')).json
    const those = data.filter((row: { action: string }) => row.action === action)
    return those.map(({ user_ids }: { user_ids: string[] }) => user_ids.length)
  }
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'admin')}?keep_members=true`)
  t.strictSame(await rows('role.keep'), [50, 100, 100])
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'member')}?keep_members=true`)
  t.equal((await rows('role.keep')).length, 3, 'who has a stronger one keeps no other')
  await asked(api, 'DELETE', `${MAPPINGS}/${await map(api, group, 'member')}?keep_members=false`)
  t.strictSame(await rows('role.remove'), [50, 100, 100])
  t.equal((await asked(api, 'GET', '/api/v1/scim/direct-roles')).json.total_count, 0)
})

test('groups are delivered, read, listed and forgotten', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  const made = await asked(api, 'PUT', `${GROUPS}/${group}`, {
    display_name: 'Platform',
    external_id: 'okta-1',
    members: ['a', 'b', 'a'],
  })
  t.equal(made.status, 200)
  const at = new Date(api.clock.unixSeconds() * 1000).toISOString()
  const view = {
    id: group,
    organization_id: api.organizationId,
    display_name: 'Platform',
    external_id: 'okta-1',
    created_at: at,
    updated_at: at,
  }
  t.strictSame(made.json, { data: { ...view, members: ['a', 'b'] } })
  t.strictSame((await asked(api, 'GET', `${GROUPS}/${group}`)).json, made.json)
  t.strictSame((await asked(api, 'GET', GROUPS)).json, {
    data: [{ ...view, connection_id: null, member_count: 2 }],
    total_count: 1,
  })
  api.clock.advance(1_000)
  const again = (await deliver(api, group, ['c'])).json.data
  t.match(again, { created_at: at, external_id: null, members: ['c'] })
  t.not(again.updated_at, at)
  t.equal((await api.call(api.foreignManagementKey, 'GET', `${GROUPS}/${group}`)).status, 404)
  t.equal((await api.call(api.foreignManagementKey, 'DELETE', `${GROUPS}/${group}`)).status, 404)
  t.strictSame((await asked(api, 'DELETE', `${GROUPS}/${group}`)).json, { deleted: true })
  t.equal((await asked(api, 'DELETE', `${GROUPS}/${group}`)).status, 404)
  t.equal((await asked(api, 'PUT', `${GROUPS}/x`, { display_name: 'x', members: [] })).status, 404)
  for (const [body, message] of [
    [{ members: [] }, 'display_name: is required'],
    [{ display_name: 'x' }, 'members: is required'],
    [{ display_name: 'x', members: [''] }, 'members.0: must have at least 1 character'],
    [
      { display_name: 'x', members: Array.from({ length: 5_001 }, (_, i) => `${i}`) },
      'members: must have at most 5000 entries',
    ],
  ] as const) {
    refused(t, await asked(api, 'PUT', `${GROUPS}/${group}`, body), 400, message)
  }
})

test('every change is in the audit with who made it, and what changed nothing is not', async (t) => {
  const api = await fileApi(t)
  const group = randomUUID()
  await deliver(api, group, ['user_1'])
  await deliver(api, group, ['user_1'])
  const id = await map(api, group, 'member')
  await asked(api, 'PATCH', `${MAPPINGS}/${id}`, { role: 'admin' })
  await asked(api, 'PATCH', `${MAPPINGS}/${id}`, { role: 'admin' })
  await asked(api, 'PATCH', `${MAPPINGS}/${id}`, { role: 'owner' })
  await asked(api, 'DELETE', `${MAPPINGS}/${id}?keep_members=true`)
  await asked(api, 'DELETE', `${GROUPS}/${group}`)
  const { data, total_count } = (await asked(api, 'GET', '/api/v1/scim/audit')).json
  t.equal(total_count, 6)
  const mapping = { mapping_id: id, scim_group_id: group, workspace_id: api.workspaceId }
  const none = {
    mapping_id: null,
    scim_group_id: group,
    workspace_id: null,
    role_before: null,
    role_after: null,
  }
  const actor = hashKey(api.managementKey)
  const expected = [
    { action: 'group.delete', ...none },
    { action: 'mapping.delete', ...mapping, role_before: 'admin', role_after: 'admin' },
    { action: 'role.keep', ...mapping, role_before: null, role_after: 'admin', user_ids: ['user_1'] },
    { action: 'mapping.update', ...mapping, role_before: 'member', role_after: 'admin', user_ids: [] },
    { action: 'mapping.create', ...mapping, role_before: null, role_after: 'member' },
    { action: 'group.put', ...none },
  ]
  for (const [i, row] of expected.entries()) {
    t.match(data[i], { ...row, actor, address: '127.0.0.1', request_id: /^req-/ })
  }
  t.strictSame((await asked(api, 'GET', '/api/v1/scim/audit?offset=1&limit=2')).json, {
    data: data.slice(1, 3),
    total_count: 6,
  })
  t.strictSame((await asked(api, 'GET', `/api/v1/scim/audit?mapping_id=${id}&offset=1&limit=2`)).json, {
    data: data.slice(2, 4),
    total_count: 4,
  })
  for (const query of ['', `?mapping_id=${id}`]) {
    const { json } = await api.call(api.foreignManagementKey, 'GET', `/api/v1/scim/audit${query}`)
    t.strictSame(json, { data: [], total_count: 0 })
  }
})
