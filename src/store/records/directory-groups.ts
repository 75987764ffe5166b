/** Groups of connections in the table of the directory. */
import type {
  DirectoryConnection,
  DirectoryGroup,
  DirectoryGroups,
  DirectoryPage,
  DirectoryWrite,
  GroupMembership,
  MembershipChange,
  WriteRefusal,
} from '../directory-store.js'
import type { ScimActor } from '../scim-store.js'
import {
  type EdgeValue,
  edgeOf,
  edgesOf,
  groupIdsOf,
  hasEdge,
  heldOf,
  putEdge,
  putHeld,
  removeEdge,
  removeHeld,
} from './directory-edges.js'
import { enlistGroup, reindexGroup, removeGroupHead } from './directory-lists.js'
import type { DirectoryRemovals } from './directory-removals.js'
import { type DirectoryTables, exactKey, foldedKey, keyOf, type ListPage } from './directory-tables.js'
import { RemovalWindow } from './removal-window.js'

export function createGroups(tables: DirectoryTables, removals: DirectoryRemovals): DirectoryGroups {
  const { space } = tables
  const page = (prefix: string | null, part: ListPage): DirectoryPage<DirectoryGroup> => {
    const entries = tables.texts(prefix, part).map((id) => tables.group(id)!)
    return { entries, total: tables.count(prefix) }
  }
  return {
    group: (id) => space.inSnapshot(() => tables.group(id)),
    groupsOf: ({ organizationId, connectionId }, lookup, offset, limit) =>
      space.inSnapshot(() => {
        if (tables.connection(connectionId)?.organizationId !== organizationId) return NO_GROUPS
        if (lookup.by === 'all') {
          return page(keyOf('G', connectionId), { offset, limit, after: lookup.after })
        }
        const { by, value } = lookup
        if (by === 'displayName') return page(keyOf('D', connectionId, foldedKey(value)), { offset, limit })
        if (by === 'externalId') return page(keyOf('X', connectionId, exactKey(value)), { offset, limit })
        const group = by === 'id' ? tables.group(value) : null
        const found = group?.connectionId === connectionId ? [group] : []
        return { entries: found.slice(offset, offset + limit), total: found.length }
      }),
    membershipsOf: (groupId, offset, limit) =>
      space.inSnapshot(() => {
        const group = tables.group(groupId)
        if (group === null) return NO_GROUPS
        const edges = edgesOf(tables, group, { offset, limit })
        const entries = edges.map((edge) => membershipOf(groupId, edge))
        return { entries, total: group.memberCount }
      }),
    isMember: (groupId, memberId) =>
      space.inSnapshot(() => {
        const group = tables.group(groupId)
        return group !== null && hasEdge(tables, group, memberId)
      }),
    groupsOfMember: (memberId) =>
      space.inSnapshot(() => {
        const facts = tables.facts(memberId)
        if (facts === null || facts.connectionId === null || facts.deleted) return []
        const ids = groupIdsOf(tables, facts.connectionId, memberId)
        return ids.map((id) => tables.group(id)).filter((group) => group !== null)
      }),
    addGroup: (group, members, actor, displays) =>
      removals.change((): DirectoryWrite<DirectoryGroup> => {
        const { id, organizationId, connectionId, createdAt } = group
        if (tables.connection(connectionId)?.organizationId !== organizationId) return { absent: true }
        if (tables.has(keyOf('g', id))) return { conflict: true }
        const added = [...new Set(members)]
        const next: DirectoryGroup = Object.freeze({ ...group, version: 1, memberCount: added.length })
        tables.put(keyOf('g', id)!, next, organizationId)
        enlistGroup(tables, next)
        for (const memberId of added)
          putEdge(tables, next, edgeFor(memberId, createdAt, displays?.get(memberId)))
        const subject = auditSubjectOf(next)
        tables.appendAudit('group.create', createdAt, actor, subject)
        tables.appendUsers('membership.add', createdAt, actor, subject, added)
        return { done: next }
      }),
    changeGroup: (id, change, at, actor) =>
      removals.change(() => {
        const current = tables.group(id)
        if (current === null) return { absent: true }
        const changed = change(current)
        if ('refused' in changed) return changed
        const members = changeOf(tables, current, changed.members)
        if (
          changed.group === current &&
          members.added.length + members.removed.length + members.shown.length === 0
        ) {
          return { done: current }
        }
        return { done: applyChange(tables, current, changed.group, members, at, actor) }
      }),
    removeGroup: <R>(
      id: string,
      check: (current: DirectoryGroup) => WriteRefusal<R> | null,
      at: number,
      actor: ScimActor,
    ) =>
      removals.begin<DirectoryWrite<DirectoryGroup, R>>(() => {
        const current = tables.group(id)
        if (current === null) return { outcome: { absent: true }, removal: null }
        const refusal = check(current)
        if (refusal !== null) return { outcome: refusal, removal: null }
        const { connectionId, organizationId } = current
        removeGroupHead(tables, current)
        tables.appendAudit('group.delete', at, actor, auditSubjectOf(current))
        return {
          outcome: { done: current },
          removal: { kind: 'group', id, connectionId, organizationId, at },
        }
      }),
  }
}

const NO_GROUPS: DirectoryPage<never> = Object.freeze({ entries: [], total: 0 })

function membershipOf(groupId: string, [memberId, addedAt, display]: EdgeValue): GroupMembership {
  return { groupId, memberId, addedAt, ...(display !== undefined && { display }) }
}

function edgeFor(memberId: string, addedAt: number, display: string | undefined): EdgeValue {
  return display === undefined ? [memberId, addedAt] : [memberId, addedAt, display]
}

/** Who comes, who goes and who is shown in another way when all is done. */
interface MembersChange {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly shown: readonly EdgeValue[]
  readonly displays: ReadonlyMap<string, string>
}

/** Reads the members of the group only where they are replaced. */
function changeOf(
  tables: DirectoryTables,
  group: DirectoryGroup,
  changes: readonly MembershipChange[],
): MembersChange {
  const isIn = new Map<string, boolean>()
  const displays = new Map<string, string>()
  for (const change of changes) {
    if (change.op === 'replace') {
      for (const id of isIn.keys()) isIn.set(id, false)
      for (const [id] of edgesOf(tables, group)) isIn.set(id, false)
    }
    for (const id of change.members) isIn.set(id, change.op !== 'remove')
    if (change.op !== 'remove') for (const [id, display] of change.displays ?? []) displays.set(id, display)
  }
  const added: string[] = []
  const removed: string[] = []
  const shown: EdgeValue[] = []
  for (const [id, shallBe] of isIn) {
    const edge = edgeOf(tables, group, id)
    if (shallBe !== (edge !== null)) (shallBe ? added : removed).push(id)
    else if (edge !== null && displays.has(id) && edge[2] !== displays.get(id))
      shown.push(edgeFor(id, edge[1], displays.get(id)))
  }
  return { added, removed, shown, displays }
}

function applyChange(
  tables: DirectoryTables,
  current: DirectoryGroup,
  changed: DirectoryGroup,
  { added, removed, shown, displays }: MembersChange,
  at: number,
  actor: ScimActor,
): DirectoryGroup {
  const { id, organizationId, connectionId, createdAt, version } = current
  const memberCount = current.memberCount + added.length - removed.length
  const identity = { id, organizationId, connectionId, createdAt, version: version + 1, updatedAt: at }
  const next: DirectoryGroup = Object.freeze({ ...changed, ...identity, memberCount })
  tables.put(keyOf('g', id)!, next, organizationId)
  reindexGroup(tables, current, next)
  const held = removeMembers(tables, current, removed, at)
  for (const edge of shown) putEdge(tables, next, edge)
  for (const memberId of added) {
    putEdge(tables, next, edgeFor(memberId, at, displays.get(memberId)))
    const cancelled = heldOf(tables, id, memberId)
    if (cancelled !== null) removeHeld(tables, cancelled)
  }
  const subject = auditSubjectOf(next)
  if (changed !== current || shown.length > 0) tables.appendAudit('group.update', at, actor, subject)
  tables.appendUsers('membership.add', at, actor, subject, added)
  tables.appendUsers('membership.remove', at, actor, subject, removed)
  tables.appendUsers('membership.hold', at, actor, subject, held)
  return next
}

/** Whose removal takes no role away yet (contract/directory 6). */
function removeMembers(
  tables: DirectoryTables,
  group: DirectoryGroup,
  removed: readonly string[],
  at: number,
): string[] {
  if (removed.length === 0) return []
  const { id: groupId, organizationId, connectionId } = group
  const window = new RemovalWindow(tables, tables.connection(connectionId) as DirectoryConnection, group, at)
  const held: string[] = []
  for (const memberId of removed) {
    const [, addedAt] = edgeOf(tables, group, memberId)!
    removeEdge(tables, group, memberId)
    // Who is nobody of this connection has no role by it that could be lost.
    const facts = tables.facts(memberId)
    if (facts === null || facts.deleted || facts.connectionId !== connectionId) continue
    if (!window.isBeyond()) continue
    putHeld(tables, { groupId, connectionId, organizationId, memberId, removedAt: at, addedAt })
    held.push(memberId)
  }
  window.keep()
  return held
}

function auditSubjectOf({ id, organizationId, connectionId }: DirectoryGroup) {
  return { organizationId, connectionId, groupId: id }
}
