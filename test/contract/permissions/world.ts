/** Two organizations with everything that can be addressed, and every kind of credential of one of them. */
import { hash, randomBytes } from 'node:crypto'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import type { Lifetime } from '../../support/data/temp-folder.js'
import { FederationServer } from '../../support/servers/federation-server.js'
import { FLEET_DATABASE_URL } from '../../support/servers/fleet-database.js'
import { API_KEY, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'

/** What stands in the names of the foreign organization's things and nowhere else. */
export const CANARY = 'canary-of-the-foreign'

/** A credential, what it is to the table of access, and the headers that carry it. */
export interface Credential {
  readonly name: string
  /** A word of `x-access`; `nobody` for what is no good at all. */
  readonly class: string
  readonly isSession: boolean
  readonly headers: Readonly<Record<string, string>>
}

export interface Organization {
  readonly id: string
  readonly management: string
  readonly token: string
  /** Ids of what exists, by the path of its collection or the name of a parameter. */
  readonly ids: Readonly<Record<string, string>>
}

interface World {
  readonly federation: FederationServer
  readonly own: Organization
  readonly foreign: Organization
  readonly credentials: readonly Credential[]
}

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` })
const named = (name: string, of: string, key: string): Credential => ({
  name,
  class: of,
  isSession: false,
  headers: bearer(key),
})
const session = (name: string, of: string, secret: string): Credential => ({
  name,
  class: of,
  isSession: true,
  headers: {
    Cookie: `__Host-sluice-session=${secret}`,
    'Sec-Fetch-Site': 'same-origin',
    'X-Sluice-Request': '1',
  },
})

export async function world(t: Lifetime): Promise<World> {
  const federation = await FederationServer.start(t)
  const own = await organization(federation, 'own')
  const foreign = await organization(federation, CANARY)
  return { federation, own, foreign, credentials: await credentialsOf(federation, own) }
}

async function organization(federation: FederationServer, name: string): Promise<Organization> {
  const wish = { name, plan: 'enterprise' }
  const { json } = await federation.manage('POST', '/organizations', wish)
  const management: string = json.key
  const make = (path: string, body: object): Promise<Json> => federation.made('POST', path, body, management)
  const [{ id: workspace }] = await federation.made('GET', '/workspaces', undefined, management)
  const spare = await make('/workspaces', { name: `${name} spare` })
  const key = await make('/keys', { name, workspace_id: workspace })
  const member = await make('/members', { user_name: `${name} member` })
  await federation.made('PUT', `/members/${member.id}/roles/${workspace}`, { role: 'member' }, management)
  const issuer = await federation.newIssuer({ name }, management)
  const policy = await federation.newPolicy({ issuer_id: issuer.id, api_key_hash: key.hash }, management)
  const connection = await make('/scim-connections', { name })
  const { json: tokenReply } = await federation.manage(
    'POST',
    `/scim-connections/${connection.id}/tokens`,
    {},
    management,
  )
  const token: string = tokenReply.token
  const provision = async (path: string, body: object): Promise<Json> =>
    (await federation.manage('POST', `/scim/v2${path}`, body, token)).json
  const user = await provision('/Users', { userName: `${name}@example.com` })
  const group = await provision('/Groups', { displayName: name, members: [{ value: user.id }] })
  const mapping = await make('/scim/group-mappings', {
    scim_group_id: group.id,
    workspace_id: workspace,
    role: 'member',
  })
  const provider = await make('/sign-in-providers', {
    name,
    issuer: 'https://id.example.com',
    client_id: name,
  })
  const ids = {
    '/api/v1/workspaces': workspace,
    '/api/v1/keys': key.hash,
    '/api/v1/members': member.id,
    '/api/v1/organizations': json.data.id,
    '/api/v1/federation/issuers': issuer.id,
    '/api/v1/federation/policies': policy.id,
    '/api/v1/scim-connections': connection.id,
    '/api/v1/scim/v2/Users': user.id,
    '/api/v1/scim/v2/Groups': group.id,
    '/api/v1/scim/groups': group.id,
    '/api/v1/scim/group-mappings': mapping.id,
    '/api/v1/sign-in-providers': provider.id,
    workspace_id: workspace,
    spare_workspace: spare.id,
    user_id: member.id,
    api_key_hash: key.hash,
    issuer_id: issuer.id,
    organization_id: json.data.id,
    scim_group_id: group.id,
    creator_user_id: member.id,
    connection_id: connection.id,
    group_id: group.id,
  }
  return { id: json.data.id, management, token, ids }
}

async function credentialsOf(federation: FederationServer, own: Organization): Promise<Credential[]> {
  const { ids, management, token } = own
  const workspace = ids.workspace_id!
  const person = async (user_name: string, role: string, active = true): Promise<[string, string]> => {
    const { id } = await federation.made('POST', '/members', { user_name }, management)
    await federation.made('PUT', `/members/${id}/roles/${workspace}`, { role }, management)
    const wish = { creator_user_id: id, workspace_id: workspace }
    const { key } = await federation.newKey(management, wish)
    if (!active) await federation.made('PATCH', `/members/${id}`, { active: false }, management)
    return [id, key]
  }
  const [member, memberKey] = await person('a member', 'member')
  const [admin, adminKey] = await person('an admin', 'admin')
  const [gone, goneKey] = await person('somebody who is not active', 'admin', false)
  const workspaceKey = await federation.newKey(management, { workspace_id: workspace })
  const personal = { workspace_id: workspace, creator_user_id: 'a name' }
  const nobodys = await federation.newKey(management, personal)
  const trust = { issuer_id: ids.issuer_id, api_key_hash: workspaceKey.hash }
  const policy = await federation.newPolicy(trust, management)
  const signIn = async (key: string): Promise<string> => {
    const response = await fetch(`${federation.server.apiUrl}/session`, {
      method: 'POST',
      headers: bearer(key),
    })
    return /session=([^;]+)/.exec(response.headers.getSetCookie()[0]!)![1]!
  }
  return [
    { name: 'none', class: 'nobody', isSession: false, headers: {} },
    { name: 'malformed', class: 'nobody', isSession: false, headers: { Authorization: 'Basic eA==' } },
    named('unknown key', 'nobody', 'sk-sluice-v1-unknown'),
    named('unknown token', 'nobody', 'sk-sluice-scim-unknown'),
    named('key of somebody who is not active', 'nobody', goneKey),
    named('workspace key', 'workspace-key', workspaceKey.key),
    named('access token', 'access-token', await federation.accessToken(policy.id)),
    named('personal key of a name', 'personal-key', nobodys.key),
    named('key of a member', 'member', memberKey),
    named('key of an admin', 'admin', adminKey),
    named('management key', 'management', management),
    named('connection token', 'connection', token),
    session('session of management', 'management', await signIn(management)),
    ...(await memberSessions(federation, own.id, [
      ['member', member],
      ['admin', admin],
      ['nobody', gone],
    ])),
    named('key of the operator', 'operator', MANAGEMENT_KEY),
    named('workspace key of another organization', 'workspace-key', API_KEY),
  ]
}

/** Written into the store of the server: how members sign in is tested elsewhere. A fleet has none to open here. */
async function memberSessions(
  { server }: FederationServer,
  organizationId: string,
  people: readonly (readonly [of: string, memberId: string])[],
): Promise<Credential[]> {
  if (FLEET_DATABASE_URL !== '') return []
  const store = openLmdbStore({ path: server.dataDir, unixSeconds: () => Date.now() / 1000 })
  const made: Credential[] = []
  for (const [of, memberId] of people) {
    const secret = randomBytes(32).toString('base64url')
    const createdAt = Date.now()
    await store.sessions.addSession(
      {
        hash: hash('sha256', secret, 'hex'),
        organizationId,
        keyHash: null,
        memberId,
        providerId: null,
        address: '127.0.0.1',
        createdAt,
        expiresAt: createdAt + 3_600_000,
      },
      null,
    )
    made.push(session(`session of ${of === 'nobody' ? 'somebody who is not active' : of}`, of, secret))
  }
  await store.close()
  return made
}
