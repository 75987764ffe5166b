/** Fills the organization of the demo, by the operations that everybody has. */
import type { OwnServer } from '../own-server.js'
import { type Api, apiOf, type Made } from './api.js'
import { AUDIENCE, type IdentityProvider } from './identity-provider.js'

/** What the traffic is made with. */
export interface Organization {
  /** Keys of workspaces; the last two have a limit that is soon reached, in dollars and in calls. */
  readonly keys: readonly string[]
  /** By subject: a policy that lets it in, and one that does not. */
  readonly policies: Readonly<Record<string, string>>
}

const CI = 'repo:acme/app:ref:refs/heads/main'
const FORK = 'repo:acme/fork:ref:refs/heads/main'

export async function furnish(
  server: OwnServer,
  provider: IdentityProvider,
  left: AbortSignal,
): Promise<Organization> {
  const api = apiOf(server.url, left)
  const make = (path: string, body?: unknown, method = 'POST'): Promise<Made> =>
    api.make(method, path, server.managementKey, body)
  const workspaces = await Promise.all(
    ['Research', 'Support'].map(async (name) => (await make('/workspaces', { name })).data.id!),
  )
  const keys = await createKeys(make, workspaces)
  await addPeople(api, make, workspaces)
  await uploadFiles(api, server.managementKey)
  await make('/credits', { amount: 100 })
  return { keys: keys.map(({ key }) => key!), policies: await trust(make, provider, keys[0]!.data.hash!) }
}

type Make = (path: string, body?: unknown, method?: string) => Promise<Made>

function createKeys(make: Make, [research, support]: readonly string[]): Promise<readonly Made[]> {
  const keys = [
    { name: 'Batch of the research team', workspace_id: research, limit: 50, limit_reset: 'monthly' },
    { name: 'Chat of the web site', workspace_id: support, rate_limit: { requests_per_minute: 600 } },
    { name: 'Notebook', workspace_id: research },
    { name: 'Trial with little money', workspace_id: support, limit: 0.00004, limit_reset: 'daily' },
    { name: 'Trial with few calls', workspace_id: support, rate_limit: { requests_per_minute: 1 } },
  ]
  return Promise.all(keys.map((key) => make('/keys', key)))
}

/** Members by hand, and a directory that delivers people and a group whose role a mapping gives. */
async function addPeople(api: Api, make: Make, [research, support]: readonly string[]): Promise<void> {
  const [ada, grace] = await Promise.all([
    make('/members', { user_name: 'ada@example.com', display_name: 'Ada Lovelace' }),
    make('/members', { user_name: 'grace@example.com', display_name: 'Grace Hopper' }),
  ])
  await make(`/members/${ada.data.id}/roles/${research}`, { role: 'admin' }, 'PUT')
  await make(`/members/${grace.data.id}/roles/${support}`, { role: 'member' }, 'PUT')
  const { data: connection } = await make('/scim-connections', { name: 'Company directory' })
  const { token = '' } = await make(`/scim-connections/${connection.id}/tokens`, {})
  const provision = (kind: string, schema: string, body: object): Promise<Made> =>
    api.make('POST', `/scim/v2/${kind}`, token, {
      schemas: [`urn:ietf:params:scim:schemas:core:2.0:${schema}`],
      ...body,
    })
  const people = await Promise.all(
    ['edsger', 'barbara', 'donald'].map((name) =>
      provision('Users', 'User', { userName: `${name}@example.com`, externalId: name, active: true }),
    ),
  )
  const members = people.map(({ id }) => ({ value: id }))
  const group = await provision('Groups', 'Group', { displayName: 'Developers', members })
  await make('/scim/group-mappings', { scim_group_id: group.id, workspace_id: research, role: 'member' })
}

async function uploadFiles(api: Api, key: string): Promise<void> {
  const files = {
    'prices.csv': 'item,price\noats,2.40\nmilk,1.10\n',
    'notes.txt': 'Buy oats, milk and a new kettle.\n',
  }
  for (const [name, text] of Object.entries(files)) {
    const form = new FormData()
    form.set('file', new Blob([text], { type: 'text/plain' }), name)
    await api.make('POST', '/files', key, form)
  }
}

/** An issuer, a policy for one workload, and one whose condition no token satisfies. */
async function trust(
  make: Make,
  { issuer }: IdentityProvider,
  hash: string,
): Promise<Organization['policies']> {
  const { data } = await make('/federation/issuers', { name: 'Company CI', issuer_url: issuer })
  const policy = { issuer_id: data.id, audience: AUDIENCE, api_key_hash: hash }
  const [passes, refuses] = await Promise.all([
    make('/federation/policies', { ...policy, subject: CI, condition: '"inference" in scopes' }),
    make('/federation/policies', { ...policy, condition: 'subject.startsWith("repo:acme/app:")' }),
  ])
  return { [CI]: passes.data.id!, [FORK]: refuses.data.id! }
}
