/** contract/directory 2 to 4: groups of a connection, who is in them, and what follows for roles. */
import { test } from 'tap'
import { GROUP, groupBody, patchBody, userBody } from '../../support/schemas/scim-bodies.js'
import { type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { type Directory, scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer()

async function people(directory: Directory, count: number): Promise<string[]> {
  const users = Array.from({ length: count }, (_, n) => directory.user({ userName: `user ${n}` }))
  return (await Promise.all(users)).map(({ id }) => id).sort()
}

const membersOf = async ({ ask }: Directory, id: string): Promise<string[]> =>
  ((await ask('GET', `/Groups/${id}`)).json.members ?? []).map(({ value }: Json) => value).sort()

test('a group is created, read, replaced, changed and removed', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const [ada = '', bob = ''] = await people(directory, 2)
  const made = await ask('POST', '/Groups', {
    body: groupBody({ displayName: 'Engineering', externalId: 'g-1', members: [{ value: ada }] }),
  })
  t.equal(made.status, 201)
  const { id, meta, members, ...rest } = made.json
  t.strictSame(rest, { schemas: [GROUP], externalId: 'g-1', displayName: 'Engineering' })
  t.match(members, [{ value: ada, type: 'User', $ref: new RegExp(`/Users/${ada}$`) }])
  t.equal(members.length, 1)
  t.match(meta, { resourceType: 'Group', version: 'W/"1"' })
  t.strictSame((await ask('GET', `/Groups/${id}`)).json, made.json)

  const add = patchBody({ op: 'add', path: 'members', value: [{ value: bob }, { value: ada }] })
  const added = await ask('PATCH', `/Groups/${id}`, { body: add })
  t.equal(added.status, 204)
  t.equal(added.headers.etag, 'W/"2"', 'who is in it is part of the version')
  t.strictSame(await membersOf(directory, id), [ada, bob])
  t.equal((await ask('PATCH', `/Groups/${id}`, { body: add })).headers.etag, 'W/"2"', 'nobody new')

  const remove = patchBody({ op: 'remove', path: `members[value eq "${ada}"]` })
  t.equal((await ask('PATCH', `/Groups/${id}`, { body: remove })).status, 204)
  t.strictSame(await membersOf(directory, id), [bob])

  const renamed = await ask('PUT', `/Groups/${id}`, { body: groupBody({ displayName: 'Research' }) })
  t.equal(renamed.status, 200)
  t.equal(renamed.json.displayName, 'Research')
  t.notOk('members' in renamed.json, 'PUT clears what it omits')
  t.notOk('externalId' in renamed.json)
  t.equal((await ask('DELETE', `/Groups/${id}`)).status, 204)
  t.equal((await ask('GET', `/Groups/${id}`)).status, 404)
  t.equal((await ask('DELETE', `/Groups/${id}`)).status, 404)
})

test('a user tells its groups, also when they change, and can be asked for without', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const [ada = ''] = await people(directory, 1)
  const one = await directory.group('One', [ada])
  const two = await directory.group('Two', [ada])
  const groups = async (query = '') =>
    ((await ask('GET', `/Users/${ada}${query}`)).json.groups ?? []).map(({ value }: Json) => value).sort()
  t.strictSame(await groups(), [one.id, two.id].sort())
  t.strictSame(await groups('?excludedAttributes=groups'), [])
  t.strictSame(await groups('?attributes=userName'), [])
  await ask('DELETE', `/Groups/${one.id}`)
  t.strictSame(await groups(), [two.id])
  const body = patchBody({ op: 'replace', path: 'groups', value: [] })
  t.match((await ask('PATCH', `/Users/${ada}`, { body })).json, { scimType: 'mutability' })
})

test('a user that is removed leaves its groups', async (t) => {
  const directory = await server.directory()
  const [ada = '', bob = ''] = await people(directory, 2)
  const { id } = await directory.group('All', [ada, bob])
  await directory.ask('DELETE', `/Users/${ada}`)
  t.strictSame(await membersOf(directory, id), [bob])
})

test('a group may name who is not there; groups within groups are refused', async (t) => {
  const directory = await server.directory()
  const stranger = (await (await server.directory()).user({ userName: 'elsewhere' })).id
  const inner = await directory.group('Inner', ['nobody', stranger])
  t.strictSame(await membersOf(directory, inner.id), ['nobody', stranger].sort())
  const outer = await directory.group('Outer')
  const value = [{ value: inner.id }]
  for (const [method, path, body] of [
    ['POST', '/Groups', groupBody({ displayName: 'x', members: value })],
    ['PUT', `/Groups/${outer.id}`, groupBody({ displayName: 'Outer', members: value })],
    ['PATCH', `/Groups/${outer.id}`, patchBody({ op: 'add', path: 'members', value })],
  ] as const) {
    const reply = await directory.ask(method, path, { body })
    t.match(reply.json, { status: '400', scimType: 'invalidValue' }, method)
  }
  t.strictSame(await membersOf(directory, outer.id), [])
})

test('lists of groups leave their members out where nobody wants them', async (t) => {
  const directory = await server.directory()
  const [ada = ''] = await people(directory, 1)
  await directory.group('One', [ada])
  await directory.group('One')
  const listed = async (query: string): Promise<Json[]> =>
    (await directory.ask('GET', `/Groups?${query}`)).json.Resources
  const named = await listed('filter=displayName%20eq%20%22one%22&excludedAttributes=members')
  t.equal(named.length, 2, 'a name may be that of several groups, in any case')
  t.notOk(named.some((group) => 'members' in group))
  const whose = await listed(`filter=members%20eq%20%22${ada}%22`)
  t.strictSame(
    whose.map(({ displayName, members }) => [displayName, members.length]),
    [['One', 1]],
  )
  const count = await listed(`filter=members[value%20eq%20%22nobody%22]`)
  t.strictSame(count, [])
})

test('a group of thousands is delivered, told and changed', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const ids = Array.from({ length: 5_000 }, (_, n) => `member ${n}`)
  const { id, members } = await directory.group('All', ids)
  t.equal(members.length, 5_000)
  const body = patchBody({
    op: 'remove',
    path: 'members',
    value: [{ value: 'member 7' }, { value: 'member 8' }],
  })
  t.equal((await ask('PATCH', `/Groups/${id}`, { body })).status, 204)
  const left = await membersOf(directory, id)
  t.equal(left.length, 4_998)
  t.notOk(left.includes('member 7'))
  t.match((await ask('GET', `/Groups/${id}?attributes=displayName`)).json, { displayName: 'All' })
})

test('a mapping of a group gives its members a role, and the operations of our own leave the group alone', async (t) => {
  const directory = await server.directory()
  const manage = (method: string, path: string, body?: unknown) =>
    server.call(MANAGEMENT_KEY, method, `/api/v1${path}`, body)
  const [ada = ''] = await people(directory, 1)
  const { id } = await directory.group('Admins', [ada])
  const workspace = (await manage('GET', '/workspaces')).json.data[0].id
  const wish = { scim_group_id: id, workspace_id: workspace, role: 'admin' }
  t.equal((await manage('POST', '/scim/group-mappings', wish)).status, 201)
  const { key } = (await manage('POST', '/keys', { name: 'mine', creator_user_id: ada })).json
  const keys = async () => (await server.call(key, 'GET', '/api/v1/keys')).status
  t.equal(await keys(), 200, 'an admin manages keys')
  const refused = await manage('PUT', `/scim/groups/${id}`, { display_name: 'x', members: [] })
  t.equal(refused.status, 409)
  t.equal((await manage('DELETE', `/scim/groups/${id}`)).status, 409)
  t.equal(await keys(), 200)
  const deactivate = patchBody({ op: 'replace', path: 'active', value: false })
  t.equal((await directory.ask('PATCH', `/Users/${ada}`, { body: deactivate })).status, 204)
  t.equal(await keys(), 401, 'from the answer on, on every worker')
  const put = userBody({ userName: 'user 0', active: true })
  t.equal((await directory.ask('PUT', `/Users/${ada}`, { body: put })).status, 200)
  t.equal(await keys(), 200, 'reactivation revives')
  const leave = patchBody({ op: 'remove', path: 'members', value: [{ value: ada }] })
  t.equal((await directory.ask('PATCH', `/Groups/${id}`, { body: leave })).status, 204)
  t.not(await keys(), 200, 'no role, no use')
})
