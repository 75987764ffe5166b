/** contract/directory 4 and 6: management sees which groups a directory has sent, who is in them, and the groups of a person. */
import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer()
const GROUPS = '/api/v1/scim/groups'

/** A new organization, and what its management key reads. */
async function organization() {
  const key = await server.organization()
  const read = async (path: string): Promise<Json> => (await server.call(key, 'GET', path)).json
  const names = async (query: string): Promise<string[]> =>
    (await read(`${GROUPS}${query}`)).data.map((group: Json) => group.display_name)
  const deliver = (id: string, display_name: string, members: readonly string[]) =>
    server.call(key, 'PUT', `${GROUPS}/${id}`, { display_name, members })
  return { key, read, names, deliver }
}

test('groups are listed with their connection and how many they name, and found by a part of their name', async (t) => {
  const { key, read, names, deliver } = await organization()
  const directory = await server.directory(key)
  const ada = await directory.user({ userName: 'ada' })
  await directory.group('Developers of Ulm', [ada.id])
  await deliver(randomUUID(), 'Delivered whole', ['user_1', 'user_2'])
  t.match((await read(GROUPS)).data, [
    { display_name: 'Developers of Ulm', connection_id: directory.id, member_count: 1 },
    { display_name: 'Delivered whole', connection_id: null, member_count: 2 },
  ])
  t.strictSame(await names('?name_contains=uLM'), ['Developers of Ulm'])
  t.strictSame(await names('?name_contains=DEL&limit=1'), ['Delivered whole'])
  t.equal((await read(`${GROUPS}?name_contains=e&limit=1`)).total_count, 2, 'all that are found')
  t.strictSame(await names('?name_contains=nobody'), [])
})

test('the groups of a person are those that name it, of its own connection or delivered whole', async (t) => {
  const { key, names, deliver } = await organization()
  const [one, two] = [await server.directory(key), await server.directory(key)]
  const ada = await one.user({ userName: 'ada' })
  await one.group('Without her')
  await one.group('First', [ada.id])
  await two.group('Of another connection', [ada.id])
  await deliver(randomUUID(), 'Whole', [ada.id, 'user_1'])
  t.strictSame(await names(`?user_id=${ada.id}`), ['First', 'Whole'])
  t.strictSame(await names(`?user_id=${ada.id}&name_contains=whole`), ['Whole'])
  t.strictSame(await names('?user_id=user_1'), ['Whole'])
  t.strictSame(await names('?user_id=%00'), [])
  const foreign = await server.call(MANAGEMENT_KEY, 'GET', `${GROUPS}?user_id=${ada.id}`)
  t.strictSame(foreign.json, { data: [], total_count: 0 })
})

test('whom a group names is listed in pages, with the names of those to whom it can give a role', async (t) => {
  const { key, read, deliver } = await organization()
  const [one, two] = [await server.directory(key), await server.directory(key)]
  const ada = await one.user({ userName: 'ada', displayName: 'Ada', active: true })
  const bob = await one.user({ userName: 'bob', active: false })
  const eve = await two.user({ userName: 'eve', active: true })
  const { id } = await one.group('Developers', [ada.id, bob.id, eve.id])
  const path = `${GROUPS}/${id}/members`
  const { data, total_count } = await read(path)
  t.equal(total_count, 3)
  const nobody = { user_name: null, display_name: null, active: null }
  const told = new Map(data.map(({ user_id, ...rest }: Json) => [user_id, rest]))
  t.match(told.get(ada.id), { user_name: 'ada', display_name: 'Ada', active: true, added_at: /^20.*Z$/ })
  t.match(told.get(bob.id), { user_name: 'bob', display_name: null, active: false })
  t.match(told.get(eve.id), nobody, 'a person of another connection')
  t.strictSame((await read(`${path}?limit=1&offset=2`)).data, data.slice(2))
  t.strictSame((await read(`${GROUPS}/${id.toUpperCase()}/members`)).data, data)

  const whole = randomUUID()
  await deliver(whole, 'Whole', ['user_1', eve.id])
  t.strictSame((await read(`${GROUPS}/${whole}/members`)).data, [
    { user_id: 'user_1', ...nobody, added_at: null },
    { user_id: eve.id, user_name: 'eve', display_name: null, active: true, added_at: null },
  ])
  for (const [who, group] of [
    [MANAGEMENT_KEY, id],
    [MANAGEMENT_KEY, whole],
    [key, randomUUID()],
    [key, '%00'],
  ] as const) {
    t.equal((await server.call(who, 'GET', `${GROUPS}/${group}/members`)).status, 404, group)
  }
})

test('a mapping tells the name of its group as soon as the group is there', async (t) => {
  const { key, read, deliver } = await organization()
  const group = randomUUID()
  const workspace = (await read('/api/v1/workspaces')).data[0].id
  const gives = { scim_group_id: group, workspace_id: workspace, role: 'member' }
  const made = await server.call(key, 'POST', '/api/v1/scim/group-mappings', gives)
  t.equal(made.json.data.group_name, null)
  const { id } = made.json.data
  await deliver(group, 'Late', [])
  const path = `/api/v1/scim/group-mappings/${id}`
  t.equal((await read(path)).data.group_name, 'Late')
  t.match((await read('/api/v1/scim/group-mappings')).data, [{ id, group_name: 'Late' }])
  const changed = await server.call(key, 'PATCH', path, { role: 'admin' })
  t.match(changed.json.data, { group_name: 'Late', role: 'admin' })
})
