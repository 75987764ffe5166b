import type { ByteTable, RecordSpace } from './record-space.js'

/** Parsed records that a table keeps; beyond it the oldest goes. About 1.5 KB each. */
const MAX_PARSED_RECORDS = 10_000

interface ParsedRecord {
  readonly key: Uint8Array
  /** What the store said when the record was parsed. */
  readonly bytes: Buffer
  readonly record: object
}

/**
 * Frozen records in a table, kept as JSON. All but `readParsed` are for the inside of a change or an `inSnapshot` of the
 * space. A null key stands for an id that can be none.
 */
export class RecordTable<Table extends ByteTable = ByteTable> {
  readonly #space: RecordSpace<Table>
  /** Also for keys of an index that stand between the records. */
  readonly table: Table
  readonly #parsed = new Map<string, ParsedRecord>()

  constructor(space: RecordSpace<Table>, name: string) {
    this.#space = space
    this.table = space.byteTable(name)
  }

  get<T extends object>(key: Uint8Array | null): Readonly<T> | null {
    const bytes = key === null ? undefined : this.#space.get(this.table, key)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  has(key: Uint8Array): boolean {
    return this.#space.get(this.table, key) !== undefined
  }

  /** All records whose key begins with the prefix, in the order of their keys. */
  list<T extends object>(prefix: Uint8Array): Readonly<T>[] {
    return this.#space.valuesWithPrefix(this.table, prefix).map((bytes) => decodeRecord<T>(bytes))
  }

  /** The records that the values of an index lead to, in the order of its keys; none for a null prefix. */
  listIndexed<T extends object>(
    index: Table,
    prefix: Uint8Array | null,
    keyOf: (id: Buffer) => Uint8Array | null = (id) => id,
  ): Readonly<T>[] {
    if (prefix === null) return []
    return this.#space.valuesWithPrefix(index, prefix).map((id) => this.get<T>(keyOf(id))!)
  }

  put(key: Uint8Array, record: object): void {
    this.table.put(key, encodeRecord(record))
  }

  remove(key: Uint8Array): void {
    this.table.remove(key)
  }

  /** Puts what `change` makes of a record, unless that is the very record; its `identity` stays as it is. */
  change<T extends object>(key: Uint8Array, current: T, change: (current: T) => T, identity: Partial<T>): T {
    const changed = change(current)
    if (changed === current) return current
    const next = Object.freeze({ ...changed, ...identity })
    this.put(key, next)
    return next
  }

  /**
   * One record, from a snapshot of its own. The stored bytes are read every time, and only when they are the ones that
   * were parsed before does the parsed record serve again: it saves the parsing and can never be stale. `name` is the
   * key as text, which no other key of the table has; `keyOf` makes the key of it, null where it can be none.
   */
  readParsed<T extends object>(name: string, keyOf: (name: string) => Uint8Array | null): Readonly<T> | null {
    const before = this.#parsed.get(name)
    const key = before?.key ?? keyOf(name)
    if (key === null) return null
    const record = this.#parsedAt<T>(name, key, before)
    this.#space.releaseSnapshot()
    return record
  }

  /** As `readParsed`, in the change or snapshot under way. */
  getParsed<T extends object>(name: string, key: Uint8Array): Readonly<T> | null {
    return this.#parsedAt<T>(name, key, this.#parsed.get(name))
  }

  /** What is read is borrowed, and its underlying buffer is larger than it says: it may only be compared with bounds. */
  #parsedAt<T extends object>(
    name: string,
    key: Uint8Array,
    before: ParsedRecord | undefined,
  ): Readonly<T> | null {
    const raw = this.#space.getUnbounded(this.table, key)
    if (raw === undefined) return null
    const { length } = raw
    if (before?.bytes.length === length && before.bytes.compare(raw, 0, length) === 0) {
      return before.record as T
    }
    const bytes = Buffer.from(raw.subarray(0, length))
    const record = decodeRecord<T>(bytes)
    if (this.#parsed.size >= MAX_PARSED_RECORDS) {
      const { value: oldest } = this.#parsed.keys().next()
      if (oldest !== undefined) this.#parsed.delete(oldest)
    }
    // The key may be written into bytes that serve for the next one.
    this.#parsed.set(name, { key: Buffer.from(key), bytes, record })
    return record
  }
}

export function encodeRecord(record: object): Buffer {
  return Buffer.from(JSON.stringify(record))
}

/** A record from its stored bytes, which may be borrowed; frozen. */
export function decodeRecord<T extends object>(bytes: Uint8Array): Readonly<T> {
  return Object.freeze(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()))
}

/** Longest id that is looked up; ours have 36 characters. LMDB's keys have a limit, ids of callers have none. */
const LONGEST_ID = 100

export function isId(id: string): boolean {
  return id !== '' && id.length <= LONGEST_ID
}

/** The bytes of an id behind the letter of its kind; null for what no id can be. */
export function idKey(id: string, kind = ''): Buffer | null {
  return isId(id) ? Buffer.from(kind + id) : null
}

/** Ends an id in a key, so that no id is taken for the beginning of another. */
export const KEY_END = '\0'

/**
 * Begins the keys of an index of what belongs to an owner; null for what no id can be. A record's id behind it keeps
 * lists in the order of creation: ids sort by time.
 */
export function ownerPrefix(kind: string, ownerId: string): Buffer | null {
  return isId(ownerId) ? Buffer.from(kind + ownerId + KEY_END) : null
}
