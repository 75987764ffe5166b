/** The managed records of a fleet: read from this machine's replica, changed in the store that all machines share. */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { ReplicaPosition } from '../membership.js'
import type { AuditBook, AuditBookOptions, AuditRow } from '../records/audit-book.js'
import type { RecordSpace, ValuePage } from '../records/record-space.js'
import { decodeRecord, encodeRecord } from '../records/record-table.js'
import type { RevocationBarrier } from '../revocation-barrier.js'
import { type AuditEntry, type ChangeLog, isSamePosition } from './change-log.js'
import { type Attempt, ChangeWriter, type Outcome } from './change-writer.js'
import { mergeByKey, Overlay } from './overlay.js'
import { Replica, type ReplicaTable } from './replica.js'

/** Deltas one after the other while others keep changing records; each brings the replica nearer. */
const MOST_DELTAS = 100

interface ReplicatedRecordsOptions {
  /** Of this machine's replica; created when absent. */
  readonly folder: string
  readonly log: ChangeLog
  readonly barrier: Pick<RevocationBarrier, 'pass'>
  readonly clock: Clock
}

export class ReplicatedRecords implements RecordSpace<ReplicaTable> {
  readonly #replica: Replica
  readonly #log: ChangeLog
  readonly #writer: ChangeWriter
  /** Of the change that runs. */
  #overlay: Overlay | null = null

  constructor({ folder, log, barrier, clock }: ReplicatedRecordsOptions) {
    this.#replica = new Replica(folder, clock)
    this.#log = log
    this.#writer = new ChangeWriter({
      ...{ replica: this.#replica, log, barrier, clock },
      run: (changes) => this.#runTogether(changes),
      catchUp: () => this.catchUp(),
    })
  }

  byteTable(name: string): ReplicaTable {
    return this.#replica.table(name, (table, key, value) => this.#inChange().put(table, key, value))
  }

  /** An audit whose rows are kept in the shared store alone; those of changes in the transaction of the change. */
  auditBook<Row extends AuditRow>(book: string, options: AuditBookOptions<Row>): AuditBook<Row> {
    const entryOf = (row: Row): AuditEntry => {
      return { book, trail: options.trailOf(row), at: row.at, row: encodeRecord(row) }
    }
    return {
      append: (rows) => this.#inChange().audit(rows.map(entryOf)),
      appendAlone: async (rows) => {
        const [first] = rows
        if (first === undefined) return
        // The same rows have the same batch: they may be sent again by a caller who does not know what has become of them.
        await this.#writer.persist(() => this.#log.appendAudit(first.id, rows.map(entryOf)))
      },
      page: async (trail, offset, limit) => {
        const { rows, total } = await this.#log.auditPage(book, trail, offset, limit, options)
        return { rows: rows.map((row) => decodeRecord<Row>(row)), total }
      },
    }
  }

  get(table: ReplicaTable, key: Uint8Array): Uint8Array | undefined {
    const written = this.#overlay?.get(table, key)
    return written === undefined ? this.#replica.get(table, key) : (written ?? undefined)
  }

  getUnbounded(table: ReplicaTable, key: Uint8Array): Buffer | undefined {
    const written = this.#overlay?.get(table, key)
    return written === undefined ? this.#replica.getUnbounded(table, key) : (written ?? undefined)
  }

  valuesWithPrefix(table: ReplicaTable, prefix: Uint8Array): Buffer[] {
    const written = this.#overlay?.withPrefix(table, prefix)
    if (written === undefined || written.size === 0) return this.#replica.valuesWithPrefix(table, prefix)
    return mergeByKey(this.#replica.entriesWithPrefix(table, prefix), written)
  }

  valuesOfPage(table: ReplicaTable, prefix: Uint8Array, page: ValuePage): Buffer[] {
    const written = this.#overlay?.withPrefix(table, prefix, page.from)
    if (written === undefined || written.size === 0) return this.#replica.valuesOfPage(table, prefix, page)
    const { offset, limit } = page
    // Each that was removed makes room for one behind it.
    const most = { ...page, limit: offset + limit + written.size }
    const below = this.#replica.entriesWithPrefix(table, prefix, most)
    return mergeByKey(below, written).slice(offset, offset + limit)
  }

  releaseSnapshot(): void {
    // A change sees one snapshot from its begin to its end.
    if (this.#overlay === null) this.#replica.releaseSnapshot()
  }

  inSnapshot<T>(read: () => T): T {
    return this.#overlay === null ? this.#replica.inSnapshot(read) : read()
  }

  writeDurably<T>(change: () => T): Promise<T> {
    return this.#writer.write(change)
  }

  /** What the replica has; null before it was loaded: then nothing must be served. */
  position(): ReplicaPosition | null {
    return this.#replica.position()
  }

  /**
   * Brings the replica to the newest version there was when it was called, or a later one, and resolves with its number.
   * Loads everything anew where the log does not reach back, or is that of another history. Any process of the machine
   * may call it at any time. Rejects with `unavailable` when the store is away, or the disk does not take it.
   */
  async catchUp(): Promise<number> {
    for (let deltas = 0; deltas < MOST_DELTAS; deltas++) {
      const from = this.#replica.position()
      const delta = from === null ? null : await this.#log.since(from)
      if (from === null || delta === null) {
        await this.#replica.reload(from, (take) => this.#log.load(take))
        continue
      }
      if (isSamePosition(delta.to, from)) return from.version
      // Otherwise another process of this machine has applied one meanwhile, up to here or not.
      if (await this.#replica.apply(from, delta)) return delta.to.version
    }
    throw new Fault('unavailable', { retryAfter: 1, detail: 'the replica does not reach the newest version' })
  }

  get isWriting(): boolean {
    return this.#replica.isWriting
  }

  /** Waits for changes under way, then releases the files. */
  async close(): Promise<void> {
    await this.#writer.idle()
    await this.#replica.close()
  }

  #inChange(): Overlay {
    if (this.#overlay === null) throw new Error('records are written inside a change only')
    return this.#overlay
  }

  /** Runs changes one on the other, in one snapshot; null when there is nothing to run them on. */
  #runTogether(changes: readonly (() => unknown)[]): Attempt | null {
    return this.#replica.inSnapshot(() => {
      const from = this.#replica.positionInSnapshot()
      if (from === null) return null
      const overlay = new Overlay()
      this.#overlay = overlay
      try {
        const outcomes = changes.map((change) => runAsLayer(overlay, change))
        const entries = overlay.entries((table, key) => this.#replica.get(table, key))
        return { from, outcomes, entries, audit: overlay.auditRows }
      } finally {
        this.#overlay = null
      }
    })
  }
}

/** What a change throws is its own: others of its group are kept. */
function runAsLayer(overlay: Overlay, run: () => unknown): Outcome {
  try {
    const result = run()
    overlay.keepLayer()
    return { result }
  } catch (error) {
    overlay.dropLayer()
    return { error }
  }
}
