/**
 * The port of directory groups: who is in them, which role a group has in a workspace, and what was changed. Records
 * are JSON; times are Unix milliseconds.
 */
import type { MaybePromise } from '../base/maybe-promise.js'

export const SCIM_ROLES = ['admin', 'member'] as const
export type ScimRole = (typeof SCIM_ROLES)[number]

/** A group as the directory has it. */
export interface ScimGroup {
  /** UUID, chosen by the directory. */
  readonly id: string
  readonly organizationId: string
  readonly displayName: string
  readonly externalId: string | null
  /** Ids of users: what personal keys name as their creator. */
  readonly members: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
}

/** A group without its members. */
export interface ScimGroupHead extends Omit<ScimGroup, 'members'> {
  /** The connection that delivers it; null of one that is delivered whole. */
  readonly connectionId: string | null
  readonly memberCount: number
}

/** Gives the members of a group a role in a workspace. */
export interface ScimMapping {
  /** UUID v7. */
  readonly id: string
  readonly organizationId: string
  /** Of a group that the directory may not have delivered yet (contract/decisions 32). */
  readonly scimGroupId: string
  readonly workspaceId: string
  readonly role: ScimRole
  readonly createdAt: number
  readonly updatedAt: number
  /** Who made it, or gave it its role last (`ScimActor.actor`); absent in what was kept before that was written down. */
  readonly author?: string
}

/** A role that a user has for itself: given, or kept when the mapping that gave it was deleted. */
export interface ScimDirectRole {
  readonly organizationId: string
  readonly workspaceId: string
  /** Null in what was kept before users were written down. */
  readonly userId: string | null
  readonly role: ScimRole
  /** The mapping it was kept from, if it was, and since when it is there. */
  readonly mappingId: string | null
  readonly createdAt: number | null
  /** As of a mapping. */
  readonly author?: string
}

export type ScimAction =
  | `mapping.${'create' | 'update' | 'delete'}`
  | `group.${'put' | 'create' | 'update' | 'delete'}`
  | `role.${'give' | 'keep' | 'remove'}`
  | `connection.${'create' | 'update' | 'delete'}`
  | `member.${'create' | 'update' | 'activate' | 'deactivate' | 'delete'}`
  | `membership.${'add' | 'remove' | 'hold' | 'approve'}`

/** What was changed, and by whom. */
export interface ScimAuditEntry {
  readonly id: string
  readonly at: number
  readonly organizationId: string
  readonly action: ScimAction
  /** Hash of the management key, or the id of a connection's token. */
  readonly actor: string
  /** The connection that it is about; absent where it is about none. */
  readonly connectionId?: string
  readonly mappingId: string | null
  /** Null when a direct role was taken away by itself. */
  readonly groupId: string | null
  readonly workspaceId: string | null
  /** Who it is about; absent where it is about no users. */
  readonly userIds?: readonly string[]
  /** Role of the group's members before and after; null where there was, or is, none. */
  readonly roleBefore: ScimRole | null
  readonly roleAfter: ScimRole | null
  readonly requestId: string
  readonly address: string
}

/** What a writer knows of a row; the rest comes from the change itself, inside its transaction. */
export type ScimActor = Pick<ScimAuditEntry, 'actor' | 'requestId' | 'address'>

export interface ScimAuditPage {
  /** Newest first. */
  readonly rows: readonly ScimAuditEntry[]
  /** Rows that are kept. */
  readonly total: number
}

/**
 * Reads see every change that was acknowledged before the read began, by any process: a role counts for the next
 * call, on every worker. Changes resolve when they are on disk, together with their audit row; those that change
 * nothing write none. They fail with `unavailable` when the store cannot take them.
 */
export interface ScimStore extends ScimMappings, ScimGroups, ScimDirectRoles {
  /**
   * The strongest role a user has in a workspace, by any group or by itself; null without. A member who is not active, or
   * was deleted, has none. A microsecond for a member in whose organization nothing has changed since the last time.
   */
  roleOf(workspaceId: string, userId: string): ScimRole | null
  /** Rows after the newest `offset`. */
  auditPage(organizationId: string, offset: number, limit: number): MaybePromise<ScimAuditPage>
}

export interface ScimMappings {
  mapping(id: string): ScimMapping | null
  /** Oldest first. */
  mappingsOf(organizationId: string): readonly ScimMapping[]
  /** False when the group has a mapping to this workspace already. */
  addMapping(mapping: ScimMapping, actor: ScimActor): Promise<boolean>
  /** The mapping with its new role; null when there is none. */
  changeRole(id: string, role: ScimRole, at: number, actor: ScimActor): Promise<ScimMapping | null>
  /**
   * True when this call removed it. With `keepMembers` those who are in the group now keep their role in the
   * workspace as a direct one; without, they lose it, and one they had kept before as well. The audit names them.
   */
  removeMapping(id: string, keepMembers: boolean, at: number, actor: ScimActor): Promise<boolean>
}

/** Groups that are delivered whole. Those of connections are read here as well, and changed by their directory alone. */
export interface ScimGroups {
  group(organizationId: string, id: string): ScimGroup | null
  /** Oldest first. */
  groupsOf(organizationId: string): readonly ScimGroupHead[]
  /**
   * Those that name this user, oldest first; a connection's only where it delivers the user as well. Costs the groups
   * that are delivered whole.
   */
  groupsOfUser(organizationId: string, userId: string): readonly ScimGroupHead[]
  /**
   * The group as it is now; its time of creation stays. Organizations do not see each other’s groups, even under
   * equal ids. Null when it is a connection’s.
   */
  putGroup(group: ScimGroup, actor: ScimActor): Promise<ScimGroup | null>
  /** Its mappings stay, and give no user a role. */
  removeGroup(
    organizationId: string,
    id: string,
    at: number,
    actor: ScimActor,
  ): Promise<'removed' | 'absent' | 'of-connection'>
}

export interface ScimDirectRoles {
  directRolesOf(workspaceId: string): readonly ScimDirectRole[]
  /** True when this call took it away; what groups give the user stays. */
  removeDirectRole(
    role: Pick<ScimDirectRole, 'organizationId' | 'workspaceId'> & { readonly userId: string },
    at: number,
    actor: ScimActor,
  ): Promise<boolean>
}
