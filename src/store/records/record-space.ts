/**
 * Where managed records are kept: accounts, keys, federation, groups, directories. On one machine that is LMDB itself; in a fleet
 * it is PostgreSQL, with a replica in LMDB that is read. What is done with the records is the same code in both.
 */

/** A table whose keys are bytes, of which the first that differs decides the order. */
export interface ByteTable {
  /** Inside a change it takes effect at once; nothing waits for what is returned. */
  put(key: Uint8Array, value: Uint8Array): unknown
  /** As `put`. */
  remove(key: Uint8Array): unknown
}

/** Values under a prefix after the first `offset`. */
export interface ValuePage {
  readonly offset: number
  readonly limit: number
  /** Counts from this key on, which begins with the prefix. */
  readonly from?: Uint8Array
}

/** A space takes only its own tables. Reads inside a change see what that change has written. */
export interface RecordSpace<Table extends ByteTable = ByteTable> {
  /** Opens a table, which is created when absent. Only before anything is read. */
  byteTable(name: string): Table
  /** The stored bytes, or undefined. They are borrowed: good until the next read. */
  get(table: Table, key: Uint8Array): Uint8Array | undefined
  /** As `get`, but bytes beyond the value belong to something else. */
  getUnbounded(table: Table, key: Uint8Array): Buffer | undefined
  /** Copies of all values whose key begins with `prefix`, in the order of their keys; an empty prefix means all. */
  valuesWithPrefix(table: Table, prefix: Uint8Array): Buffer[]
  /** As `valuesWithPrefix`, a page of them: skipping one costs far less than reading it. */
  valuesOfPage(table: Table, prefix: Uint8Array, page: ValuePage): Buffer[]
  /** Gives the snapshot back. Every read or group of reads outside a change ends with it. */
  releaseSnapshot(): void
  /** Runs reads that see the same snapshot, and gives it back. */
  inSnapshot<T>(read: () => T): T
  /**
   * Runs `change` alone among all processes that share the records, and resolves with what it returned when the change
   * is kept and every reader sees it. It fails with `unavailable` when the store cannot take it. `change` is pure but for
   * its writes: it may run several times, of which one counts.
   */
  writeDurably<T>(change: () => T): Promise<T>
}
