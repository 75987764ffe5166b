/** What follows from who people are for the keys and sessions that are theirs (contract/directory 4). */
import type { Principal } from '../base/principal.js'
import type { ApiKey } from '../store/account-store.js'
import type { DirectoryMembers, DirectoryRoles, DirectoryStore } from '../store/directory-store.js'
import type { ScimRole, ScimStore } from '../store/scim-store.js'

/** Facts about people; whether they still hold is read on every call. */
export interface People {
  readonly members: Pick<DirectoryMembers, 'factsOf'>
  readonly roles: Pick<ScimStore, 'roleOf'> & Pick<DirectoryRoles, 'workspacesOf'>
}

/** People as the store has them. */
export function peopleOf({
  scim,
  directory: { members, roles },
}: {
  readonly scim: Pick<ScimStore, 'roleOf'>
  readonly directory: Pick<DirectoryStore, 'members' | 'roles'>
}): People {
  return {
    members,
    roles: {
      roleOf: (workspaceId, userId) => scim.roleOf(workspaceId, userId),
      workspacesOf: (organizationId, userId) => roles.workspacesOf(organizationId, userId),
    },
  }
}

/** Whether somebody is, or was, a member of an organization; a personal key may as well name somebody who is none. */
function isMember(userId: string, organizationId: string, people: People): boolean {
  return people.members.factsOf(userId)?.organizationId === organizationId
}

/** The same of who calls. */
export function isCalledByMember({ userId, organizationId }: Principal, people: People): boolean {
  return userId !== undefined && isMember(userId, organizationId, people)
}

/**
 * Whether the person of a key lets it count: a member does while it has a role in the key's workspace, and who is not
 * active has none. A name that is no member's says nothing. Costs a comparison for keys that are nobody's.
 */
export function personLetsCount(key: ApiKey, people: People): boolean {
  const { creatorUserId, organizationId } = key
  if (creatorUserId === null || !isMember(creatorUserId, organizationId, people)) return true
  return roleByKey(key, people) !== null
}

/** The role that a personal key has in its workspace. */
export function roleByKey({ kind, workspaceId, creatorUserId }: ApiKey, people: People): ScimRole | null {
  if (kind !== 'personal' || workspaceId === null || creatorUserId === null) return null
  return people.roles.roleOf(workspaceId, creatorUserId)
}
