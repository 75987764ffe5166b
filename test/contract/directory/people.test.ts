/** Members added by hand, their roles, why they have them, and their keys (contract/directory 4 to 6). */
import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { hashKey } from '../../../src/identity/api-keys.js'
import { type AccountApi, accountApi } from '../../support/servers/account-api.js'

interface World extends AccountApi {
  readonly workspaceId: string
  /** The id of a new member with a direct role in the workspace. */
  member(userName: string, role?: 'admin' | 'member'): Promise<string>
  /** A personal key of somebody. */
  keyOf(memberId: string): Promise<string>
}

async function world(t: Test): Promise<World> {
  const api = await accountApi(t)
  const workspaceId = api.accounts.key(hashKey(api.apiKey))!.workspaceId!
  return {
    ...api,
    workspaceId,
    member: async (user_name, role) => {
      api.clock.advance(1)
      const { id } = (await api.manage('POST', '/members', { user_name })).json.data
      if (role !== undefined) await api.manage('PUT', `/members/${id}/roles/${workspaceId}`, { role })
      return id
    },
    keyOf: async (creator_user_id) => {
      const body = { name: 'own', creator_user_id, workspace_id: workspaceId }
      return (await api.manage('POST', '/keys', body)).json.key
    },
  }
}

const counts = async ({ call }: World, key: string): Promise<boolean> =>
  (await call(key, 'GET', '/who-am-i')).status === 200

test('a member is added, read, listed, changed and removed', async (t) => {
  const api = await world(t)
  const { manage, workspaceId } = api
  const body = { user_name: 'Ada@example.com', external_id: 'sub-1', display_name: 'Ada Lovelace' }
  const added = await manage('POST', '/members', body)
  t.equal(added.status, 201)
  const { id } = added.json.data
  t.match(added.json.data, { ...body, active: true, connection_id: null, roles: [] })
  t.strictSame((await manage('GET', `/members/${id}`)).json, added.json)
  const again = await manage('POST', '/members', { user_name: 'ada@EXAMPLE.com' })
  t.equal(again.status, 409, 'names are compared without case')
  const given = await manage('PUT', `/members/${id}/roles/${workspaceId}`, { role: 'admin' })
  t.strictSame(given.json.data.roles, [{ workspace_id: workspaceId, role: 'admin' }])
  const changed = await manage('PATCH', `/members/${id}`, { user_name: 'ada', display_name: null })
  t.match(changed.json.data, { user_name: 'ada', display_name: null, external_id: 'sub-1' })
  const bob = await api.member('bob')
  const listed = (await manage('GET', '/members?limit=1&offset=1')).json
  t.equal(listed.total_count, 2)
  t.equal(listed.data[0].id, bob)
  const inWorkspace = (await manage('GET', `/members?workspace_id=${workspaceId}`)).json
  t.strictSame(
    inWorkspace.data.map((each: { id: string }) => each.id),
    [id],
  )
  t.same((await manage('DELETE', `/members/${id}`)).json, { deleted: true })
  for (const method of ['GET', 'DELETE']) t.equal((await manage(method, `/members/${id}`)).status, 404)
  t.equal((await manage('PATCH', `/members/${id}`, { active: true })).status, 404)
  t.equal((await manage('PUT', `/members/${id}/roles/${workspaceId}`, { role: 'admin' })).status, 404)
  t.equal((await manage('GET', `/members?workspace_id=${randomUUID()}`)).status, 404)
})

test('the key of a member counts while the member is active and has a role, and nothing is written into it', async (t) => {
  const api = await world(t)
  const { manage, workspaceId, accounts } = api
  const ada = await api.member('ada', 'member')
  const key = await api.keyOf(ada)
  const stranger = (await manage('POST', '/keys', { name: 'x', creator_user_id: 'somebody' })).json.key
  const record = accounts.key(hashKey(key))
  t.ok(await counts(api, key))
  t.equal((await api.call(key, 'GET', '/who-am-i')).json.userId, ada)
  const shown = async (): Promise<boolean> =>
    (await manage('GET', `/keys/${hashKey(key)}`)).json.data.disabled === true
  const steps: readonly (readonly [string, string, object | undefined, boolean])[] = [
    ['PATCH', `/members/${ada}`, { active: false }, false],
    ['PATCH', `/members/${ada}`, { active: true }, true],
    ['DELETE', `/members/${ada}/roles/${workspaceId}`, undefined, false],
    ['PUT', `/members/${ada}/roles/${workspaceId}`, { role: 'member' }, true],
    ['DELETE', `/members/${ada}`, undefined, false],
  ]
  for (const [method, path, body, is] of steps) {
    t.equal((await manage(method, path, body)).status, 200, path)
    t.equal(await counts(api, key), is, `${method} ${path}`)
    t.equal(await shown(), !is, 'as it is listed')
    const listed = (await manage('GET', '/keys')).json.data as { hash: string }[]
    t.equal(
      listed.some(({ hash }) => hash === hashKey(key)),
      is,
    )
    t.equal(accounts.key(hashKey(key)), record, 'nothing is written')
    t.ok(await counts(api, stranger), 'a name that is nobody’s goes on')
  }
  const late = await api.call(key, 'GET', '/members/me')
  t.equal(late.status, 401)
})

test('reactivation revives what the deactivation disabled, not what was disabled or deleted itself', async (t) => {
  const api = await world(t)
  const ada = await api.member('ada', 'member')
  const [own, disabled, deleted] = [await api.keyOf(ada), await api.keyOf(ada), await api.keyOf(ada)]
  await api.manage('PATCH', `/members/${ada}`, { active: false })
  await api.manage('PATCH', `/keys/${hashKey(disabled)}`, { disabled: true })
  await api.manage('DELETE', `/keys/${hashKey(deleted)}`)
  await api.manage('PATCH', `/members/${ada}`, { active: true })
  t.same(
    [await counts(api, own), await counts(api, disabled), await counts(api, deleted)],
    [true, false, false],
  )
})

test('admins see the members of their workspace and take direct roles away; nobody raises a role', async (t) => {
  const api = await world(t)
  const { call, manage, workspaceId } = api
  const elsewhere: string = (await manage('POST', '/workspaces', { name: 'elsewhere' })).json.data.id
  const ada = await api.member('ada', 'admin')
  const bob = await api.member('bob', 'member')
  const eve = await api.member('eve')
  await manage('PUT', `/members/${eve}/roles/${elsewhere}`, { role: 'admin' })
  await manage('PUT', `/members/${bob}/roles/${elsewhere}`, { role: 'admin' })
  const [admin, member] = [await api.keyOf(ada), await api.keyOf(bob)]
  const listed = (await call(admin, 'GET', '/members')).json
  t.equal(listed.total_count, 2)
  t.strictSame(
    listed.data.map(({ id, roles }: { id: string; roles: unknown }) => [id, roles]),
    [
      [ada, [{ workspace_id: workspaceId, role: 'admin' }]],
      [bob, [{ workspace_id: workspaceId, role: 'member' }]],
    ],
    'roles elsewhere are not told',
  )
  t.equal((await call(admin, 'GET', `/members/${eve}`)).status, 404)
  t.equal((await call(admin, 'GET', `/members?workspace_id=${elsewhere}`)).status, 404)
  t.equal((await call(admin, 'DELETE', `/members/${eve}/roles/${elsewhere}`)).status, 404)
  for (const key of [admin, member]) {
    for (const id of [ada, bob]) {
      const raised = await call(key, 'PUT', `/members/${id}/roles/${workspaceId}`, { role: 'admin' })
      t.equal(raised.status, 403, 'contract/decisions 60')
    }
    t.equal((await call(key, 'POST', '/members', { user_name: 'x' })).status, 403)
  }
  t.equal((await call(member, 'GET', '/members')).status, 403)
  t.equal((await call(member, 'DELETE', `/members/${ada}/roles/${workspaceId}`)).status, 403)
  const me = (await call(member, 'GET', '/members/me')).json.data
  t.match(me, { id: bob, user_name: 'bob' })
  t.strictSame(me.roles, [{ workspace_id: workspaceId, role: 'member' }], 'admins here can make such a key')
  t.equal((await manage('GET', '/members/me')).status, 404, 'a management key is no member')
  t.same((await call(admin, 'DELETE', `/members/${bob}/roles/${workspaceId}`)).json, { deleted: true })
  t.notOk(await counts(api, member))
})

test('why a member has a role names every fact with time and author', async (t) => {
  const api = await world(t)
  const { call, manage, managementKey, workspaceId } = api
  const ada = await api.member('ada', 'member')
  const bob = await api.member('bob', 'member')
  const group = randomUUID()
  await manage('PUT', `/scim/groups/${group}`, { display_name: 'Platform', members: [ada] })
  const wish = { scim_group_id: group, workspace_id: workspaceId, role: 'admin' }
  const mapping = (await manage('POST', '/scim/group-mappings', wish)).json.data.id
  const path = `/members/${ada}/why?workspace_id=${workspaceId}`
  const author = hashKey(managementKey)
  const told = (await manage('GET', path)).json.data
  t.match(told, {
    role: 'admin',
    reasons: [
      {
        role: 'admin',
        by: 'group',
        mapping_id: mapping,
        scim_group_id: group,
        group_name: 'Platform',
        author,
      },
      { role: 'member', by: 'direct', mapping_id: null, scim_group_id: null, author },
    ],
  })
  t.strictSame((await call(await api.keyOf(ada), 'GET', path)).json.data, told)
  t.equal((await call(await api.keyOf(bob), 'GET', path)).status, 404, 'another member may not ask')
  const elsewhere: string = (await manage('POST', '/workspaces', { name: 'elsewhere' })).json.data.id
  await manage('PUT', `/members/${ada}/roles/${elsewhere}`, { role: 'member' })
  const further = `/members/${ada}/why?workspace_id=${elsewhere}`
  t.equal((await manage('GET', further)).json.data.role, 'member')
  t.equal((await call(await api.keyOf(ada), 'GET', further)).status, 404, 'admins here can make such a key')
  t.strictSame((await manage('GET', `/members/${bob}/why?workspace_id=${randomUUID()}`)).status, 404)
  await manage('PATCH', `/members/${ada}`, { active: false })
  t.strictSame((await manage('GET', path)).json.data, { role: null, reasons: [] })
})

test('a dry run tells who gains and who loses, and the change then does just that', async (t) => {
  const api = await world(t)
  const { manage, workspaceId } = api
  const people = [
    await api.member('ada', 'admin'),
    await api.member('bob', 'member'),
    await api.member('eve'),
    await api.member('gone'),
    'a name',
  ]
  await manage('PATCH', `/members/${people[3]}`, { active: false })
  const group = randomUUID()
  await manage('PUT', `/scim/groups/${group}`, { display_name: 'Platform', members: people })
  const rolesNow = () => people.map((id) => api.store.scim.roleOf(workspaceId, id))
  const predicted = async (trial: object): Promise<unknown> => {
    const { json } = await manage('POST', '/scim/group-mappings/dry-run', trial)
    const roles = [...rolesNow()]
    for (const { user_id, role_before, role_after } of json.data) {
      t.equal(role_before, roles[people.indexOf(user_id)])
      t.not(role_before, role_after)
      roles[people.indexOf(user_id)] = role_after
    }
    t.equal(json.total_count, json.data.length)
    t.equal(json.gains + json.losses, json.total_count)
    return roles
  }
  const create = { scim_group_id: group, workspace_id: workspaceId, role: 'member' }
  const before = rolesNow()
  const afterCreate = await predicted({ create })
  t.strictSame(rolesNow(), before, 'nothing was changed')
  const id = (await manage('POST', '/scim/group-mappings', create)).json.data.id
  t.strictSame(rolesNow(), afterCreate)
  t.strictSame(afterCreate, ['admin', 'member', 'member', null, 'member'])
  const twice = await manage('POST', '/scim/group-mappings/dry-run', { create })
  t.equal(twice.status, 409, 'as the change itself')
  const afterChange = await predicted({ change: { id, role: 'admin' } })
  await manage('PATCH', `/scim/group-mappings/${id}`, { role: 'admin' })
  t.strictSame(rolesNow(), afterChange)
  const afterKeeping = await predicted({ remove: { id, keep_members: true } })
  const afterRemoval = await predicted({ remove: { id, keep_members: false } })
  t.strictSame(afterKeeping, afterChange)
  await manage('DELETE', `/scim/group-mappings/${id}?keep_members=false`)
  t.strictSame(rolesNow(), afterRemoval)
  const paged = await manage('POST', '/scim/group-mappings/dry-run?limit=2&offset=1', { create })
  t.equal(paged.json.data.length, 2)
  for (const bad of [{}, { create, remove: { id, keep_members: true } }, { change: { id: 'x' } }]) {
    t.equal((await manage('POST', '/scim/group-mappings/dry-run', bad)).status, 400)
  }
  t.equal(
    (await manage('POST', '/scim/group-mappings/dry-run', { change: { id, role: 'admin' } })).status,
    404,
  )
})
