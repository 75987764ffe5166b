/**
 * Directory groups and their mappings in a space of records.
 *
 *     records    'm' mapping                          ->  mapping
 *                'o' organization, mapping            ->  mapping's id     lists, oldest first: ids are UUID v7
 *                'w' workspace, mapping               ->  mapping's id     what counts in a workspace
 *                'x' organization, group, workspace   ->  mapping's id     one mapping for each pair
 *                'g' organization, group              ->  group
 *                'u' organization, group, user        ->  nothing          who is in it
 *                'k' workspace, user                  ->  direct role      given, or kept from a mapping that has gone
 *                'r' user, workspace                  ->  workspace's id   where a user may have one
 *     audit      a trail for each organization, see audit-book.ts
 *
 * Users have ids of any text, so they stand in keys as their SHA-256.
 */
import { createHash } from 'node:crypto'
import { newUuidV7 } from '../../base/ids.js'
import type {
  ScimAction,
  ScimActor,
  ScimAuditEntry,
  ScimDirectRole,
  ScimGroup,
  ScimMapping,
  ScimRole,
} from '../scim-store.js'
import type { AuditBook, AuditBookOptions } from './audit-book.js'
import type { RecordSpace } from './record-space.js'
import { isId, KEY_END, RecordTable } from './record-table.js'
import type { RoleStamps } from './role-stamps.js'

/** A trail for each organization, and one for each connection: what a directory tells must not push out what people do. */
export const SCIM_AUDIT: AuditBookOptions<ScimAuditEntry> = {
  trailOf: ({ organizationId, connectionId, action }) =>
    connectionId === undefined || action.startsWith('connection.')
      ? organizationId
      : connectionTrail(organizationId, connectionId),
  keptRows: 10_000,
  keptMs: Number.POSITIVE_INFINITY,
}

export const SCIM_TABLE = 'scim-records'

type ScimRecordKind = 'm' | 'o' | 'w' | 'x' | 'g' | 'u' | 'k' | 'r'

export function connectionTrail(organizationId: string, connectionId: string): string {
  return organizationId + KEY_END + connectionId
}

/** Users that one audit row names. */
const USERS_PER_ROW = 100

type ScimAuditSubject = Pick<ScimAuditEntry, 'organizationId' | 'groupId'> &
  Partial<Pick<ScimAuditEntry, 'mappingId' | 'workspaceId' | 'userIds' | 'roleBefore' | 'roleAfter'>>

/** For the inside of changes and snapshots of the space. */
export class ScimTables {
  readonly #records: RecordTable
  readonly #space: RecordSpace
  readonly #stamps: RoleStamps
  readonly audit: AuditBook<ScimAuditEntry>

  constructor(space: RecordSpace, audit: AuditBook<ScimAuditEntry>, stamps: RoleStamps) {
    this.#space = space
    this.#stamps = stamps
    this.#records = new RecordTable(space, SCIM_TABLE)
    this.audit = audit
  }

  // Roles follow from all of them: who writes one says whose it is, so that what was found by it is looked for anew.

  put(organizationId: string, key: Buffer, value: object): void {
    this.#stamps.renew(organizationId)
    if (value instanceof Buffer) this.#records.table.put(key, value)
    else this.#records.put(key, value)
  }

  remove(organizationId: string, key: Buffer): void {
    this.#stamps.renew(organizationId)
    this.#records.remove(key)
  }

  has(key: Buffer): boolean {
    return this.#records.has(key)
  }

  /** Groups of an organization that were delivered whole. */
  groupsOf(organizationId: string): ScimGroup[] {
    const prefix = scimKey('g', organizationId)
    return prefix === null ? [] : this.#records.list<ScimGroup>(prefix)
  }

  mapping(id: string): ScimMapping | null {
    return this.#records.get(scimKey('m', id))
  }

  group(organizationId: string, id: string): ScimGroup | null {
    return this.#records.get(scimKey('g', organizationId, id))
  }

  /** Those an index leads to; a role is asked for on every call, so they are parsed once. */
  mappingsUnder(prefix: Buffer | null): ScimMapping[] {
    if (prefix === null) return []
    const { table } = this.#records
    return this.#space.valuesWithPrefix(table, prefix).map((id) => {
      const key = scimKey('m', id.toString())!
      return this.#records.getParsed<ScimMapping>(key.toString(), key)!
    })
  }

  /** Whether a group that was delivered whole names the user. */
  isMember({ organizationId, scimGroupId }: ScimMapping, user: UserDigest): boolean {
    const key = scimUserKey('u', user, organizationId, scimGroupId)
    return key !== null && this.#records.has(key)
  }

  directRole(workspaceId: string, user: UserDigest): ScimDirectRole | null {
    return this.#records.get(scimUserKey('k', user, workspaceId))
  }

  directRolesOf(workspaceId: string): ScimDirectRole[] {
    const prefix = scimKey('k', workspaceId)
    return prefix === null ? [] : this.#records.list<ScimDirectRole>(prefix)
  }

  putDirectRole(role: ScimDirectRole & { readonly userId: string }): void {
    const { organizationId, workspaceId, userId } = role
    const user = digestOf(userId)
    this.put(organizationId, scimUserKey('k', user, workspaceId)!, role)
    this.put(organizationId, workspaceKey(user, workspaceId), Buffer.from(workspaceId))
  }

  /** Where a user may have a direct role. */
  workspacesOf(user: UserDigest): string[] {
    const { table } = this.#records
    return this.#space.valuesWithPrefix(table, workspaceKey(user, '')).map(String)
  }

  /** Gives the members of a group its role for themselves. One that was kept and is stronger stays. */
  keepRoles(mapping: ScimMapping, members: readonly string[], at: number, actor: ScimActor): void {
    const { id: mappingId, organizationId, workspaceId, role } = mapping
    const kept = members.filter((userId) => {
      if (role !== 'admin' && this.directRole(workspaceId, digestOf(userId)) !== null) return false
      const own = { organizationId, workspaceId, userId, role, mappingId, createdAt: at, author: actor.actor }
      this.putDirectRole(own)
      return true
    })
    this.appendUsers('role.keep', at, actor, { ...auditSubjectOf(mapping), roleAfter: role }, kept)
  }

  /** Takes away what members had kept before. */
  dropRoles(mapping: ScimMapping, members: readonly string[], at: number, actor: ScimActor): void {
    const dropped = members.filter((userId) => this.removeRole(mapping.workspaceId, userId) !== null)
    this.appendUsers('role.remove', at, actor, auditSubjectOf(mapping), dropped)
  }

  /** The role that was taken away; null when there was none. */
  removeRole(workspaceId: string, userId: string): ScimRole | null {
    const user = digestOf(userId)
    const current = this.directRole(workspaceId, user)
    if (current === null) return null
    this.remove(current.organizationId, scimUserKey('k', user, workspaceId)!)
    this.remove(current.organizationId, workspaceKey(user, workspaceId))
    return current.role
  }

  private appendUsers(
    action: 'role.keep' | 'role.remove',
    at: number,
    actor: ScimActor,
    subject: ScimAuditSubject,
    users: readonly string[],
  ): void {
    for (let from = 0; from < users.length; from += USERS_PER_ROW) {
      this.appendAudit(action, at, actor, { ...subject, userIds: users.slice(from, from + USERS_PER_ROW) })
    }
  }

  appendAudit(action: ScimAction, at: number, actor: ScimActor, subject: ScimAuditSubject): void {
    const none = { mappingId: null, workspaceId: null, roleBefore: null, roleAfter: null }
    this.audit.append([{ id: newUuidV7(at), at, action, ...none, ...subject, ...actor }])
  }
}

/** Null when one of the ids can be none. */
export function scimKey(kind: ScimRecordKind, ...ids: readonly string[]): Buffer | null {
  if (ids.some((id) => !isId(id) || id.includes(KEY_END))) return null
  return Buffer.from(kind + ids.map((id) => id + KEY_END).join(''))
}

/** How a user stands in keys. */
export type UserDigest = Buffer

export function digestOf(userId: string): UserDigest {
  return createHash('sha256').update(userId).digest()
}

/** As `scimKey`, with a user behind the ids. */
function scimUserKey(kind: 'u' | 'k', user: UserDigest, ...ids: readonly string[]): Buffer | null {
  const prefix = scimKey(kind, ...ids)
  return prefix && Buffer.concat([prefix, user])
}

const workspaceKey = (user: UserDigest, workspaceId: string): Buffer =>
  Buffer.concat([Buffer.from('r'), user, Buffer.from(workspaceId)])

/** Where the id of a mapping stands beside its record. */
export function indexKeys({ id, organizationId, scimGroupId, workspaceId }: ScimMapping) {
  return {
    pair: scimKey('x', organizationId, scimGroupId, workspaceId)!,
    organization: scimKey('o', organizationId, id)!,
    workspace: scimKey('w', workspaceId, id)!,
  }
}

export function memberKeys(group: ScimGroup | null): Buffer[] {
  if (group === null) return []
  return group.members.map((user) => scimUserKey('u', digestOf(user), group.organizationId, group.id)!)
}

export function auditSubjectOf({
  id,
  organizationId,
  scimGroupId,
  workspaceId,
}: ScimMapping): ScimAuditSubject {
  return { organizationId, mappingId: id, groupId: scimGroupId, workspaceId }
}

export function isSameGroup(a: ScimGroup, b: ScimGroup): boolean {
  const sameMembers =
    a.members.length === b.members.length && a.members.every((user, i) => user === b.members[i])
  return a.displayName === b.displayName && a.externalId === b.externalId && sameMembers
}
