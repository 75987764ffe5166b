/**
 * What goes with something that was removed: memberships of a group or of a person, people and groups of a connection.
 * There may be hundreds of thousands of them, so they go in transactions of bounded size. What was removed counts for
 * nothing from the first of these on, because all that is read asks for it; a record says what is still to be taken
 * away, and every later change of the directory goes on with it, in whatever process: after a crash nothing is left
 * over.
 */
import type { DirectoryGroup, Member } from '../directory-store.js'
import { edgesOf, groupIdsOf, heldOfGroup, removeEdge, removeHeld } from './directory-edges.js'
import { buryMember, removeGroupHead } from './directory-lists.js'
import { type DirectoryTables, keyOf } from './directory-tables.js'
import type { RoleStamps } from './role-stamps.js'

interface Removed {
  readonly id: string
  readonly organizationId: string
  readonly at: number
}

type Removal =
  | (Removed & { readonly kind: 'member'; readonly connectionId: string })
  | (Removed & { readonly kind: 'group'; readonly connectionId: string })
  | (Removed & { readonly kind: 'connection' })

/** Entries that one transaction takes away: some milliseconds, and far from what makes replicas load all anew. */
const AT_ONCE = 200
/** Those that a change takes away besides, which is about something else. */
const BESIDES = 20
/** Transactions that the caller waits for: what a directory of usual size has. */
const AWAITED = 20

export class DirectoryRemovals {
  readonly #tables: DirectoryTables
  readonly #stamps: RoleStamps
  /** Takes away what a person was given by itself. */
  readonly dropRoles: (memberId: string) => void

  constructor(tables: DirectoryTables, stamps: RoleStamps, dropRoles: (memberId: string) => void) {
    this.#tables = tables
    this.#stamps = stamps
    this.dropRoles = dropRoles
  }

  /** A change of the directory; what earlier ones have left goes with it, up to a bound. */
  change<T>(change: () => T): Promise<T> {
    return this.#stamps.change(() => {
      this.#goOn(BESIDES)
      return change()
    })
  }

  /** A change that removes something, and what goes with it. */
  async begin<T>(change: () => { readonly outcome: T; readonly removal: Removal | null }): Promise<T> {
    const { outcome, isDone } = await this.change(() => {
      const { outcome, removal } = change()
      if (removal === null) return { outcome, isDone: true }
      this.#tables.put(keyOf('z', removal.id)!, removal)
      return { outcome, isDone: this.#goOn(AT_ONCE) }
    })
    // It is removed already: what cannot be taken away now goes with a later change.
    if (isDone) return outcome
    // Other changes come in between, and what is left after these goes while nobody waits.
    if (!(await this.#takeMore(AWAITED))) void this.#takeMore(Number.POSITIVE_INFINITY)
    return outcome
  }

  /** So many transactions at most; true when nothing is left, or the store takes no more. */
  async #takeMore(transactions: number): Promise<boolean> {
    try {
      for (let n = 0; n < transactions; n++)
        if (await this.#stamps.change(() => this.#goOn(AT_ONCE))) return true
      return false
    } catch {
      return true
    }
  }

  /** Goes on with what is to be taken away; true when nothing is left. */
  #goOn(most: number): boolean {
    for (let room = most; room > 0; ) {
      const [removal] = this.#tables.list<Removal>('z', { limit: 1 })
      if (removal === undefined) return true
      const taken = this.#step(removal, room)
      if (taken < room) this.#tables.remove(keyOf('z', removal.id)!)
      room -= Math.max(1, taken)
    }
    return this.#tables.list('z', { limit: 1 }).length === 0
  }

  /** How many entries it has taken away; fewer than there was room for when there are no more. */
  #step(removal: Removal, room: number): number {
    if (removal.kind === 'member') return this.#leaveGroups(removal, room)
    return removal.kind === 'group' ? this.#emptyGroup(removal, room) : this.#emptyConnection(removal, room)
  }

  #leaveGroups({ id, connectionId, organizationId, at }: Removal & { kind: 'member' }, room: number): number {
    const tables = this.#tables
    const groups = groupIdsOf(tables, connectionId, id, { limit: room })
    for (const groupId of groups) {
      removeEdge(tables, { id: groupId, connectionId, organizationId }, id)
      const group = tables.get<DirectoryGroup>(keyOf('g', groupId))
      if (group === null) continue
      const { version, memberCount } = group
      const left = { version: version + 1, memberCount: memberCount - 1, updatedAt: at }
      tables.put(keyOf('g', groupId)!, { ...group, ...left }, organizationId)
    }
    return groups.length
  }

  #emptyGroup(group: Removal & { kind: 'group' }, room: number): number {
    const tables = this.#tables
    const edges = edgesOf(tables, group, { limit: room })
    for (const [memberId] of edges) removeEdge(tables, group, memberId)
    const held = heldOfGroup(tables, group.id, { limit: room - edges.length })
    for (const removal of held) removeHeld(tables, removal)
    return edges.length + held.length
  }

  /** Groups first, each with a removal of its own; then people. */
  #emptyConnection({ id, organizationId, at }: Removal & { kind: 'connection' }, room: number): number {
    const tables = this.#tables
    const groups = tables.texts(keyOf('G', id), { limit: room })
    for (const groupId of groups) {
      const group = tables.get<DirectoryGroup>(keyOf('g', groupId))!
      removeGroupHead(tables, group)
      const rest = { kind: 'group', id: groupId, connectionId: id, organizationId, at } satisfies Removal
      tables.put(keyOf('z', groupId)!, rest)
    }
    if (groups.length === room) return room
    const members = tables.texts(keyOf('l', id), { limit: room - groups.length })
    for (const memberId of members) {
      buryMember(tables, tables.get<Member>(keyOf('m', memberId))!, at)
      this.dropRoles(memberId)
    }
    if (groups.length + members.length < room) for (const kind of ['q', 'v']) tables.remove(keyOf(kind, id)!)
    return groups.length + members.length
  }
}
