import type { Clock } from '../../base/clock.js'
import type { Database } from './database.js'

/** Contents that nobody has touched for so long belong to nobody: uploads that died, and files that were deleted. */
const STALE = `'1 hour'::interval`
/** Of a statement: 16 MiB, far within its deadline. */
const PIECES = 64
const FILES = 20
/** A start waits for one of them; what is left then is swept behind it. */
const LONGEST_SWEEP_MS = 5_000

const FIND_STALE = `
  SELECT id, deleted_at IS NULL AS unfinished FROM sluice.files
  WHERE record IS NULL AND coalesce(deleted_at, touched_at) < now() - ${STALE} LIMIT ${FILES}`
/** Of several that find it one gives it up. */
const GIVE_UP = `
  UPDATE sluice.files SET deleted_at = '-infinity'
  WHERE id = $1 AND record IS NULL AND deleted_at IS NULL AND touched_at < now() - ${STALE} RETURNING id`
const DISCARD = `UPDATE sluice.files SET deleted_at = '-infinity' WHERE id = $1 AND record IS NULL`
const REMOVE_PIECES = `
  DELETE FROM sluice.file_pieces WHERE file = $1 AND number IN (
    SELECT number FROM sluice.file_pieces WHERE file = $1 ORDER BY number LIMIT ${PIECES}
  ) RETURNING number`
const REMOVE_FILE = `DELETE FROM sluice.files WHERE id = $1 AND record IS NULL AND deleted_at < now() - ${STALE}`

/**
 * Removes contents that have no record: those of uploads that died, by their age, and those of files that were deleted,
 * when nobody can be reading them any more. A few pieces in each statement, so that none is late. A content is marked
 * before: from then on no piece is added, so none can be left over. Machines may do the same at the same time.
 */
export class FileSweeper {
  readonly #database: Database
  readonly #clock: Clock
  readonly #periodMs: number
  #cancel: () => void = () => {}
  #running: Promise<unknown> = Promise.resolve()
  #isClosed = false

  /** `periodMs`: between two sweeps of its own, more or less; 0: none. */
  constructor(database: Database, clock: Clock, periodMs: number) {
    this.#database = database
    this.#clock = clock
    this.#periodMs = periodMs
    this.#schedule()
  }

  /** Resolves with how many unfinished uploads were removed. */
  sweep(): Promise<number> {
    const swept = this.#running.then(() => this.#sweepAll())
    this.#running = swept.catch(() => {})
    return swept
  }

  /** Sweeps in the background; a failure waits for the next time. */
  soon(): void {
    if (!this.#isClosed) this.sweep().catch(() => {})
  }

  /** Removes a content that is not to become a file, whatever has become of it. */
  async discard(id: string): Promise<void> {
    await this.#database.query('SELECT sluice.remove_file($1, $2)', [id, Number.MAX_SAFE_INTEGER])
    await this.#database.query(DISCARD, [id])
    await this.#remove(id)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    await this.#running
  }

  #schedule(): void {
    if (this.#isClosed || this.#periodMs === 0) return
    this.#cancel = this.#clock.runAfter(this.#periodMs * (0.5 + Math.random()), () => {
      this.soon()
      this.#schedule()
    })
  }

  async #sweepAll(): Promise<number> {
    let removed = 0
    const until = this.#clock.monotonicMs() + LONGEST_SWEEP_MS
    for (;;) {
      if (this.#isClosed) return removed
      if (this.#clock.monotonicMs() >= until) {
        this.soon()
        return removed
      }
      const stale = await this.#database.query<{ id: string; unfinished: boolean }>(FIND_STALE)
      for (const { id, unfinished } of stale) {
        if (unfinished && (await this.#database.query(GIVE_UP, [id])).length === 0) continue
        await this.#remove(id)
        if (unfinished) removed++
      }
      if (stale.length < FILES) return removed
    }
  }

  async #remove(id: string): Promise<void> {
    let removed = PIECES
    while (removed === PIECES) removed = (await this.#database.query(REMOVE_PIECES, [id])).length
    await this.#database.query(REMOVE_FILE, [id])
  }
}
