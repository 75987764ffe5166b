/** Group mappings, groups that are delivered whole, and direct roles; see scim-tables.ts. */
import type {
  ScimAuditEntry,
  ScimDirectRoles,
  ScimGroup,
  ScimGroupHead,
  ScimGroups,
  ScimMappings,
  ScimStore,
} from '../scim-store.js'
import type { AuditBook } from './audit-book.js'
import type { RecordSpace } from './record-space.js'
import type { RoleAnswers } from './role-answers.js'
import type { RoleFacts } from './role-facts.js'
import type { RoleStamps } from './role-stamps.js'
import {
  auditSubjectOf,
  indexKeys,
  isSameGroup,
  memberKeys,
  type ScimTables,
  scimKey,
} from './scim-tables.js'
import { WorkspaceTable } from './workspaces.js'

const NOTHING = Buffer.alloc(0)

interface ScimParts {
  readonly space: RecordSpace
  readonly tables: ScimTables
  readonly stamps: RoleStamps
  readonly facts: RoleFacts
  readonly answers: RoleAnswers
  readonly audit: AuditBook<ScimAuditEntry>
}

/** Each read has a snapshot of its own; each change is a transaction with its audit row. */
export function createScimStore(parts: ScimParts): ScimStore {
  const { answers, audit } = parts
  return {
    ...createMappings(parts),
    ...createGroups(parts),
    ...createDirectRoles(parts),
    roleOf: (workspaceId, userId) => answers.roleOf(workspaceId, userId),
    auditPage: (organizationId, offset, limit) => audit.page(organizationId, offset, limit),
  }
}

function createMappings({ space, tables, stamps, facts }: ScimParts): ScimMappings {
  const workspaces = new WorkspaceTable(space)
  return {
    mapping: (id) => space.inSnapshot(() => tables.mapping(id)),
    mappingsOf: (organizationId) =>
      space.inSnapshot(() => tables.mappingsUnder(scimKey('o', organizationId))),
    addMapping: (mapping, actor) =>
      stamps.change(() => {
        const { id, organizationId, createdAt, role } = mapping
        const keys = indexKeys(mapping)
        if (tables.has(keys.pair)) return false
        workspaces.requireKept(mapping.workspaceId)
        for (const key of Object.values(keys)) tables.put(organizationId, key, Buffer.from(id))
        tables.put(organizationId, scimKey('m', id)!, { ...mapping, author: actor.actor })
        const subject = { ...auditSubjectOf(mapping), roleAfter: role }
        tables.appendAudit('mapping.create', createdAt, actor, subject)
        return true
      }),
    changeRole: (id, role, at, actor) =>
      stamps.change(() => {
        const current = tables.mapping(id)
        if (current === null || current.role === role) return current
        const next = Object.freeze({ ...current, role, updatedAt: at, author: actor.actor })
        tables.put(current.organizationId, scimKey('m', id)!, next)
        const subject = { ...auditSubjectOf(current), roleBefore: current.role, roleAfter: role }
        tables.appendAudit('mapping.update', at, actor, subject)
        return next
      }),
    removeMapping: (id, keepMembers, at, actor) =>
      stamps.change(() => {
        const mapping = tables.mapping(id)
        if (mapping === null) return false
        const { organizationId, role } = mapping
        const roleAfter = keepMembers ? role : null
        const members = facts.membersByMapping(mapping)
        if (keepMembers) tables.keepRoles(mapping, members, at, actor)
        else tables.dropRoles(mapping, members, at, actor)
        for (const key of Object.values(indexKeys(mapping))) tables.remove(organizationId, key)
        tables.remove(organizationId, scimKey('m', id)!)
        const subject = { ...auditSubjectOf(mapping), roleBefore: role, roleAfter }
        tables.appendAudit('mapping.delete', at, actor, subject)
        return true
      }),
  }
}

function createGroups({ space, tables, stamps, facts }: ScimParts): ScimGroups {
  return {
    group: (organizationId, id) =>
      space.inSnapshot(() => tables.group(organizationId, id) ?? facts.groupOfConnection(organizationId, id)),
    groupsOf: (organizationId) =>
      space
        .inSnapshot(() => [
          ...tables.groupsOf(organizationId).map(headOf),
          ...facts.groupsOfConnections(organizationId),
        ])
        .sort(byAge),
    groupsOfUser: (organizationId, userId) =>
      space
        .inSnapshot(() => [
          ...tables
            .groupsOf(organizationId)
            .filter(({ members }) => members.includes(userId))
            .map(headOf),
          ...facts.groupsOfUser(organizationId, userId),
        ])
        .sort(byAge),
    putGroup: (group, actor) =>
      stamps.change(() => {
        const { organizationId, id } = group
        if (facts.isOfConnection(organizationId, id)) return null
        const current = tables.group(organizationId, id)
        const next = Object.freeze({ ...group, createdAt: current?.createdAt ?? group.createdAt })
        if (current !== null && isSameGroup(current, next)) return current
        for (const key of memberKeys(current)) tables.remove(organizationId, key)
        for (const key of memberKeys(next)) tables.put(organizationId, key, NOTHING)
        tables.put(organizationId, scimKey('g', organizationId, id)!, next)
        tables.appendAudit('group.put', next.updatedAt, actor, { organizationId, groupId: id })
        return next
      }),
    removeGroup: (organizationId, id, at, actor) =>
      stamps.change(() => {
        const group = tables.group(organizationId, id)
        if (group === null) return facts.isOfConnection(organizationId, id) ? 'of-connection' : 'absent'
        for (const key of memberKeys(group)) tables.remove(organizationId, key)
        tables.remove(organizationId, scimKey('g', organizationId, id)!)
        tables.appendAudit('group.delete', at, actor, { organizationId, groupId: id })
        return 'removed'
      }),
  }
}

function headOf({ members, ...group }: ScimGroup): ScimGroupHead {
  return { ...group, connectionId: null, memberCount: members.length }
}

function byAge(a: ScimGroupHead, b: ScimGroupHead): number {
  return a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)
}

function createDirectRoles({ space, tables, stamps }: ScimParts): ScimDirectRoles {
  return {
    directRolesOf: (workspaceId) => space.inSnapshot(() => tables.directRolesOf(workspaceId)),
    removeDirectRole: ({ organizationId, workspaceId, userId }, at, actor) =>
      stamps.change(() => {
        const roleBefore = tables.removeRole(workspaceId, userId)
        if (roleBefore === null) return false
        const subject = { organizationId, groupId: null, workspaceId, roleBefore, userIds: [userId] }
        tables.appendAudit('role.remove', at, actor, subject)
        return true
      }),
  }
}
