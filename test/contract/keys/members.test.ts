/** What admins and members do with keys (contract/directory 5 and 6, contract/decisions 60). */
import { randomUUID } from 'node:crypto'
import { type Test, test } from 'tap'
import { hashKey } from '../../../src/identity/api-keys.js'
import type { ScimRole } from '../../../src/store/scim-store.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { type AccountApi, accountApi } from '../../support/servers/account-api.js'

interface People extends AccountApi {
  readonly organizationId: string
  readonly workspaceId: string
  readonly elsewhereId: string
  /** A new personal key of somebody, whose groups give it the role; null for none. */
  keyOf(userId: string, role: ScimRole | null, limits?: object): Promise<string>
}

async function people(t: Test): Promise<People> {
  const api = await accountApi(t)
  const { accounts } = api
  const { scim } = api.store
  const { organizationId, workspaceId } = accounts.key(hashKey(api.apiKey))!
  const elsewhereId: string = (await api.manage('POST', '/workspaces', { name: 'elsewhere' })).json.data.id
  const actor = { actor: 'test', requestId: '', address: '' }
  const give = async (userId: string, role: ScimRole): Promise<void> => {
    const now = api.clock.unixSeconds() * 1000
    const times = { organizationId, createdAt: now, updatedAt: now }
    const group = { ...times, id: randomUUID(), displayName: role, externalId: null, members: [userId] }
    await scim.putGroup(group, actor)
    const mapping = { ...times, id: randomUUID(), scimGroupId: group.id, workspaceId: workspaceId!, role }
    await scim.addMapping(mapping, actor)
  }
  return {
    ...api,
    organizationId,
    workspaceId: workspaceId!,
    elsewhereId,
    keyOf: async (userId, role, limits = {}) => {
      if (role !== null) await give(userId, role)
      const body = { name: userId, creator_user_id: userId, workspace_id: workspaceId, ...limits }
      return (await api.manage('POST', '/keys', body)).json.key
    },
  }
}

const ONLY_TIGHTER =
  'Only an admin of the workspace can loosen the limits of a key or enable it, by a key without'

function refusedWith(t: Test, { status, json }: HttpReply, wanted: number, message: string): void {
  t.equal(status, wanted, message)
  t.match(json.error.message, message)
}

test('a member sees, makes, changes and deletes its own keys and no others', async (t) => {
  const { call, keyOf, apiKey, workspaceId } = await people(t)
  const mine = await keyOf('ada', 'member')
  const others = await keyOf('bob', 'member')
  const listed = await call(mine, 'GET', '/keys')
  t.same(
    listed.json.data.map(({ hash }: { hash: string }) => hash),
    [hashKey(mine)],
  )
  for (const other of [others, apiKey]) {
    const path = `/keys/${hashKey(other)}`
    t.equal((await call(mine, 'GET', path)).status, 404)
    t.equal((await call(mine, 'PATCH', path, { name: 'taken' })).status, 404)
    t.equal((await call(mine, 'DELETE', path)).status, 404)
  }
  const made = await call(mine, 'POST', '/keys', { name: 'second' })
  t.equal(made.status, 201)
  t.match(made.json.data, { creator_user_id: 'ada', workspace_id: workspaceId })
  const path = `/keys/${made.json.data.hash}`
  t.match((await call(mine, 'PATCH', path, { name: 'renamed', limit: 3 })).json.data, {
    name: 'renamed',
    limit: 3,
  })
  t.equal((await call(made.json.key, 'GET', '/who-am-i')).json.userId, 'ada')
  t.same((await call(mine, 'DELETE', path)).json, { deleted: true })
  t.equal((await call(made.json.key, 'GET', '/who-am-i')).status, 401)
  for (const creator_user_id of ['bob', null]) {
    const asked = await call(mine, 'POST', '/keys', { name: 'x', creator_user_id })
    refusedWith(t, asked, 403, 'Members can create keys of their own only')
  }
})

test('an admin has the keys of its workspace and of no other', async (t) => {
  const { call, manage, keyOf, apiKey, managementKey, elsewhereId } = await people(t)
  const admin = await keyOf('ada', 'admin')
  const member = await keyOf('bob', 'member')
  const elsewhere: string = (await manage('POST', '/keys', { name: 'far', workspace_id: elsewhereId })).json
    .data.hash
  const hashes = (await call(admin, 'GET', '/keys?include_disabled=true')).json.data.map(
    ({ hash }: { hash: string }) => hash,
  )
  t.same(hashes.sort(), [apiKey, admin, member].map(hashKey).sort())
  t.equal((await call(admin, 'PATCH', `/keys/${hashKey(member)}`, { disabled: true })).status, 200)
  t.equal((await call(member, 'GET', '/who-am-i')).status, 401)
  t.equal((await call(admin, 'PATCH', `/keys/${hashKey(member)}`, { disabled: false })).status, 200)
  for (const method of ['GET', 'DELETE']) {
    t.equal((await call(admin, method, `/keys/${elsewhere}`)).status, 404, 'another workspace')
    t.equal((await call(admin, method, `/keys/${hashKey(managementKey)}`)).status, 404, 'a management key')
  }
  t.equal((await manage('GET', `/keys/${elsewhere}`)).status, 200)
  const wish = { name: 'x', workspace_id: elsewhereId }
  t.match((await call(admin, 'POST', '/keys', wish)).json.error.message, 'workspace_id')
  t.equal((await call(admin, 'POST', '/keys', { name: 'shared' })).json.data.creator_user_id, null)
  t.equal((await call(admin, 'POST', '/keys', { name: 'bobs', creator_user_id: 'bob' })).status, 201)
  const nobody = await call(admin, 'POST', '/keys', { name: 'x', creator_user_id: 'nobody' })
  refusedWith(t, nobody, 400, 'creator_user_id: has no role in this workspace')
  t.same(
    (await call(admin, 'GET', '/workspaces')).json.data.map(({ name }: { name: string }) => name),
    ['default'],
  )
})

test('a member makes its keys narrower and never wider', async (t) => {
  const { call, manage, keyOf } = await people(t)
  const mine = await keyOf('ada', 'member')
  const rate_limit = { requests_per_minute: 10 }
  const first = { limit: 5, limit_reset: 'weekly', rate_limit, include_byok_in_limit: true }
  const limited = await keyOf('ada', null, first)
  const path = `/keys/${hashKey(limited)}`
  for (const wider of [
    { limit: 6 },
    { limit: null },
    { limit_reset: 'daily' },
    { rate_limit: null },
    { rate_limit: { requests_per_minute: 11 } },
    { rate_limit: { requests_per_minute: null } },
    { include_byok_in_limit: false },
    { limit: 4, rate_limit: { requests_per_minute: 11 } },
  ]) {
    refusedWith(t, await call(mine, 'PATCH', path, wider), 403, ONLY_TIGHTER)
  }
  t.match((await manage('GET', path)).json.data, first, 'nothing of it was taken')
  const narrower = {
    limit: 4,
    limit_reset: 'monthly',
    rate_limit: { requests_per_minute: 9, concurrent: 1 },
    disabled: true,
  }
  t.match((await call(mine, 'PATCH', path, narrower)).json.data, narrower)
  refusedWith(t, await call(mine, 'PATCH', path, { disabled: false }), 403, ONLY_TIGHTER)
  t.equal((await manage('PATCH', path, { disabled: false, ...first })).status, 200)
})

test('a key that is bounded neither widens itself nor makes another', async (t) => {
  const { call, keyOf } = await people(t)
  const limited = await keyOf('ada', 'admin', { limit: 1 })
  const ending = await keyOf('ada', null, { expires_at: '2999-01-01T00:00:00Z' })
  for (const key of [limited, ending]) {
    refusedWith(t, await call(key, 'POST', '/keys', { name: 'x' }), 403, 'cannot create keys')
  }
  refusedWith(
    t,
    await call(limited, 'PATCH', `/keys/${hashKey(limited)}`, { limit: null }),
    403,
    ONLY_TIGHTER,
  )
  for (const [by, of] of [
    [limited, ending],
    [ending, limited],
  ] as const) {
    const path = `/keys/${hashKey(of)}`
    t.equal((await call(by, 'PATCH', path, { limit: 0.5 })).status, 200)
    refusedWith(t, await call(by, 'PATCH', path, { limit: 2 }), 403, ONLY_TIGHTER)
  }
  const free = await keyOf('ada', null)
  t.equal((await call(free, 'PATCH', `/keys/${hashKey(limited)}`, { limit: null })).status, 200)
})

test('a page of keys has those that count, wherever they stand among those that do not', async (t) => {
  const { call, manage, keyOf, clock, workspaceId } = await people(t)
  const ada = await keyOf('ada', 'member')
  const gone: string = (await manage('POST', '/members', { user_name: 'gone' })).json.data.id
  const made: { readonly name: string; readonly counts: boolean }[] = []
  for (let i = 0; i < 130; i++) {
    clock.advance(1)
    const counts = i % 7 !== 3
    const { status, json } = await manage('POST', '/keys', {
      name: `${i}`,
      workspace_id: workspaceId,
      creator_user_id: counts ? 'ada' : gone,
    })
    t.strictSame([status, json.data.disabled], [201, !counts], 'as it is from the beginning')
    made.push({ name: `${i}`, counts })
  }
  const names = (reply: HttpReply): string[] => reply.json.data.map(({ name }: { name: string }) => name)
  const all = made.map(({ name }) => name)
  const counting = made.filter(({ counts }) => counts).map(({ name }) => name)
  // Before them are the key of the first start and the first of the person.
  t.strictSame(names(await manage('GET', '/keys?offset=2')), counting.slice(0, 100))
  t.strictSame(names(await manage('GET', '/keys?offset=52')), counting.slice(50))
  t.strictSame(names(await manage('GET', '/keys?offset=82&include_disabled=true')), all.slice(80))
  t.strictSame(names(await call(ada, 'GET', '/keys?offset=51')), counting.slice(50))
  t.strictSame(names(await manage('GET', '/keys?offset=1000')), [])
})

test('who has no role manages no keys', async (t) => {
  const { call, keyOf, apiKey } = await people(t)
  const nobody = await keyOf('ada', null)
  for (const key of [nobody, apiKey]) {
    const refused = await call(key, 'GET', '/keys')
    refusedWith(t, refused, 403, 'Only management keys can perform this operation')
  }
  t.equal((await call(nobody, 'GET', '/who-am-i')).status, 200)
})
