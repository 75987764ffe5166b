/** contract/decisions 61: keys that organizations have with providers are brought, shown masked, changed and deleted. */
import { randomUUID } from 'node:crypto'
import tap, { test } from 'tap'
import { MOST_PROVIDER_KEYS } from '../../../src/store/provider-key-store.js'
import { API_KEY } from '../../support/servers/gateway-server.js'
import { ownKeyWorld, type Tenant } from './own-key-world.js'

const { manage, tenant, bring, server } = await ownKeyWorld(tap)

const OWN = 'sk-own-0123456789-abcdef-0123456789-xyz'

test('a key is shown masked, with what it was given or the defaults, and never again itself', async (t) => {
  const ours = await tenant()
  const body = { provider: 'one', name: 'ours', key: OWN }
  const { status, json } = await manage(ours.management, 'POST', '/provider-keys', body)
  t.equal(status, 201)
  const { data } = json
  t.match(data, {
    ...{ provider: 'one', name: 'ours', label: 'sk-...xyz', workspace_id: null, priority: 'first' },
    ...{ allow_fallback: true, models: null, disabled: false, updated_at: null },
  })
  t.strictSame((await manage(ours.management, 'GET', `/provider-keys/${data.id}`)).json, { data })
  t.strictSame((await manage(ours.management, 'GET', '/provider-keys')).json, { data: [data] })
  const path = `/provider-keys/${data.id}`
  const changed = await manage(ours.management, 'PATCH', path, { name: 'new', priority: 'fallback' })
  t.match(changed.json.data, { name: 'new', priority: 'fallback', label: 'sk-...xyz', updated_at: /^20/ })
  const renewed = await manage(ours.management, 'PATCH', path, { key: `${OWN}-abc` })
  t.match(renewed.json.data, { name: 'new', label: 'sk-...abc' })
  t.strictSame((await manage(ours.management, 'PATCH', path, {})).json, renewed.json)
  t.notMatch(JSON.stringify([json, changed.json, renewed.json]), /0123456789/)
  t.strictSame((await manage(ours.management, 'DELETE', path)).json, { deleted: true })
  for (const method of ['GET', 'PATCH', 'DELETE'])
    t.equal((await manage(ours.management, method, path, method === 'PATCH' ? {} : undefined)).status, 404)
})

test('lists are narrowed to a provider and to a workspace', async (t) => {
  const ours = await tenant()
  await bring(ours, OWN)
  await bring(ours, OWN, { provider: 'two', workspace_id: ours.workspaceId })
  const names = async (query: string) =>
    (await manage(ours.management, 'GET', `/provider-keys?${query}`)).json.data.map(
      ({ provider }: { provider: string }) => provider,
    )
  t.strictSame(await names(''), ['one', 'two'])
  t.strictSame(await names('provider=two'), ['two'])
  t.strictSame(await names(`workspace_id=${ours.workspaceId}`), ['two'])
})

test('what is no key, no provider that takes one and no workspace of the caller is refused', async (t) => {
  const [ours, theirs] = [await tenant(), await tenant()]
  const good = { provider: 'one', name: 'x', key: OWN }
  for (const [change, said] of [
    [{ key: 'short' }, 'key: must be 8 to 1024 printable ASCII characters'],
    [{ key: `has a blank ${OWN}` }, 'key: must be 8 to 1024'],
    [{ key: `line\n${OWN}` }, 'key: must be 8 to 1024'],
    [{ key: 'x'.repeat(1025) }, 'key: must be 8 to 1024'],
    [{ key: undefined }, 'key'],
    [
      { provider: 'nobody' },
      'provider: is no provider that takes keys of callers; these do: claude, one, two',
    ],
    [{ provider: 'open' }, 'provider: is no provider that takes keys of callers'],
    [{ name: '' }, 'name'],
    [{ models: [] }, 'models'],
    [{ priority: 'last' }, 'priority: must be first or fallback'],
    [{ workspace_id: theirs.workspaceId }, 'workspace_id: is no workspace that you administer'],
    [{ workspace_id: 'none' }, 'workspace_id: is no workspace that you administer'],
  ] as const) {
    const { status, json } = await manage(ours.management, 'POST', '/provider-keys', { ...good, ...change })
    t.equal(status, 400, said)
    t.match(json.error.message, said)
    t.notMatch(JSON.stringify(json), OWN)
  }
})

test('an organization has so many and no more', async (t) => {
  const ours = await tenant()
  for (let made = 0; made < MOST_PROVIDER_KEYS; made++) await bring(ours, OWN)
  const { status, json } = await manage(ours.management, 'POST', '/provider-keys', {
    ...{ provider: 'one', name: 'x', key: OWN },
  })
  t.equal(status, 409)
  t.match(json.error.message, String(MOST_PROVIDER_KEYS))
})

/** A personal key of somebody whom the directory has made an admin, or a member, of the tenant's workspace. */
async function personalKey(of: Tenant, user: string, role: string): Promise<string> {
  const groupId = randomUUID()
  await manage(of.management, 'PUT', `/scim/groups/${groupId}`, { display_name: user, members: [user] })
  await manage(of.management, 'POST', '/scim/group-mappings', {
    ...{ scim_group_id: groupId, workspace_id: of.workspaceId, role },
  })
  const { json } = await manage(of.management, 'POST', '/keys', { name: user, creator_user_id: user })
  return json.key
}

test('an admin of a workspace does all of it for that workspace, and sees no other key', async (t) => {
  const ours = await tenant()
  const admin = await personalKey(ours, 'ada', 'admin')
  const whole = await bring(ours, OWN)
  const made = await manage(admin, 'POST', '/provider-keys', { provider: 'one', name: 'x', key: OWN })
  t.equal(made.status, 201, JSON.stringify(made.json))
  t.equal(made.json.data.workspace_id, ours.workspaceId, 'its own workspace is what it means')
  t.strictSame((await manage(admin, 'GET', '/provider-keys')).json.data, [made.json.data])
  t.equal((await manage(admin, 'GET', `/provider-keys/${whole.id}`)).status, 404)
  t.equal((await manage(admin, 'PATCH', `/provider-keys/${whole.id}`, { disabled: true })).status, 404)
  t.equal((await manage(admin, 'DELETE', `/provider-keys/${whole.id}`)).status, 404)
  const second = await manage(ours.management, 'POST', '/workspaces', { name: 'second' })
  for (const workspace of [null, second.json.data.id]) {
    const body = { provider: 'one', name: 'x', key: OWN, workspace_id: workspace }
    t.equal((await manage(admin, 'POST', '/provider-keys', body)).status, 400)
  }
  t.equal((await manage(admin, 'DELETE', `/provider-keys/${made.json.data.id}`)).status, 200)
})

test('plain members, ordinary keys and other organizations have nothing to do with it', async (t) => {
  const [ours, theirs] = [await tenant(), await tenant()]
  const record = await bring(ours, OWN)
  const member = await personalKey(ours, 'bob', 'member')
  for (const key of [member, ours.key, API_KEY])
    t.equal((await manage(key, 'GET', '/provider-keys')).status, 403)
  t.equal((await fetch(`${server.apiUrl}/provider-keys`)).status, 401)
  t.strictSame((await manage(theirs.management, 'GET', '/provider-keys')).json.data, [])
  for (const method of ['GET', 'DELETE'])
    t.equal((await manage(theirs.management, method, `/provider-keys/${record.id}`)).status, 404)
})
