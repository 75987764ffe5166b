/** Rows about exchanges, gathered and written together: a transaction for each would cost more than the exchange. */
import type { Clock } from '../base/clock.js'
import type { AuditRow, FederationStore } from '../store/federation-store.js'

const GATHERED_MS = 50
const MOST_GATHERED = 500
/** Rows that wait while the store takes none; beyond it they are counted and lost. */
const MOST_WAITING = 20_000

export interface AuditTrailOptions {
  readonly store: Pick<FederationStore, 'appendAudit'>
  readonly clock: Clock
  /** Told when rows could not be kept; once per attempt to write. */
  readonly lost: (rows: number, cause: unknown) => void
}

/** A crash loses the rows of the last twentieth of a second; a `close` loses none. */
export class AuditTrail {
  private gathered: AuditRow[] = []
  private cancel: (() => void) | null = null
  private writing: Promise<void> = Promise.resolve()
  private waiting = 0

  constructor(private readonly options: AuditTrailOptions) {}

  /** Takes a row; it can be read a moment later. */
  append(row: AuditRow): void {
    if (this.waiting >= MOST_WAITING) {
      this.options.lost(1, 'the store does not keep up')
      return
    }
    this.waiting++
    this.gathered.push(row)
    if (this.gathered.length >= MOST_GATHERED) void this.flush()
    else this.cancel ??= this.options.clock.after(GATHERED_MS, () => void this.flush())
  }

  /** Resolves when every row that was taken is on disk, or lost and told so. */
  flush(): Promise<void> {
    this.cancel?.()
    this.cancel = null
    const rows = this.gathered
    if (rows.length === 0) return this.writing
    this.gathered = []
    const written = this.options.store
      .appendAudit(rows)
      .catch((cause) => this.options.lost(rows.length, cause))
    this.writing = Promise.all([this.writing, written]).then(() => {
      this.waiting -= rows.length
    })
    return this.writing
  }

  close(): Promise<void> {
    return this.flush()
  }
}
