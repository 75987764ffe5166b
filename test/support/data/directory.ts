/** Connections, people and groups of tests. */
import type {
  DirectoryConnection,
  DirectoryGroup,
  DirectoryRequest,
  DirectoryStore,
  DirectoryWrite,
  Member,
} from '../../../src/store/directory-store.js'
import type { ScimActor, ScimMapping, ScimStore } from '../../../src/store/scim-store.js'
import type { AccountStore } from '../../../src/store/store.js'
import { BEGAN, hashOf, idOf, organizationOf, workspaceOf } from './accounts.js'

export const ACTOR: ScimActor = { actor: hashOf('actor'), requestId: 'req_1', address: '127.0.0.1' }
const AT = { createdAt: BEGAN, updatedAt: BEGAN }

export interface DirectoryStoresOfTest {
  readonly accounts: AccountStore
  readonly scim: ScimStore
  readonly directory: DirectoryStore
}

/** The organizations 1 and 11, each with two workspaces behind it: 2 and 3, 12 and 13. */
export async function addTwoOrganizations({
  accounts,
}: Pick<DirectoryStoresOfTest, 'accounts'>): Promise<void> {
  for (const n of [1, 11]) {
    await accounts.addOrganization({
      organization: organizationOf(n),
      workspaces: [workspaceOf(n + 1, idOf(n)), workspaceOf(n + 2, idOf(n))],
      keys: [],
    })
  }
}

/** A connection of organization 1, unless another is named. */
export function connectionOf(n: number, more: Partial<DirectoryConnection> = {}): DirectoryConnection {
  return {
    ...AT,
    id: idOf(100 + n),
    organizationId: idOf(1),
    name: `connection ${n}`,
    tokens: [
      { id: idOf(150 + n), hash: hashOf(`token ${n}`), label: 'sk…', createdAt: BEGAN, expiresAt: null },
    ],
    heldShare: 0.3,
    heldFrom: 10,
    ...more,
  }
}

/** A person of connection 1, unless another is named; created after those of lower numbers. */
export function memberOf(n: number, more: Partial<Member> = {}): Member {
  return {
    id: idOf(1_000_000 + n),
    organizationId: idOf(1),
    connectionId: connectionOf(1).id,
    version: 1,
    userName: `user-${n}@example.test`,
    externalId: `external-${n}`,
    active: true,
    document: { displayName: `User ${n}`, emails: [{ value: `mail-${n}@example.test` }] },
    createdAt: BEGAN + n,
    updatedAt: BEGAN + n,
    deletedAt: null,
    ...more,
  }
}

/** A group of connection 1, unless another is named. */
export function directoryGroupOf(n: number, more: Partial<DirectoryGroup> = {}): DirectoryGroup {
  return {
    id: idOf(2_000_000 + n),
    organizationId: idOf(1),
    connectionId: connectionOf(1).id,
    version: 1,
    displayName: `Group ${n}`,
    externalId: null,
    document: {},
    memberCount: 0,
    createdAt: BEGAN + n,
    updatedAt: BEGAN + n,
    ...more,
  }
}

/** Makes a group's members of workspace 2 its members or admins. */
export function mappingOf(n: number, scimGroupId: string, more: Partial<ScimMapping> = {}): ScimMapping {
  return {
    ...AT,
    ...{
      id: idOf(3_000_000 + n),
      organizationId: idOf(1),
      scimGroupId,
      workspaceId: idOf(2),
      role: 'member',
    },
    ...more,
  }
}

export function requestOf(n: number, more: Partial<DirectoryRequest> = {}): DirectoryRequest {
  return {
    id: idOf(4_000_000 + n),
    at: BEGAN + n,
    connectionId: connectionOf(1).id,
    tokenId: idOf(151),
    method: 'GET',
    target: '/api/v1/scim/v2/Users',
    status: 200,
    scimType: null,
    quirks: [],
    requestId: `req_${n}`,
    ...more,
  }
}

/** What was done; throws when it was not. */
export function doneOf<T, R>(write: DirectoryWrite<T, R>): T {
  if ('done' in write) return write.done
  throw new Error(`was not done: ${JSON.stringify(write)}`)
}

/** People with numbers from `first` on, added at once. */
export async function addMembers(
  { directory }: Pick<DirectoryStoresOfTest, 'directory'>,
  count: number,
  first = 1,
  more: Partial<Member> = {},
): Promise<Member[]> {
  const members = Array.from({ length: count }, (_, i) => memberOf(first + i, more))
  const added = await Promise.all(members.map((member) => directory.members.addMember(member, ACTOR)))
  return added.map((write) => doneOf(write))
}
