/** contract/directory 1 and 6: connections, their tokens, and who may not see what. */
import { randomUUID } from 'node:crypto'
import { test } from 'tap'
import { patchBody, userBody } from '../../support/schemas/scim-bodies.js'
import { API_KEY, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { CONNECTIONS, SCIM, scimServer } from '../../support/servers/scim-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await scimServer()
const managed = (method: string, path = '', body?: unknown, key = MANAGEMENT_KEY) =>
  server.call(key, method, CONNECTIONS + path, body)
const usersOf = (token: string) => server.call(token, 'GET', `${SCIM}/Users`)

test('a connection is created, read, listed, changed and deleted', async (t) => {
  const made = await managed('POST', '', { name: 'Entra ID', unknown: 1 })
  t.equal(made.status, 201)
  const { id, created_at, updated_at, ...rest } = made.json.data
  t.strictSame(Object.keys(rest).sort(), ['held_from', 'held_share', 'name', 'organization_id'])
  t.match(rest, { name: 'Entra ID', held_share: 0.3, held_from: 10 })
  t.equal(created_at, updated_at)
  t.strictSame((await managed('GET', `/${id}`)).json, made.json)
  const { data, total_count } = (await managed('GET')).json
  t.strictSame(data.at(-1), made.json.data)
  t.equal(total_count, data.length)
  const changed = await managed('PATCH', `/${id}`, { name: 'Entra', held_share: 0.5, held_from: 3 })
  t.match(changed.json.data, { id, name: 'Entra', held_share: 0.5, held_from: 3, created_at })
  t.strictSame((await managed('PATCH', `/${id}`, {})).json, changed.json, 'nothing said, nothing changed')
  t.strictSame((await managed('DELETE', `/${id}`)).json, { deleted: true })
  for (const method of ['GET', 'DELETE'] as const) t.equal((await managed(method, `/${id}`)).status, 404)
})

test('what a connection cannot be is 400 with the name of the field', async (t) => {
  for (const [body, message] of [
    [{}, 'name: is required'],
    [{ name: '' }, 'name: must have at least 1 character'],
    [{ name: 'x', held_share: 2 }, 'held_share: must be at most 1'],
    [{ name: 'x', held_from: 0 }, 'held_from: must be at least 1'],
    [{ name: 'x', held_from: 1.5 }, 'held_from: must be an integer'],
  ] as const) {
    const reply = await managed('POST', '', body)
    t.equal(reply.status, 400)
    t.match(reply.json.error.message, message)
  }
})

test('a token is shown once, two are valid at a time, and a revoked one opens nothing from the next call on', async (t) => {
  const { id } = (await managed('POST', '', { name: 'rotating' })).json.data
  const make = (body: object = {}) => managed('POST', `/${id}/tokens`, body)
  const first = await make()
  t.equal(first.status, 201)
  t.match(first.json.token, /^sk-sluice-scim-[\w-]{43}$/)
  t.equal(first.headers['cache-control'], 'no-store')
  const { label } = first.json.data
  t.ok(first.json.token.startsWith(label.split('...')[0]) && first.json.token.endsWith(label.split('...')[1]))
  const second = await make({ expires_at: '2099-01-01T00:00:00Z' })
  t.not(second.json.token, first.json.token)
  const third = await make()
  t.equal(third.status, 409)
  t.match(third.json.error.message, 'Two tokens are valid already'.replace('Two', '2'))
  for (const { json } of [first, second]) t.equal((await usersOf(json.token)).status, 200)

  const revoked = await managed('DELETE', `/${id}/tokens/${first.json.data.id}`)
  t.strictSame(revoked.json, { deleted: true })
  // Enough calls to meet every worker.
  const after = await Promise.all(Array.from({ length: 8 }, () => usersOf(first.json.token)))
  t.strictSame(new Set(after.map(({ status }) => status)), new Set([401]))
  t.equal((await usersOf(second.json.token)).status, 200, 'the other one goes on')
  t.equal((await managed('DELETE', `/${id}/tokens/${first.json.data.id}`)).status, 404)
  t.equal((await make()).status, 201, 'there is room again')

  const listed = await managed('GET', `/${id}/tokens`)
  t.equal(listed.json.data.length, 2)
  t.notMatch(listed.text, second.json.token)
  const used = await eventually(async () => {
    const { data } = (await managed('GET', `/${id}/tokens`)).json
    return data.find(({ last_used_at }: Json) => last_used_at !== null)
  })
  t.equal(used.id, second.json.data.id)
  t.match(used.expires_at, '2099-01-01T00:00:00.000Z')
})

test('a token that has expired is refused, and makes room for another', async (t) => {
  const { id } = (await managed('POST', '', { name: 'expiring' })).json.data
  const past = { expires_at: '2020-01-01T00:00:00Z' }
  for (let n = 0; n < 3; n++) {
    const { status, json } = await managed('POST', `/${id}/tokens`, past)
    t.equal(status, 201)
    t.equal((await usersOf(json.token)).status, 401)
  }
  t.equal((await managed('GET', `/${id}/tokens`)).json.data.length, 1)
  for (const expires_at of ['tomorrow', '2030-01-01', 5])
    t.equal((await managed('POST', `/${id}/tokens`, { expires_at })).status, 400)
})

test('every refusal of a credential says the same, with what is wanted', async (t) => {
  const { token } = await server.directory()
  const gone = await server.directory()
  await gone.manage('DELETE')
  const other = token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
  const told = new Set<string>()
  for (const key of [other, `${token}x`, gone.token, 'sk-sluice-scim-', 'x']) {
    const reply = await usersOf(key)
    t.equal(reply.status, 401, key)
    t.equal(reply.headers['content-type'], 'application/scim+json')
    t.equal(reply.headers['www-authenticate'], 'Bearer')
    told.add(reply.text)
  }
  t.equal(told.size, 1, 'unknown, gone and malformed are told apart nowhere')
  t.equal((await usersOf('')).status, 401)
  for (const path of ['/ServiceProviderConfig', '/ResourceTypes', '/Schemas', '/users'])
    t.equal((await server.call('', 'GET', SCIM + path)).status, 401, path)
})

test('a token opens its directory and nothing else, and no other credential opens a directory', async (t) => {
  const { token, id } = await server.directory()
  for (const path of ['/keys', '/organizations', '/scim-connections', `/scim-connections/${id}`, '/credits'])
    t.equal((await server.call(token, 'GET', `/api/v1${path}`)).status, 403, path)
  // The documents of these have no 403: a token that is no API key is as none there.
  t.equal((await server.call(token, 'GET', '/api/v1/key')).status, 401)
  const chat = { model: 'sim/instant', messages: [{ role: 'user', content: 'hi' }] }
  t.equal((await server.call(token, 'POST', '/api/v1/chat/completions', chat)).status, 401)
  t.equal((await server.call(token, 'GET', '/api/v1/scim/groups')).status, 401)
  for (const key of [MANAGEMENT_KEY, API_KEY]) {
    const reply = await usersOf(key)
    t.equal(reply.status, 403)
    t.match(reply.json, { status: '403' })
  }
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', `/${id}`],
    ['POST', `/${id}/tokens`],
  ] as const)
    t.equal((await managed(method, path, undefined, API_KEY)).status, 403, `${method} ${path}`)
})

test('connections do not see each other, in one organization or in two', async (t) => {
  const one = await server.directory()
  const foreignKey = await server.organization()
  const { id: user } = await one.user({ userName: 'ada', externalId: 'e' })
  const { id: group } = await one.group('All', [user])
  for (const other of [await server.directory(), await server.directory(foreignKey)]) {
    for (const [path, body] of [
      [`/Users/${user}`, userBody({ userName: 'x' })],
      [`/Groups/${group}`, { displayName: 'x' }],
    ] as const) {
      const patch = patchBody({ op: 'replace', path: 'externalId', value: 'x' })
      t.equal((await other.ask('GET', path)).status, 404)
      t.equal((await other.ask('PUT', path, { body })).status, 404)
      t.equal((await other.ask('PATCH', path, { body: patch })).status, 404)
      t.equal((await other.ask('DELETE', path)).status, 404)
    }
    for (const query of [
      '/Users',
      `/Users?filter=id%20eq%20%22${user}%22`,
      '/Users?filter=externalId%20eq%20%22e%22',
      '/Groups',
    ])
      t.equal((await other.ask('GET', query)).json.totalResults, 0, query)
    await other.user({ userName: 'ada' })
    const theirs = await other.group('Theirs', [user])
    t.equal((await other.ask('GET', `/Groups/${theirs.id}`)).json.members.length, 1, 'kept as a name')
  }
  t.strictSame(
    (await one.ask('GET', `/Users/${user}`)).json.groups.map(({ value }: Json) => value),
    [group],
  )
  t.match((await one.ask('GET', `/Users/${user}`)).json, { userName: 'ada', externalId: 'e' })
})

test('another organization finds no connection, and changes none', async (t) => {
  const one = await server.directory()
  const foreign = await server.organization()
  for (const [method, path, body] of [
    ['GET', ''],
    ['PATCH', '', { name: 'x' }],
    ['DELETE', ''],
    ['GET', '/tokens'],
    ['POST', '/tokens', {}],
    ['DELETE', `/tokens/${randomUUID()}`],
    ['GET', '/requests'],
    ['GET', '/quirks'],
    ['GET', '/audit'],
    ['GET', '/held'],
    ['POST', '/held/approve', {}],
  ] as const) {
    t.equal((await managed(method, `/${one.id}${path}`, body, foreign)).status, 404, `${method} ${path}`)
    t.equal((await managed(method, `/x${path}`, body)).status, 404, `${method} of none ${path}`)
  }
  t.equal((await managed('GET', '', undefined, foreign)).json.total_count, 0)
  t.equal((await usersOf(one.token)).status, 200)
})

test('removals beyond the share are held until they are approved', async (t) => {
  const directory = await server.directory()
  await directory.manage('PATCH', '', { held_share: 0.5, held_from: 2 })
  const users = await Promise.all(['a', 'b', 'c', 'd'].map((userName) => directory.user({ userName })))
  const ids = users.map(({ id }) => id as string)
  const { id: group } = await directory.group('All', ids)
  const body = patchBody({ op: 'replace', path: 'members', value: [] })
  t.equal((await directory.ask('PATCH', `/Groups/${group}`, { body })).status, 204)
  t.notOk(
    'members' in (await directory.ask('GET', `/Groups/${group}`)).json,
    'the directory reads its new facts',
  )
  const held = (await directory.manage('GET', '/held')).json
  t.ok(held.total_count > 0)
  for (const each of held.data) t.ok(each.scim_group_id === group && ids.includes(each.member_id))
  t.match((await directory.manage('POST', '/held/approve', { scim_group_id: randomUUID() })).json, {
    data: { approved: 0 },
  })
  t.match((await directory.manage('POST', '/held/approve', { scim_group_id: group })).json, {
    data: { approved: held.total_count },
  })
  t.equal((await directory.manage('GET', '/held')).json.total_count, 0)
})
