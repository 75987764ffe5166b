import { noRoomFault } from '../disk-reserve.js'
import type { Database } from './database.js'

/** What is to become of an item: a new one (no id), other fields for one, or none (no head). */
type ItemChange =
  | { readonly id: null; readonly head: string; readonly texts: Buffer; readonly createdAt: string }
  | { readonly id: number; readonly head: string; readonly texts: Buffer; readonly createdAt: null }
  | { readonly id: number; readonly head: null }

/** The item of a change that was made. */
interface ChangedItem {
  readonly id: number
  /** As JSON has it. */
  readonly createdAt: string
}

interface QueuedChange {
  readonly change: ItemChange
  readonly resolve: (changed: ChangedItem | null) => void
  readonly reject: (error: unknown) => void
}

interface OutcomeRow {
  readonly item: number
  readonly made: string
  readonly outcome: 'done' | 'none' | 'full'
}

/** Of one statement; it holds the lock of all writers. */
const MOST_CHANGES = 512
const MOST_BYTES = 1024 * 1024

const CHANGE = `
  SELECT item, made, outcome FROM sluice.change_items(
    $1::bigint[], $2::integer[], $3::integer[], $4::text[], $5::bytea, $6::bigint, $7::bigint)`

/**
 * Group commit. Changes that come in one turn of the loop, or while a statement is under way, go together in the next
 * one, which is a transaction: its way, its lock and its flush to the disk are shared by all of them. As many wait as
 * calls are under way.
 */
export class ItemChanges {
  readonly #database: Database
  /** Null where nothing limits them. */
  readonly #mostBytes: number | null
  readonly #waiting: QueuedChange[] = []
  #running: Promise<void> | null = null

  /** `mostBytes`: of all items, as JSON. */
  constructor(database: Database, mostBytes: number) {
    this.#database = database
    this.#mostBytes = Number.isFinite(mostBytes) ? mostBytes : Number.MAX_SAFE_INTEGER
  }

  /** Resolves when it is durable, with null where there is no such item. Rejects with `unavailable` for want of room. */
  change(change: ItemChange): Promise<ChangedItem | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ change, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /** Makes new items at once when `after` is the last id; how many there was room for, 0 when it is not. */
  async createNext(after: number, changes: readonly ItemChange[]): Promise<number> {
    const rows = await this.#send(changes, after)
    const made = rows.filter(({ outcome }) => outcome === 'done').length
    if (made === 0 && rows.length > 0) throw noRoom()
    return made
  }

  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running
  }

  async #run(): Promise<void> {
    // Everything that arrives in this turn belongs to the same statement.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#commit(this.#nextBatch())
    this.#running = null
  }

  #nextBatch(): readonly QueuedChange[] {
    let bytes = 0
    let count = 0
    for (const { change } of this.#waiting) {
      bytes += change.head === null ? 0 : change.head.length + change.texts.length
      if (count > 0 && bytes > MOST_BYTES) break
      if (++count === MOST_CHANGES) break
    }
    return this.#waiting.splice(0, count)
  }

  async #commit(batch: readonly QueuedChange[]): Promise<void> {
    try {
      const rows = await this.#send(batch.map(({ change }) => change))
      for (const [at, { resolve, reject }] of batch.entries()) {
        const { item, made, outcome } = rows[at]!
        if (outcome === 'full') reject(noRoom())
        else resolve(outcome === 'none' ? null : { id: item, createdAt: made })
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  #send(changes: readonly ItemChange[], after: number | null = null): Promise<readonly OutcomeRow[]> {
    const pieces: Buffer[] = []
    const heads: (number | null)[] = []
    const texts: (number | null)[] = []
    for (const change of changes) {
      const head = change.head === null ? null : Buffer.from(change.head)
      heads.push(head?.length ?? null)
      texts.push(change.head === null ? null : change.texts.length)
      if (head !== null && change.head !== null) pieces.push(head, change.texts)
    }
    const ids = changes.map(({ id }) => id)
    const created = changes.map((change) => (change.head === null ? null : change.createdAt))
    // One value of bytes goes as it is; in an array each byte would be two digits.
    const content = Buffer.concat(pieces)
    return this.#database.query(CHANGE, [ids, heads, texts, created, content, this.#mostBytes, after])
  }
}

function noRoom(): Error {
  return noRoomFault('items have all the room they may have')
}
