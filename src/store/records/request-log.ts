/** The request log of connections, and how often each leniency was used; rows are written some at a time. */
import { type Clock, systemClock } from '../../base/clock.js'
import type { MaybePromise } from '../../base/maybe-promise.js'
import type { DirectoryPage, DirectoryRequest } from '../directory-store.js'
import type { AuditBook, AuditBookOptions } from './audit-book.js'
import { type DirectoryTables, keyOf } from './directory-tables.js'

/** A trail for each connection. */
export const DIRECTORY_REQUESTS: AuditBookOptions<DirectoryRequest> = {
  trailOf: ({ connectionId }) => connectionId,
  keptRows: 1_000,
  keptMs: Number.POSITIVE_INFINITY,
}

/** How long a row may wait for others. */
const GATHER_MS = 1_000
/** How exactly it is known when a token was used last. */
const USE_GRAIN_MS = 60_000
/** Rows that wait while the store does not take them; beyond it the oldest are lost. */
const MOST_WAITING = 5_000

type Counts = Record<string, number>

export class RequestLog {
  readonly #tables: DirectoryTables
  readonly #book: AuditBook<DirectoryRequest>
  readonly #clock: Pick<Clock, 'runAfter'>
  #waiting: DirectoryRequest[] = []
  #callOff: (() => void) | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor(
    tables: DirectoryTables,
    book: AuditBook<DirectoryRequest>,
    clock: Pick<Clock, 'runAfter'> = systemClock,
  ) {
    this.#tables = tables
    this.#book = book
    this.#clock = clock
  }

  append(row: DirectoryRequest): void {
    if (this.#waiting.length >= MOST_WAITING) this.#waiting.shift()
    this.#waiting.push(row)
    this.#callOff ??= this.#clock.runAfter(GATHER_MS, () => void this.flush())
  }

  /** Of all that this process was told, and what others have written. */
  page(connectionId: string, offset: number, limit: number): MaybePromise<DirectoryPage<DirectoryRequest>> {
    return this.flush().then(async () => {
      const { rows, total } = await this.#book.page(connectionId, offset, limit)
      return { entries: rows, total }
    })
  }

  /** Resolves when what waits was written, or is lost: nobody is told. */
  flush(): Promise<void> {
    this.#callOff?.()
    this.#callOff = null
    const rows = this.#waiting
    this.#waiting = []
    if (rows.length > 0) this.#writing = this.#writing.then(() => this.#write(rows)).catch(() => {})
    return this.#writing
  }

  /** Rows alone are a cheap write; what is counted is a change of records, which in a fleet all machines hear of. */
  async #write(rows: readonly DirectoryRequest[]): Promise<void> {
    const { space } = this.#tables
    const isCounted = space.inSnapshot(() => this.#newCounts(rows).size > 0)
    if (!isCounted) return this.#book.appendAlone(rows)
    await space.writeDurably(() => {
      this.#book.append(rows)
      for (const [key, counts] of this.#newCounts(rows)) this.#tables.put(key, counts)
    })
  }

  /** What the records of counts become, by key. */
  #newCounts(rows: readonly DirectoryRequest[]): Map<string, Counts> {
    const changed = new Map<string, Counts>()
    const read = (key: string): Counts => changed.get(key) ?? { ...this.#tables.get<Counts>(key) }
    for (const { connectionId, tokenId, quirks, at } of rows) {
      if (!this.#tables.hasConnection(connectionId)) continue
      const [used, lenient] = [keyOf('v', connectionId)!, keyOf('q', connectionId)!]
      const uses = read(used)
      if (at >= (uses[tokenId] ?? 0) + USE_GRAIN_MS) changed.set(used, { ...uses, [tokenId]: at })
      if (quirks.length === 0) continue
      const counts = read(lenient)
      for (const name of quirks) counts[name] = (counts[name] ?? 0) + 1
      changed.set(lenient, counts)
    }
    return changed
  }
}
