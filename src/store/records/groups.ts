/** Group mappings, groups that are delivered whole, and direct roles; see scim-tables.ts. */
import type {
  ScimAuditEntry,
  ScimDirectRoles,
  ScimGroup,
  ScimGroups,
  ScimMappings,
  ScimStore,
} from '../scim-store.js'
import type { AuditBook } from './audit-book.js'
import type { RecordSpace } from './record-space.js'
import type { RoleFacts } from './role-facts.js'
import {
  auditSubjectOf,
  indexKeys,
  isSameGroup,
  memberKeys,
  type ScimTables,
  scimKey,
} from './scim-tables.js'

const NOTHING = Buffer.alloc(0)

/** Each read has a snapshot of its own; each change is a transaction with its audit row. */
export function createScimStore(
  space: RecordSpace,
  tables: ScimTables,
  facts: RoleFacts,
  audit: AuditBook<ScimAuditEntry>,
): ScimStore {
  return {
    ...createMappings(space, tables, facts),
    ...createGroups(space, tables, facts),
    ...createDirectRoles(space, tables),
    roleOf: (workspaceId, userId) => space.inSnapshot(() => facts.roleOf(workspaceId, userId)),
    auditPage: (organizationId, offset, limit) => audit.page(organizationId, offset, limit),
  }
}

function createMappings(space: RecordSpace, tables: ScimTables, facts: RoleFacts): ScimMappings {
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
        records.put(scimKey('m', id)!, { ...mapping, author: actor.actor })
        const subject = { ...auditSubjectOf(mapping), roleAfter: role }
        tables.appendAudit('mapping.create', createdAt, actor, subject)
        return true
      }),
    changeRole: (id, role, at, actor) =>
      space.writeDurably(() => {
        const current = tables.mapping(id)
        if (current === null || current.role === role) return current
        const next = Object.freeze({ ...current, role, updatedAt: at, author: actor.actor })
        records.put(scimKey('m', id)!, next)
        const subject = { ...auditSubjectOf(current), roleBefore: current.role, roleAfter: role }
        tables.appendAudit('mapping.update', at, actor, subject)
        return next
      }),
    removeMapping: (id, keepMembers, at, actor) =>
      space.writeDurably(() => {
        const mapping = tables.mapping(id)
        if (mapping === null) return false
        const { role } = mapping
        const roleAfter = keepMembers ? role : null
        const members = facts.membersByMapping(mapping)
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

function createGroups(space: RecordSpace, tables: ScimTables, facts: RoleFacts): ScimGroups {
  const { records } = tables
  return {
    group: (organizationId, id) =>
      space.inSnapshot(() => tables.group(organizationId, id) ?? facts.groupOfConnection(organizationId, id)),
    groupsOf: (organizationId) => {
      const prefix = scimKey('g', organizationId)
      if (prefix === null) return []
      return space
        .inSnapshot(() => [
          ...records.list<ScimGroup>(prefix).map(({ members: _, ...group }) => group),
          ...facts.groupsOfConnections(organizationId),
        ])
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    },
    putGroup: (group, actor) =>
      space.writeDurably(() => {
        const { organizationId, id } = group
        if (facts.isOfConnection(organizationId, id)) return null
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
        if (group === null) return facts.isOfConnection(organizationId, id) ? 'of-connection' : 'absent'
        for (const key of memberKeys(group)) records.remove(key)
        records.remove(scimKey('g', organizationId, id)!)
        tables.appendAudit('group.delete', at, actor, { organizationId, groupId: id })
        return 'removed'
      }),
  }
}

function createDirectRoles(space: RecordSpace, tables: ScimTables): ScimDirectRoles {
  return {
    directRolesOf: (workspaceId) => space.inSnapshot(() => tables.directRolesOf(workspaceId)),
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
