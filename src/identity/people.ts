/** What follows from who people are for the keys and sessions that are theirs (contract/directory 4). */
import type { Principal } from '../base/principal.js'
import type { ApiKey } from '../store/account-store.js'
import type { DirectoryMembers, DirectoryRoles, Member } from '../store/directory-store.js'
import type { ScimRole, ScimStore } from '../store/scim-store.js'

/** Facts about people; all of them are read anew on every call. */
export interface People {
  readonly members: Pick<DirectoryMembers, 'member'>
  readonly roles: Pick<ScimStore, 'roleOf'> & Pick<DirectoryRoles, 'workspacesOf'>
}

/** People as the store has them. */
export function peopleOf({ scim }: { readonly scim: Pick<ScimStore, 'roleOf'> }): People {
  return {
    members: { member: () => null },
    roles: { roleOf: (workspace, user) => scim.roleOf(workspace, user), workspacesOf: () => new Map() },
  }
}

/** The member a key belongs to, tombstones included; null for keys of nobody and of a name that is no member's. */
export function memberOfKey({ creatorUserId, organizationId }: ApiKey, people: People): Member | null {
  if (creatorUserId === null) return null
  const member = people.members.member(creatorUserId)
  // A key may name anything; people of another organization are nobody here.
  return member?.organizationId === organizationId ? member : null
}

/** Whether a caller is a member of its organization; a personal key may as well name somebody who is none. */
export function isMember({ userId, organizationId }: Principal, people: People): boolean {
  return userId !== undefined && people.members.member(userId)?.organizationId === organizationId
}

export function isPresent({ active, deletedAt }: Member): boolean {
  return active && deletedAt === null
}

/**
 * Whether the person of a key lets it count: a member does while active and with a role in the key's workspace. A name
 * that is no member's says nothing. Costs a comparison for keys that are nobody's.
 */
export function personLetsCount(key: ApiKey, people: People): boolean {
  if (key.creatorUserId === null) return true
  const member = memberOfKey(key, people)
  return member === null || (isPresent(member) && roleByKey(key, people) !== null)
}

/** The role that a personal key has in its workspace. */
export function roleByKey({ kind, workspaceId, creatorUserId }: ApiKey, people: People): ScimRole | null {
  if (kind !== 'personal' || workspaceId === null || creatorUserId === null) return null
  return people.roles.roleOf(workspaceId, creatorUserId)
}
