/**
 * Directory groups and their mappings in a space of records.
 *
 *     records    'm' mapping                          ->  mapping
 *                'o' organization, mapping            ->  mapping's id     lists, oldest first: ids are UUID v7
 *                'w' workspace, mapping               ->  mapping's id     what counts in a workspace
 *                'x' organization, group, workspace   ->  mapping's id     one mapping for each pair
 *                'g' organization, group              ->  group
 *                'u' organization, group, user        ->  nothing          who is in it
 *                'k' workspace, user                  ->  direct role      kept from a mapping that has gone
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
  ScimDirectRoles,
  ScimGroup,
  ScimGroups,
  ScimMapping,
  ScimMappings,
  ScimRole,
  ScimStore,
} from '../scim-store.js'
import type { AuditBook, AuditBookOptions } from './audit-book.js'
import type { RecordSpace } from './record-space.js'
import { isId, KEY_END, RecordTable } from './record-table.js'

/** A trail for each organization. */
export const SCIM_AUDIT: AuditBookOptions<ScimAuditEntry> = {
  trailOf: ({ organizationId }) => organizationId,
  keptRows: 10_000,
  keptMs: Number.POSITIVE_INFINITY,
}
const NOTHING = Buffer.alloc(0)

type ScimRecordKind = 'm' | 'o' | 'w' | 'x' | 'g' | 'u' | 'k'

/** Users that one audit row names. */
const USERS_PER_ROW = 100

type ScimAuditSubject = Pick<ScimAuditEntry, 'organizationId' | 'groupId'> &
  Partial<Pick<ScimAuditEntry, 'mappingId' | 'workspaceId' | 'userIds' | 'roleBefore' | 'roleAfter'>>

/** Each read has a snapshot of its own; each change is a transaction with its audit row. */
export function createScimStore(space: RecordSpace, audit: AuditBook<ScimAuditEntry>): ScimStore {
  const tables = new ScimTables(space, audit)
  const { records } = tables
  return {
    ...createMappings(space, tables),
    ...createGroups(space, tables),
    ...createDirectRoles(space, tables),
    roleOf: (workspaceId, userId) =>
      space.inSnapshot(() => {
        const kept = records.get<ScimDirectRole>(scimUserKey('k', userId, workspaceId))
        const roles = tables
          .mappingsUnder(scimKey('w', workspaceId))
          .filter((mapping) => tables.isMember(mapping, userId))
          .map(({ role }) => role)
        return strongestRole(kept === null ? roles : [...roles, kept.role])
      }),
    auditPage: (organizationId, offset, limit) => audit.page(organizationId, offset, limit),
  }
}

/** For the inside of changes and snapshots of the space. */
class ScimTables {
  readonly records: RecordTable
  readonly audit: AuditBook<ScimAuditEntry>

  constructor(space: RecordSpace, audit: AuditBook<ScimAuditEntry>) {
    this.records = new RecordTable(space, 'scim-records')
    this.audit = audit
  }

  mapping(id: string): ScimMapping | null {
    return this.records.get(scimKey('m', id))
  }

  group(organizationId: string, id: string): ScimGroup | null {
    return this.records.get(scimKey('g', organizationId, id))
  }

  mappingsUnder(prefix: Buffer | null): ScimMapping[] {
    const { records } = this
    return records.listIndexed<ScimMapping>(records.table, prefix, (id) => scimKey('m', id.toString()))
  }

  isMember({ organizationId, scimGroupId }: ScimMapping, userId: string): boolean {
    const key = scimUserKey('u', userId, organizationId, scimGroupId)
    return key !== null && this.records.has(key)
  }

  /** Gives the members of a group its role for themselves. One that was kept and is stronger stays. */
  keepRoles(mapping: ScimMapping, members: readonly string[], at: number, actor: ScimActor): void {
    const { id: mappingId, organizationId, workspaceId, role } = mapping
    const kept = members.filter((userId) => {
      const key = scimUserKey('k', userId, workspaceId)!
      if (role !== 'admin' && this.records.has(key)) return false
      const own: ScimDirectRole = { organizationId, workspaceId, userId, role, mappingId, createdAt: at }
      this.records.put(key, own)
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
    const key = scimUserKey('k', userId, workspaceId)
    const current = this.records.get<ScimDirectRole>(key)
    if (key === null || current === null) return null
    this.records.remove(key)
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

function createMappings(space: RecordSpace, tables: ScimTables): ScimMappings {
  const { records } = tables
  return {
    mapping: (id) => space.inSnapshot(() => tables.mapping(id)),
    mappingsOf: (organizationId) =>
      space.inSnapshot(() => tables.mappingsUnder(scimKey('o', organizationId))),
    addMapping: (mapping, actor) =>
      space.writeDurably(() => {
        const { id, createdAt, role } = mapping
        const keys = indexKeys(mapping)
        if (records.has(keys.pair)) return false
        for (const key of Object.values(keys)) records.table.put(key, Buffer.from(id))
        records.put(scimKey('m', id)!, mapping)
        const subject = { ...auditSubjectOf(mapping), roleAfter: role }
        tables.appendAudit('mapping.create', createdAt, actor, subject)
        return true
      }),
    changeRole: (id, role, at, actor) =>
      space.writeDurably(() => {
        const current = tables.mapping(id)
        if (current === null || current.role === role) return current
        const next = Object.freeze({ ...current, role, updatedAt: at })
        records.put(scimKey('m', id)!, next)
        const subject = { ...auditSubjectOf(current), roleBefore: current.role, roleAfter: role }
        tables.appendAudit('mapping.update', at, actor, subject)
        return next
      }),
    removeMapping: (id, keepMembers, at, actor) =>
      space.writeDurably(() => {
        const mapping = tables.mapping(id)
        if (mapping === null) return false
        const { organizationId, scimGroupId, role } = mapping
        const roleAfter = keepMembers ? role : null
        const members = tables.group(organizationId, scimGroupId)?.members ?? []
        if (keepMembers) tables.keepRoles(mapping, members, at, actor)
        else tables.dropRoles(mapping, members, at, actor)
        for (const key of Object.values(indexKeys(mapping))) records.remove(key)
        records.remove(scimKey('m', id)!)
        const subject = { ...auditSubjectOf(mapping), roleBefore: role, roleAfter }
        tables.appendAudit('mapping.delete', at, actor, subject)
        return true
      }),
  }
}

function createGroups(space: RecordSpace, tables: ScimTables): ScimGroups {
  const { records } = tables
  return {
    group: (organizationId, id) => space.inSnapshot(() => tables.group(organizationId, id)),
    groupsOf: (organizationId) => {
      const prefix = scimKey('g', organizationId)
      if (prefix === null) return []
      const groups = space.inSnapshot(() => records.list<ScimGroup>(prefix))
      return groups.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    },
    putGroup: (group, actor) =>
      space.writeDurably(() => {
        const { organizationId, id } = group
        const current = tables.group(organizationId, id)
        const next = Object.freeze({ ...group, createdAt: current?.createdAt ?? group.createdAt })
        if (current !== null && isSameGroup(current, next)) return current
        for (const key of memberKeys(current)) records.remove(key)
        for (const key of memberKeys(next)) records.table.put(key, NOTHING)
        records.put(scimKey('g', organizationId, id)!, next)
        tables.appendAudit('group.put', next.updatedAt, actor, { organizationId, groupId: id })
        return next
      }),
    removeGroup: (organizationId, id, at, actor) =>
      space.writeDurably(() => {
        const group = tables.group(organizationId, id)
        if (group === null) return false
        for (const key of memberKeys(group)) records.remove(key)
        records.remove(scimKey('g', organizationId, id)!)
        tables.appendAudit('group.delete', at, actor, { organizationId, groupId: id })
        return true
      }),
  }
}

function createDirectRoles(space: RecordSpace, tables: ScimTables): ScimDirectRoles {
  return {
    directRolesOf: (workspaceId) => {
      const prefix = scimKey('k', workspaceId)
      return prefix === null ? [] : space.inSnapshot(() => tables.records.list<ScimDirectRole>(prefix))
    },
    removeDirectRole: ({ organizationId, workspaceId, userId }, at, actor) =>
      space.writeDurably(() => {
        const roleBefore = tables.removeRole(workspaceId, userId)
        if (roleBefore === null) return false
        const subject = { organizationId, groupId: null, workspaceId, roleBefore, userIds: [userId] }
        tables.appendAudit('role.remove', at, actor, subject)
        return true
      }),
  }
}

/** Null when one of the ids can be none. */
function scimKey(kind: ScimRecordKind, ...ids: readonly string[]): Buffer | null {
  if (ids.some((id) => !isId(id) || id.includes(KEY_END))) return null
  return Buffer.from(kind + ids.map((id) => id + KEY_END).join(''))
}

/** As `scimKey`, with a user behind the ids. */
function scimUserKey(kind: 'u' | 'k', userId: string, ...ids: readonly string[]): Buffer | null {
  const prefix = scimKey(kind, ...ids)
  return prefix && Buffer.concat([prefix, createHash('sha256').update(userId).digest()])
}

/** Where the id of a mapping stands beside its record. */
function indexKeys({ id, organizationId, scimGroupId, workspaceId }: ScimMapping) {
  return {
    pair: scimKey('x', organizationId, scimGroupId, workspaceId)!,
    organization: scimKey('o', organizationId, id)!,
    workspace: scimKey('w', workspaceId, id)!,
  }
}

function memberKeys(group: ScimGroup | null): Buffer[] {
  if (group === null) return []
  return group.members.map((user) => scimUserKey('u', user, group.organizationId, group.id)!)
}

function strongestRole(roles: readonly ScimRole[]): ScimRole | null {
  return roles.includes('admin') ? 'admin' : (roles[0] ?? null)
}

function auditSubjectOf({ id, organizationId, scimGroupId, workspaceId }: ScimMapping): ScimAuditSubject {
  return { organizationId, mappingId: id, groupId: scimGroupId, workspaceId }
}

function isSameGroup(a: ScimGroup, b: ScimGroup): boolean {
  const sameMembers =
    a.members.length === b.members.length && a.members.every((user, i) => user === b.members[i])
  return a.displayName === b.displayName && a.externalId === b.externalId && sameMembers
}
