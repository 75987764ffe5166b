/** From the first delivery to the deactivation: everything has followed before the answer (contract/directory 2 to 6). */
import { test } from 'tap'
import { httpClient } from '../../support/clients/http-client.js'
import { patchBody } from '../../support/schemas/scim-bodies.js'
import { type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { type Directory, scimServer } from '../../support/servers/scim-server.js'

/** Asked on connections of their own, so that each worker is. */
const TIMES = 8

interface World {
  readonly directory: Directory
  /** A management operation that has to succeed: what it answers. */
  manage(method: string, path: string, body?: unknown): Promise<Json>
  readonly workspaceId: string
  /** Whoever was delivered, by user name. */
  readonly people: Readonly<Record<string, string>>
  readonly groups: Readonly<Record<'admins' | 'engineers', string>>
  /** A personal key of somebody. */
  keyOf(userName: string): Promise<{ readonly key: string; readonly hash: string }>
  /** Statuses of calls with a key, each on a new connection. */
  statuses(key: string, path: string): Promise<number[]>
}

async function delivered(): Promise<World> {
  const server = await scimServer()
  const directory = await server.directory()
  const manage: World['manage'] = async (method, path, body) => {
    const { status, text, json } = await server.call(MANAGEMENT_KEY, method, `/api/v1${path}`, body)
    if (status >= 300) throw new Error(`${method} ${path} was answered with ${status} ${text}`)
    return json
  }
  const { data: workspaces } = await manage('GET', '/workspaces')
  const workspaceId: string = workspaces[0].id
  const people: Record<string, string> = {}
  for (const userName of ['ada', 'bob', 'eve'])
    people[userName] = (await directory.user({ userName, externalId: userName })).id
  const groupOf = async (displayName: string, names: readonly string[], role: string): Promise<string> => {
    const { id } = await directory.group(
      displayName,
      names.map((name) => people[name]!),
    )
    await manage('POST', '/scim/group-mappings', { scim_group_id: id, workspace_id: workspaceId, role })
    return id
  }
  return {
    directory,
    manage,
    workspaceId,
    people,
    groups: {
      admins: await groupOf('Platform admins', ['ada', 'bob'], 'admin'),
      engineers: await groupOf('Engineers', ['bob', 'eve'], 'member'),
    },
    keyOf: async (userName) => {
      const { key, data } = await manage('POST', '/keys', {
        name: `of ${userName}`,
        creator_user_id: people[userName],
        workspace_id: workspaceId,
      })
      return { key, hash: data.hash }
    },
    statuses: (key, path) =>
      Promise.all(
        Array.from({ length: TIMES }, async () => {
          const client = httpClient(server.baseUrl, 1)
          const headers = { Authorization: `Bearer ${key}` }
          const { status } = await client.send({ method: 'GET', path: `/api/v1${path}`, headers })
          client.close()
          return status
        }),
      ),
  }
}

const all = (status: number): number[] => Array(TIMES).fill(status)

/** Who has which role in the workspace. */
async function roles({ manage, workspaceId }: World): Promise<Record<string, string>> {
  const { data } = await manage('GET', `/members?workspace_id=${workspaceId}`)
  return Object.fromEntries(
    data.map((one: { user_name: string; roles: { role: string }[] }) => [one.user_name, one.roles[0]!.role]),
  )
}

test('people and groups are delivered, a mapping makes admins, and who is deactivated is out before the answer', async (t) => {
  const world = await delivered()
  const { manage, directory, people, groups, workspaceId, statuses } = world
  const tell = async (method: string, path: string, body?: object): Promise<number> =>
    (await directory.ask(method, path, { body })).status
  t.same(await roles(world), { ada: 'admin', bob: 'admin', eve: 'member' })
  const [ada, bob, eve] = [await world.keyOf('ada'), await world.keyOf('bob'), await world.keyOf('eve')]
  for (const admin of [ada, bob])
    t.same(await statuses(admin.key, '/members'), all(200), 'an admin sees members')
  t.same(await statuses(eve.key, '/members'), all(403), 'a member does not')
  t.same(await statuses(eve.key, '/members/me'), all(200))

  // As Entra says it.
  const off = patchBody({ op: 'Replace', path: 'active', value: 'False' })
  t.equal(await tell('PATCH', `/Users/${people.ada}`, off), 204)
  t.same(await statuses(ada.key, '/members/me'), all(401), 'the key is refused everywhere')
  t.same(await roles(world), { bob: 'admin', eve: 'member' })
  t.equal((await manage('GET', `/keys/${ada.hash}`)).data.disabled, true)
  t.same(await statuses(bob.key, '/members'), all(200), 'nobody else has lost anything')
  const { data: trail } = (await directory.manage('GET', '/audit')).json
  t.match(trail[0], { action: /^member\./, member_ids: [people.ada] })

  const leave = patchBody({ op: 'remove', path: `members[value eq "${people.bob}"]` })
  t.equal(await tell('PATCH', `/Groups/${groups.admins}`, leave), 204)
  t.same(await roles(world), { bob: 'member', eve: 'member' }, 'what another group gives is left')
  t.same(await statuses(bob.key, '/members'), all(403))
  t.same(await statuses(bob.key, '/members/me'), all(200))
  const { data: why } = await manage('GET', `/members/${people.bob}/why?workspace_id=${workspaceId}`)
  t.match(why, { role: 'member' })
  t.match(JSON.stringify(why), groups.engineers)
  t.notMatch(JSON.stringify(why), groups.admins)

  t.equal(await tell('DELETE', `/Users/${people.eve}`), 204)
  t.same(await statuses(eve.key, '/members/me'), all(401))
  const on = patchBody({ op: 'Replace', path: 'active', value: 'True' })
  t.equal(await tell('PATCH', `/Users/${people.ada}`, on), 204)
  t.same(await statuses(ada.key, '/members'), all(200), 'who is back has what the deactivation had taken')
  t.same(await roles(world), { ada: 'admin', bob: 'member' })
})
