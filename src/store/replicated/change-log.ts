/**
 * The port of the change log: managed records as the machines of a fleet share them. Versions count changes without
 * gaps; each change has an id besides, so that the same number in another history (a database that was restored, or is
 * another one) is not taken for the same records.
 */
import type { ReplicaPosition } from '../membership.js'
import type { AuditBookPage, AuditRetention } from '../records/audit-book.js'

export function isSamePosition(a: ReplicaPosition | null, b: ReplicaPosition | null): boolean {
  return a?.version === b?.version && a?.change === b?.change
}

/** What became of a key. */
export interface RecordEntry {
  /** Name of a table. */
  readonly space: string
  readonly key: Buffer
  /** Null when it was removed. */
  readonly value: Buffer | null
}

/** A row of an audit. */
export interface AuditEntry {
  readonly book: string
  readonly trail: string
  /** Unix milliseconds. */
  readonly at: number
  /** JSON. */
  readonly row: Buffer
}

/** What leads from one version to another, over all in between. */
export interface RecordDelta {
  readonly to: ReplicaPosition
  readonly entries: readonly RecordEntry[]
}

/** What a change writes. */
export interface RecordChange {
  /** UUID; of changes that have the same one, one is kept. */
  readonly id: string
  readonly entries: readonly RecordEntry[]
  readonly audit: readonly AuditEntry[]
}

/** The log while its head is held: nobody else changes anything meanwhile. */
export interface HeldLog {
  readonly head: ReplicaPosition
  /** As `ChangeLog.since`. */
  since(from: ReplicaPosition): Promise<RecordDelta | null>
  /** Writes a change on the head. False, with nothing written, when it is kept already. */
  write(change: RecordChange): Promise<boolean>
}

/**
 * All reject with `unavailable` when the store is away; whether a change that was sent is kept is then not known, until
 * `find` says so or another change stands on the version it was made for.
 */
export interface ChangeLog {
  /** Null when `from` is of another history, or so old or so far away that loading all is the way. */
  since(from: ReplicaPosition): Promise<RecordDelta | null>
  /** Writes a change that was made on `from`. False, with nothing written, when the head is elsewhere or held. */
  write(change: RecordChange, from: ReplicaPosition): Promise<boolean>
  /** Runs `work` while it holds the head, and keeps what it has written. `work` may run several times. */
  hold<T>(work: (log: HeldLog) => Promise<T>): Promise<T>
  /** The version of the change with this id; null when there is none. */
  find(id: string): Promise<number | null>
  /** Hands over all records of one moment, in pieces; resolves with their version. */
  load(take: (entries: readonly RecordEntry[]) => Promise<void>): Promise<ReplicaPosition>
  /** Adds rows that belong to no change. Those of a batch that was added already are not added again. */
  appendAudit(batch: string, rows: readonly AuditEntry[]): Promise<void>
  /** Rows of a trail after the newest `offset`, as JSON, newest first. */
  auditPage(
    book: string,
    trail: string,
    offset: number,
    limit: number,
    retention: AuditRetention,
  ): Promise<AuditBookPage<Buffer>>
}
