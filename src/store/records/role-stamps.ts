/**
 * What tells whether the facts that roles follow from are still those of before: for each organization random bytes, new
 * with every transaction that changes such a fact, and written in it. They come to other machines with the facts, and two
 * states of an organization never share them, whatever is loaded anew or brought back: so an answer that was found may
 * serve again while they are the same. One for each organization, so that what one organization changes costs no other.
 *
 *     scim-stamps   organization   ->  16 random bytes
 *
 * Transfers go by the names of tables: this one comes behind those of the facts, so that it never tells of facts which
 * are still to come.
 */
import { randomBytes } from 'node:crypto'
import type { ByteTable, RecordSpace } from './record-space.js'

const STAMP_BYTES = 16

/** What an organization had when an answer was found. */
export interface RoleStamp {
  readonly key: Buffer
  readonly bytes: Buffer
}

export class RoleStamps {
  readonly #space: RecordSpace
  readonly #table: ByteTable
  /** Organizations that the change under way has stamped; null outside of changes. */
  #stamped: Set<string> | null = null

  constructor(space: RecordSpace) {
    this.#space = space
    this.#table = space.byteTable('scim-stamps')
  }

  /** A change of the space that may change facts of roles. */
  change<T>(change: () => T): Promise<T> {
    return this.#space.writeDurably(() => {
      this.#stamped = new Set()
      try {
        return change()
      } finally {
        this.#stamped = null
      }
    })
  }

  /** Before a fact of an organization is written; fails outside of `change`. */
  renew(organizationId: string): void {
    if (this.#stamped === null) throw new Error('facts of roles are written inside a change of them only')
    if (this.#stamped.has(organizationId)) return
    this.#stamped.add(organizationId)
    this.#table.put(Buffer.from(organizationId), randomBytes(STAMP_BYTES))
  }

  /** Null where no fact was written yet. For the inside of snapshots. */
  stampOf(organizationId: string): RoleStamp | null {
    const key = Buffer.from(organizationId)
    const bytes = this.#space.get(this.#table, key)
    return bytes === undefined ? null : { key, bytes: Buffer.from(bytes) }
  }

  /** Whether an organization has it still, by a read of its own. */
  isCurrent({ key, bytes }: RoleStamp): boolean {
    const raw = this.#space.getUnbounded(this.#table, key)
    const isSame = raw !== undefined && bytes.compare(raw, 0, STAMP_BYTES) === 0
    this.#space.releaseSnapshot()
    return isSame
  }
}
