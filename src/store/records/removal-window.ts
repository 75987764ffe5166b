/** How many members were taken out of a group within an hour, and whether a further one is held (contract/directory 6). */
import type { DirectoryConnection, DirectoryGroup } from '../directory-store.js'
import { type DirectoryTables, keyOf } from './directory-tables.js'

const WINDOW_MS = 60 * 60 * 1000
/** Removals of the same minute count as of the last of them, so that an hour has few entries. */
const GRAIN_MS = 60 * 1000

interface KeptWindow {
  /** Most members that the group has had within the window. */
  readonly members: number
  readonly removals: readonly (readonly [at: number, count: number])[]
}

/** Of one change. */
export class RemovalWindow {
  readonly #tables: DirectoryTables
  readonly #key: string
  readonly #at: number
  readonly #members: number
  readonly #removals: (readonly [at: number, count: number])[]
  readonly #most: number
  #sum = 0
  #now = 0

  /** @param group as it is before the change */
  constructor(
    tables: DirectoryTables,
    { heldShare, heldFrom }: DirectoryConnection,
    { id, memberCount }: DirectoryGroup,
    at: number,
  ) {
    this.#tables = tables
    this.#key = keyOf('w', id)!
    this.#at = at
    const kept = tables.get<KeptWindow>(this.#key)
    this.#removals = (kept?.removals ?? []).filter(([time]) => time + WINDOW_MS > at)
    this.#members = this.#removals.length === 0 ? memberCount : Math.max(kept!.members, memberCount)
    this.#most = Math.max(heldFrom, heldShare * this.#members)
    for (const [, count] of this.#removals) this.#sum += count
  }

  /** Counts a removal; true when it is more than go within an hour. */
  isBeyond(): boolean {
    this.#now++
    return ++this.#sum > this.#most
  }

  keep(): void {
    if (this.#now === 0) return
    const last = this.#removals.at(-1)
    const minuteOf = (time: number): number => Math.floor(time / GRAIN_MS)
    let count = this.#now
    if (last !== undefined && minuteOf(last[0]) === minuteOf(this.#at)) count += this.#removals.pop()![1]
    this.#removals.push([this.#at, count])
    this.#tables.put(this.#key, { members: this.#members, removals: this.#removals } satisfies KeptWindow)
  }
}
