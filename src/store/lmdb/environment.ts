/**
 * The LMDB environment of a process and the one reading transaction all reads share.
 * lmdb is imported in this folder only.
 */
import * as lmdb from 'lmdb'
import { open, type RootDatabase, type Transaction } from 'lmdb'
import { Fault } from '../../base/fault.js'
import type { RecordSpace, ValuePage } from '../records/record-space.js'
import { findClosedDatabaseFile, makeLockFileForOwner } from './database-files.js'
import { beginsWith, endOfPrefix } from './key-prefix.js'
import { LastTransaction } from './last-transaction.js'
import type { KeyRange, LmdbByteTable, LmdbTable, TableEntry } from './table.js'

/**
 * lmdb-js keeps a snapshot open until a timer fires, a millisecond or more later. A change that another process
 * has acknowledged meanwhile would stay unseen, which the contract forbids. So reads use a transaction of our
 * own and give its snapshot back after every read; the next read renews it. The native call for that is exported
 * but not typed. Measured: 0.13 µs; going through `resetReadTxn` costs a timer per read, 0.5 µs.
 */
const { resetTxn } = (lmdb as unknown as { nativeAddon: { resetTxn(address: number): void } }).nativeAddon

/** The native code takes the rest of a division by 2³²: beyond it, a list would begin anew. */
const MOST_SKIPPED = 2 ** 31 - 1

const IN_WRITE_TRANSACTION = Object.freeze({})
/** The outcome of a transaction that has changed nothing because it began before the last commit. */
const TOO_EARLY = Symbol('too early')
/** One is the rule; each further one needs another process that opens the environment at that moment. */
const MOST_TRIES = 1_000
const NEVER_TIMELY = `the store's transactions began before the last commit ${MOST_TRIES} times in a row`
const WITHOUT_WAITING_FOR_DISK =
  lmdb.TransactionFlags.SYNCHRONOUS_COMMIT | lmdb.TransactionFlags.NO_SYNC_FLUSH

export class LmdbEnvironment implements RecordSpace<LmdbByteTable> {
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #root: RootDatabase
  readonly #last: LastTransaction
  #reading: { readonly transaction: Transaction } | null = null
  #changing = false
  #isClosed = false

  /** Opens the folder, which is created when absent. Throws a sentence where this user may not use its files. */
  constructor(path: string) {
    const closed = findClosedDatabaseFile(path)
    if (closed !== null) throw new Error(`${closed.found}: ${closed.remedy}`)
    makeLockFileForOwner(path)
    this.#root = open({
      path,
      encoding: 'binary',
      maxDbs: 64,
      // Otherwise a folder with a dot in its name is taken for a file.
      noSubdir: false,
      // The writer gathers what arrives in a turn itself. On top of it lmdb-js would keep promises no code can
      // reach, whose rejection, when a commit fails, ends the process.
      eventTurnBatching: false,
    })
    this.#last = new LastTransaction(path)
    // Opening may have set the number of the last transaction back, which readers would notice.
    this.#inTimelySyncTransaction(() => {})
  }

  /** Opens a table under 32-bit numbers, which is created when absent. Only before anything is read. */
  table(name: string): LmdbTable {
    return this.#openTable(name, 'uint32')
  }

  /** As `table`, under bytes. */
  byteTable(name: string): LmdbByteTable {
    return this.#openTable(name, 'binary')
  }

  /**
   * The stored bytes, or undefined. They are borrowed: the next read overwrites them, and their underlying
   * buffer is larger than they are, so only this exact view may be handed on.
   * Inside `write` it sees that transaction's own changes.
   */
  get<K>(table: LmdbTable<K>, key: K): Uint8Array | undefined {
    const bytes = table.getBinaryFast(key, this.#reads())
    return bytes === undefined ? undefined : bytes.subarray(0, bytes.length)
  }

  /**
   * As `get`, without the cost of an exact view: bytes beyond the value belong to something else. For formats
   * that know their own extent.
   */
  getUnbounded<K>(table: LmdbTable<K>, key: K): Buffer | undefined {
    return table.getBinaryFast(key, this.#reads())
  }

  /**
   * Copies of all values whose key begins with `prefix`, in the order of their keys; an empty prefix means all.
   * Inside `write` it sees that transaction's own changes.
   */
  valuesWithPrefix(table: LmdbByteTable, prefix: Uint8Array): Buffer[] {
    const found: Buffer[] = []
    for (const { value } of this.entriesWithPrefix(table, prefix)) found.push(value)
    return found
  }

  /** As `valuesWithPrefix`, a page of them. */
  valuesOfPage(table: LmdbByteTable, prefix: Uint8Array, { offset, limit, from }: ValuePage): Buffer[] {
    const end = endOfPrefix(prefix)
    const start = from ?? prefix
    const range = {
      ...(start.length > 0 && { start }),
      ...(end && { end }),
      ...{ offset: Math.min(offset, MOST_SKIPPED), limit },
      ...this.#reads(),
    }
    return limit === 0 ? [] : Array.from(table.getRange(range), ({ value }) => value)
  }

  /** As `valuesWithPrefix`, one by one with their keys, from one of them on if it is named. To be gone through at once. */
  *entriesWithPrefix(
    table: LmdbByteTable,
    prefix: Uint8Array,
    start: Uint8Array = prefix,
  ): Iterable<{ readonly key: Uint8Array; readonly value: Buffer }> {
    for (const entry of table.getRange({ ...(start.length > 0 && { start }), ...this.#reads() })) {
      if (!beginsWith(entry.key, prefix)) break
      yield entry
    }
  }

  /** Copies of the next entries of a table, behind a key or from the first on. Not for the inside of `write`. */
  entriesAfter(table: LmdbByteTable, last: Uint8Array | null, limit: number): TableEntry[] {
    const found: TableEntry[] = []
    const start = last === null ? {} : { start: last }
    for (const { key, value } of table.getRange({ ...start, limit: limit + 1, ...this.#reads() })) {
      const isLast = last !== null && Buffer.compare(key, last) === 0
      if (!isLast && found.length < limit) found.push({ key: Buffer.from(key), value })
    }
    return found
  }

  /** Copies of the values in a range of keys, in its direction. Not for the inside of `write`. */
  valuesInRange(table: LmdbByteTable, { start, end, limit }: KeyRange): Buffer[] {
    const reverse = Buffer.compare(start, end) > 0
    const found: Buffer[] = []
    // One more than asked for: the one at `start` does not count.
    for (const { key, value } of table.getRange({
      start,
      end,
      reverse,
      limit: limit + 1,
      ...this.#reads(),
    })) {
      if (Buffer.compare(key, start) !== 0 && found.length < limit) found.push(value)
    }
    return found
  }

  /** As `valuesInRange`, with their keys, one by one; `start` comes behind `end`. */
  entriesBackwards(
    table: LmdbByteTable,
    range: Omit<KeyRange, 'limit'>,
  ): ReturnType<LmdbByteTable['getRange']> {
    return table.getRange({ ...range, reverse: true, ...this.#reads() })
  }

  /** Copies of all keys and values of a table, in the order of the keys; each batch has a snapshot of its own. */
  *entriesInBatches(table: LmdbByteTable, size: number): Generator<TableEntry[]> {
    let last: Buffer | null = null
    for (;;) {
      const entries = this.entriesAfter(table, last, size)
      this.releaseSnapshot()
      if (entries.length === 0) return
      last = entries.at(-1)!.key
      yield entries
    }
  }

  /** Gives the snapshot back. Every read or group of reads outside `write` ends with it. */
  releaseSnapshot(): void {
    if (this.#reading !== null)
      resetTxn((this.#reading.transaction as unknown as { address: number }).address)
  }

  /** Runs reads that see the same snapshot, and gives it back. */
  inSnapshot<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.releaseSnapshot()
    }
  }

  /**
   * Runs `change` inside a write transaction, alone among all processes. `committed` resolves when every process
   * sees the change and the next transaction may begin, `durable` with what `change` returned when the disk has
   * it. Both fail with `unavailable` when the store cannot take it (disk full or store closed, say).
   */
  write<T>(change: () => T): { readonly committed: Promise<T>; readonly durable: Promise<T> } {
    const attempt = this.#attempt(change)
    const committed = attempt.then(({ result }) => result)
    const durable = attempt.then(({ result, flushed }) => flushed.then(() => result))
    this.#underWay.add(durable)
    durable.catch(() => {}).finally(() => this.#underWay.delete(durable))
    const outcomes = {
      committed: committed.catch(failWithStoreFault),
      durable: durable.catch(failWithStoreFault),
    }
    // Callers hear of a failure through the one they wait for; the other needs no owner.
    for (const outcome of Object.values(outcomes)) outcome.catch(() => {})
    return outcomes
  }

  /** As `write`, for callers who wait for the disk alone. */
  writeDurably<T>(change: () => T): Promise<T> {
    return this.write(change).durable
  }

  /**
   * Whether a transaction is under way. Its native thread then waits for JavaScript, and `process.exit` waits for
   * native threads: a process that exits in this state never ends, with the write lock of all processes in its hand.
   */
  get isWriting(): boolean {
    return this.#underWay.size > 0
  }

  /** Resolves when no transaction is under way any more. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** With which transaction to read: a change reads what it has written itself, which one that is named would not. */
  #reads(): { readonly transaction?: Transaction } {
    if (this.#changing) return IN_WRITE_TRANSACTION
    this.#reading ??= this.#beginReading()
    return this.#reading
  }

  #beginReading(): { readonly transaction: Transaction } {
    // lmdb-js would go on with a transaction that is over, in memory that is not its own any more.
    if (this.#isClosed) throw new Fault('unavailable', { detail: 'the store is closed' })
    return { transaction: this.#root.useReadTransaction() }
  }

  #openTable<K>(name: string, keyEncoding: 'uint32' | 'binary'): LmdbTable<K> {
    // lmdb-js ends a read transaction of the environment when it opens a table inside a write transaction.
    if (this.#reading !== null) throw new Error(`the table ${name} is opened after the first read`)
    const options = { name, encoding: 'binary', keyEncoding } as const
    return this.#inTimelySyncTransaction(
      () => this.#root.openDB<Uint8Array, number>(options) as unknown as LmdbTable<K>,
    )
  }

  /** Commits the change, in a second transaction when the first began too early: see `LastTransaction`. */
  async #attempt<T>(change: () => T): Promise<{ readonly result: T; readonly flushed: Promise<void> }> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const committed = this.#transact(() => (this.#beganTooEarly() ? TOO_EARLY : this.#applyChange(change)))
      // What `flushed` waits for is decided when its `then` is called, and moves with every transaction: this one's is
      // asked for before another can begin.
      const flushed = new Promise<void>((resolve, reject) => {
        this.#root.flushed.then(() => resolve(), reject)
      })
      // Its failure is told to those who wait for the disk, once the change is committed.
      flushed.catch(() => {})
      const result = await committed
      if (result !== TOO_EARLY) return { result: result as T, flushed }
    }
    throw new Error(NEVER_TIMELY)
  }

  /** As `#attempt`, at once: no other transaction of this process may be under way. */
  #inTimelySyncTransaction<T>(change: () => T): T {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const result = this.#root.transactionSync(
        () => (this.#beganTooEarly() ? TOO_EARLY : change()),
        WITHOUT_WAITING_FOR_DISK,
      )
      if (result !== TOO_EARLY) return result as T
    }
    throw new Error(NEVER_TIMELY)
  }

  /** Whether the write transaction under way must not be used; the next one may. */
  #beganTooEarly(): boolean {
    // The library has it without a type.
    const { getWriteTxnId } = this.#root as unknown as { getWriteTxnId(): number }
    if (!this.#last.isAtOrAfter(getWriteTxnId())) return false
    this.#last.restore()
    return true
  }

  #transact<T>(change: () => T): Promise<T> {
    try {
      return Promise.resolve(this.#root.transaction(change))
    } catch (error) {
      return Promise.reject(error) // a closed store throws instead
    }
  }

  #applyChange<T>(change: () => T): T {
    this.#changing = true
    try {
      return change()
    } finally {
      this.#changing = false
    }
  }

  /** Waits for transactions under way, then releases the files. */
  async close(): Promise<void> {
    await this.idle()
    this.#isClosed = true
    this.#reading?.transaction.done()
    this.#reading = null
    await this.#root.close()
    // After the last transaction, which may still ask it.
    this.#last.close()
  }
}

function failWithStoreFault(cause: unknown): never {
  // A failed commit carries a second promise, rejected with the reason; it is told as part of the cause.
  if (cause instanceof Error && 'commitError' in cause && cause.commitError instanceof Promise) {
    cause.commitError.catch(() => {})
  }
  throw new Fault('unavailable', { detail: 'the store refused a transaction', cause })
}
