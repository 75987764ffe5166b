/** Who is in a group: an edge for each member, found from either end. For the inside of changes and snapshots. */
import type { DirectoryGroup, HeldRemoval } from '../directory-store.js'
import { type DirectoryTables, keyOf, type ListPage, memberKey } from './directory-tables.js'

/** What an edge says: a member's id, since when it is in the group, and how the directory shows it there. */
export type EdgeValue = readonly [memberId: string, addedAt: number, display?: string]

/** A removal that takes no role away yet, and since when the member was in the group. */
interface HeldRecord extends HeldRemoval {
  readonly organizationId: string
  readonly addedAt: number
}

/** As far as edges go. */
type GroupPlace = Pick<DirectoryGroup, 'id' | 'connectionId'>
/** As far as changes of edges go. */
type OwnedPlace = GroupPlace & Pick<DirectoryGroup, 'organizationId'>

const edgeKey = ({ id, connectionId }: GroupPlace, member: string): string =>
  keyOf('e', connectionId, id, member)!

const backKey = ({ id, connectionId }: GroupPlace, member: string): string =>
  keyOf('b', connectionId, member, id)!

/** Null for who is not in it. */
export function edgeOf(tables: DirectoryTables, group: GroupPlace, memberId: string): EdgeValue | null {
  return tables.get<EdgeValue>(edgeKey(group, memberKey(memberId))) as EdgeValue | null
}

export function hasEdge(tables: DirectoryTables, group: GroupPlace, memberId: string): boolean {
  return tables.has(edgeKey(group, memberKey(memberId)))
}

export function edgesOf(
  tables: DirectoryTables,
  { id, connectionId }: GroupPlace,
  page?: ListPage,
): EdgeValue[] {
  return tables.list<[string, number, string?]>(keyOf('e', connectionId, id), page)
}

export function groupIdsOf(
  tables: DirectoryTables,
  connectionId: string,
  memberId: string,
  page?: ListPage,
): string[] {
  return tables.texts(keyOf('b', connectionId, memberKey(memberId)), page)
}

/** Also in place of one that is there. */
export function putEdge(tables: DirectoryTables, group: OwnedPlace, edge: EdgeValue): void {
  const member = memberKey(edge[0])
  tables.put(edgeKey(group, member), edge, group.organizationId)
  tables.putText(backKey(group, member), group.id)
}

export function removeEdge(tables: DirectoryTables, group: OwnedPlace, memberId: string): void {
  const member = memberKey(memberId)
  tables.remove(edgeKey(group, member), group.organizationId)
  tables.remove(backKey(group, member))
}

// ── Held removals ───────────────────────────────────────────────────────────

const TIME_DIGITS = 16

const heldKey = (groupId: string, memberId: string): string => keyOf('h', groupId, memberKey(memberId))!

/** In the order of their time. */
const heldListKey = ({ organizationId, removedAt, groupId, memberId }: HeldRecord): string =>
  keyOf('H', organizationId, String(removedAt).padStart(TIME_DIGITS, '0'), groupId, memberKey(memberId))!

export function heldOf(tables: DirectoryTables, groupId: string, memberId: string): HeldRecord | null {
  return tables.get<HeldRecord>(heldKey(groupId, memberId))
}

export function isHeld(tables: DirectoryTables, groupId: string, memberId: string): boolean {
  return tables.has(heldKey(groupId, memberId))
}

export function heldOfGroup(tables: DirectoryTables, groupId: string, page?: ListPage): HeldRecord[] {
  return tables.list<HeldRecord>(keyOf('h', groupId), page)
}

export function heldOfOrganization(tables: DirectoryTables, organizationId: string): HeldRecord[] {
  return tables.list<HeldRecord>(keyOf('H', organizationId))
}

export function putHeld(tables: DirectoryTables, held: HeldRecord): void {
  tables.put(heldKey(held.groupId, held.memberId), held, held.organizationId)
  tables.put(heldListKey(held), held)
}

export function removeHeld(tables: DirectoryTables, held: HeldRecord): void {
  tables.remove(heldKey(held.groupId, held.memberId), held.organizationId)
  tables.remove(heldListKey(held))
}
