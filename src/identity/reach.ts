/** How far a caller of an operation for members or admins reaches (contract/directory 5). */
import { throwFault } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { ScimRole } from '../store/scim-store.js'
import type { People } from './people.js'

/** Whose things a caller may see and change. */
export interface Reach {
  readonly organizationId: string
  /** Who calls: a member's id, or the name a personal key was given. Null for keys that are nobody's. */
  readonly userId: string | null
  /** Workspaces in which the caller has a role, with the role; `all` of the organization for management. */
  readonly workspaces: 'all' | ReadonlyMap<string, ScimRole>
}

const NOWHERE: ReadonlyMap<string, ScimRole> = new Map()

/**
 * Read anew on every call, as the state of a key is: a role that was changed counts at once. A key of a workspace gets
 * to such operations only where a row of `permissions` opens them to keys, and reaches what an admin of it reaches.
 */
export function reachOf(
  { kind, organizationId, workspaceId, userId }: Principal,
  roles: People['roles'],
): Reach {
  const made = (workspaces: Reach['workspaces']): Reach => ({
    organizationId,
    userId: userId ?? null,
    workspaces,
  })
  if (kind === 'management') return made('all')
  if (kind === 'member') return made(roles.workspacesOf(organizationId, userId!))
  if (workspaceId === null) return made(NOWHERE)
  const role = kind === 'personal' ? roles.roleOf(workspaceId, userId!) : 'admin'
  return made(role === null ? NOWHERE : new Map([[workspaceId, role]]))
}

/** The role of the caller in a workspace of its organization; management is as good as an admin of each. */
export function roleIn({ workspaces }: Reach, workspaceId: string): ScimRole | null {
  return workspaces === 'all' ? 'admin' : (workspaces.get(workspaceId) ?? null)
}

/** Fails with `item-not-found` unless the caller is an admin there: what is out of reach is not there. */
export function requireAdminOf(reach: Reach, workspaceId: string): void {
  if (roleIn(reach, workspaceId) !== 'admin') throwFault('item-not-found')
}
