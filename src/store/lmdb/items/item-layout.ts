import type { LmdbEnvironment } from '../environment.js'
import type { LmdbTable } from '../table.js'
import type { SlottedPageShape } from './slotted-page.js'

/**
 * How items lie in LMDB. Every table has 32-bit keys.
 *
 *  pages      16 items a row of JSON bytes each, so that a read cuts one row out and a list cuts out a run
 *  texts      the same items, 64 a page, as `name FF description FF`: what a search scans. FF never occurs in
 *             UTF-8, so a match cannot reach across fields or items
 *  directory  live items per page, one byte each, 4096 pages a row: lets an offset skip without reading pages
 *  counter    key 0: the last id given; bytes of all items as JSON, key 1: now, key 2: the most there ever were; doubles
 *
 * Item `id` stands in slot (id − 1) mod 16 of page ⌊(id − 1) / 16⌋, and likewise for texts.
 */
export function openItemTables(env: LmdbEnvironment) {
  return {
    pages: env.table('item-pages'),
    texts: env.table('item-texts'),
    directory: env.table('item-directory'),
    counter: env.table('item-counter'),
  }
}

export type ItemTables = ReturnType<typeof openItemTables>

export const JSON_PAGE: SlottedPageShape = { slots: 16, separator: ',' }
export const TEXT_PAGE: SlottedPageShape = { slots: 64, separator: '' }
export const DIRECTORY_PAGES = 4096
const LAST_ID_KEY = 0
const TOTAL_BYTES_KEY = 1
const PEAK_BYTES_KEY = 2

/** Creation time of a stored item, read from its JSON. */
export function readCreatedAt(json: Uint8Array): number {
  const { created_at } = JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString())
  return created_at
}

export function readLastId(env: LmdbEnvironment, counter: LmdbTable): number {
  return readCounter(env, counter, LAST_ID_KEY) ?? 0
}

export function putLastId(counter: LmdbTable, id: number): void {
  putCounter(counter, LAST_ID_KEY, id)
}

/** Null in a store of an earlier version. */
export function readTotalBytes(env: LmdbEnvironment, counter: LmdbTable): number | null {
  return readCounter(env, counter, TOTAL_BYTES_KEY)
}

export function putTotalBytes(counter: LmdbTable, bytes: number): void {
  putCounter(counter, TOTAL_BYTES_KEY, bytes)
}

/** How far the file has grown for items; 0 in a store of an earlier version. */
export function readPeakBytes(env: LmdbEnvironment, counter: LmdbTable): number {
  return readCounter(env, counter, PEAK_BYTES_KEY) ?? 0
}

export function putPeakBytes(counter: LmdbTable, bytes: number): void {
  putCounter(counter, PEAK_BYTES_KEY, bytes)
}

function readCounter(env: LmdbEnvironment, counter: LmdbTable, key: number): number | null {
  const bytes = env.get(counter, key)
  return bytes === undefined ? null : Buffer.from(bytes).readDoubleLE(0)
}

function putCounter(counter: LmdbTable, key: number, value: number): void {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  counter.put(key, bytes)
}

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c

/** Collects rows into the bytes of one JSON array. */
export class JsonArrayWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(8192)
  #length = 0
  #rows = 0

  /** Empties it for reuse. */
  begin(): this {
    this.#length = 0
    this.#rows = 0
    return this
  }

  get rows(): number {
    return this.#rows
  }

  /** Copies `count` rows that are already separated by commas. */
  add(rows: Uint8Array, count: number): void {
    const need = this.#length + rows.byteLength + 2
    if (need > this.#bytes.length) this.#bytes = growBuffer(this.#bytes, this.#length, need)
    this.#bytes[this.#length++] = this.#rows === 0 ? OPEN_BRACKET : COMMA
    this.#bytes.set(rows, this.#length)
    this.#length += rows.byteLength
    this.#rows += count
  }

  /** The array; a view of bytes that the next `begin` gives away again. */
  end(): Uint8Array {
    if (this.#rows === 0) this.#bytes[this.#length++] = OPEN_BRACKET
    this.#bytes[this.#length++] = CLOSE_BRACKET
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset, this.#length)
  }
}

function growBuffer(bytes: Buffer, used: number, need: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(need, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
