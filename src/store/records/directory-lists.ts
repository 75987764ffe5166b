/** The lists that members and groups stand in, by what they are looked up. For the inside of changes. */
import type { DirectoryGroup, Member } from '../directory-store.js'
import { type DirectoryTables, exactKey, foldedKey, keyOf, tombstoneOf } from './directory-tables.js'

export type MemberScope = Pick<Member, 'organizationId' | 'connectionId'>

/** Ids of connections and of organizations are UUIDs: none is both. */
export function placeOf({ organizationId, connectionId }: MemberScope): string {
  return connectionId ?? organizationId
}

export const userNameKey = (member: Member): string =>
  keyOf('u', placeOf(member), foldedKey(member.userName))!

const externalIdPrefix = (member: Member): string | null =>
  member.externalId === null ? null : keyOf('x', placeOf(member), exactKey(member.externalId))

export function enlistMember(tables: DirectoryTables, member: Member): void {
  const { id, organizationId } = member
  tables.putText(userNameKey(member), id)
  tables.enlist(keyOf('l', placeOf(member))!, id)
  tables.enlist(keyOf('a', organizationId)!, id)
  const external = externalIdPrefix(member)
  if (external !== null) tables.enlist(external, id)
}

export function reindexMember(tables: DirectoryTables, current: Member, next: Member): void {
  const { id } = current
  const [before, after] = [userNameKey(current), userNameKey(next)]
  if (before !== after) {
    tables.remove(before)
    tables.putText(after, id)
  }
  if (current.externalId === next.externalId) return
  const [old, external] = [externalIdPrefix(current), externalIdPrefix(next)]
  if (old !== null) tables.delist(old, id)
  if (external !== null) tables.enlist(external, id)
}

/** Leaves the tombstone of who lives, in no list. */
export function buryMember(tables: DirectoryTables, member: Member, at: number): void {
  const { id, organizationId } = member
  tables.putMember(tombstoneOf(member, at))
  tables.remove(userNameKey(member))
  tables.delist(keyOf('l', placeOf(member))!, id)
  tables.delist(keyOf('a', organizationId)!, id)
  const external = externalIdPrefix(member)
  if (external !== null) tables.delist(external, id)
}

// ── Groups ──────────────────────────────────────────────────────────────────

const namePrefix = ({ connectionId, displayName }: DirectoryGroup): string =>
  keyOf('D', connectionId, foldedKey(displayName))!

const externalPrefix = ({ connectionId, externalId }: DirectoryGroup): string | null =>
  externalId === null ? null : keyOf('X', connectionId, exactKey(externalId))

export function enlistGroup(tables: DirectoryTables, group: DirectoryGroup): void {
  const { id, connectionId } = group
  tables.enlist(keyOf('G', connectionId)!, id)
  tables.enlist(namePrefix(group), id)
  const external = externalPrefix(group)
  if (external !== null) tables.enlist(external, id)
}

/** The group itself, without its members: from then on it gives no role. */
export function removeGroupHead(tables: DirectoryTables, group: DirectoryGroup): void {
  const { id, connectionId, organizationId } = group
  tables.remove(keyOf('g', id)!, organizationId)
  tables.remove(keyOf('w', id)!)
  tables.delist(keyOf('G', connectionId)!, id)
  tables.delist(namePrefix(group), id)
  const external = externalPrefix(group)
  if (external !== null) tables.delist(external, id)
}

export function reindexGroup(tables: DirectoryTables, current: DirectoryGroup, next: DirectoryGroup): void {
  const move = (before: string | null, after: string | null): void => {
    if (before === after) return
    if (before !== null) tables.delist(before, next.id)
    if (after !== null) tables.enlist(after, next.id)
  }
  move(namePrefix(current), namePrefix(next))
  move(externalPrefix(current), externalPrefix(next))
}
