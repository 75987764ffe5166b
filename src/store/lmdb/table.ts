/** Tables of an LMDB environment, as what is stored in them sees them. */
import type { Transaction } from 'lmdb'

/** What we use of an lmdb table. The library's own types leave out the options of `getBinaryFast`. */
export interface LmdbTable<K = number> {
  getBinaryFast(key: K, options: { readonly transaction?: Transaction }): Buffer | undefined
  /** Inside `write` it takes effect at once; its promise belongs to the surrounding transaction. */
  put(key: K, value: Uint8Array): unknown
  /** As `put`. */
  remove(key: K): unknown
  getRange(options: LmdbRangeOptions): Iterable<{ readonly key: Uint8Array; readonly value: Buffer }>
}

/** A table whose keys are bytes, of which the first that differs decides the order. */
export type LmdbByteTable = LmdbTable<Uint8Array>

interface LmdbRangeOptions {
  readonly start?: Uint8Array
  /** Exclusive. */
  readonly end?: Uint8Array
  readonly reverse?: boolean
  readonly limit?: number
  /** Entries that are passed over, in native code. */
  readonly offset?: number
  readonly transaction?: Transaction
}

/** What a table has under a key of bytes. */
export interface TableEntry {
  readonly key: Buffer
  readonly value: Buffer
}

/** Keys from `start` towards `end`; whether `start` comes first or last decides the direction. */
export interface KeyRange {
  /** Where to begin; a key equal to it is left out. */
  readonly start: Uint8Array
  readonly end: Uint8Array
  readonly limit: number
}
