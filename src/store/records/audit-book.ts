/** Where the rows of an audit are kept, in trails. A trail has a name, and its rows the order they came in. */
import type { MaybePromise } from '../../base/maybe-promise.js'

/** How much of each trail is kept: so many rows, and so long; the newest row stays, however old it is. */
export interface AuditRetention {
  readonly keptRows: number
  readonly keptMs: number
}

/** What a row has to say of itself. */
export interface AuditRow {
  /** UUID. */
  readonly id: string
  /** Unix milliseconds. */
  readonly at: number
}

export interface AuditBookOptions<Row extends AuditRow> extends AuditRetention {
  /** The name of the trail a row belongs to. */
  readonly trailOf: (row: Row) => string
}

export interface AuditBookPage<Row> {
  /** Newest first; frozen. */
  readonly rows: readonly Row[]
  /** Rows of the trail that are kept. */
  readonly total: number
}

export interface AuditBook<Row extends AuditRow> {
  /** Adds rows. For the inside of a change, which they belong to. */
  append(rows: readonly Row[]): void
  /** Adds rows as a change of its own; resolves when they are kept. In a fleet, what is added again is kept once. */
  appendAlone(rows: readonly Row[]): Promise<void>
  /** Rows of a trail after the newest `offset`. */
  page(trail: string, offset: number, limit: number): MaybePromise<AuditBookPage<Row>>
}
