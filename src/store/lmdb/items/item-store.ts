import type { StoreLimits } from '../../disk-reserve.js'
import type { ItemStore } from '../../store.js'
import type { LmdbEnvironment } from '../environment.js'
import { DIRECTORY_PAGES, JSON_PAGE, JsonArrayWriter, openItemTables, readLastId } from './item-layout.js'
import { createItemSearch } from './item-scanner.js'
import { createItemWriter } from './item-writer.js'
import { rowEnd, rowStart, runOfRows } from './slotted-page.js'

/** Ids beyond this have pages whose number would not fit a 32-bit key. */
const LARGEST_ID = JSON_PAGE.slots * 0x1_0000_0000

/** Instead of the number of a page. */
const LIST_COMPLETE = -1

/** Its reads answer at once, with bytes that are borrowed from LMDB. */
export interface LmdbItemStore extends ItemStore {
  read(id: number): Uint8Array | null
  list(offset: number, limit: number): Uint8Array
  lastId(): number
  /** Takes items of another store, in the order of their ids, which are beyond all that were given here. */
  restore(items: readonly { readonly id: number; readonly json: Buffer }[]): Promise<void>
  /** No id up to this one is given any more. */
  restoreLastId(id: number): Promise<void>
  /** Resolves when no change waits and all are on disk. */
  idle(): Promise<void>
}

/** Items in LMDB. Reads neither parse nor serialise an item; searches and changes are queued. */
export function createLmdbItemStore(
  env: LmdbEnvironment,
  unixSeconds: () => number,
  limits: StoreLimits,
): LmdbItemStore {
  const tables = openItemTables(env)
  const { pages, texts, directory, counter } = tables
  const writer = createItemWriter(env, tables, unixSeconds, limits)
  /** Reused by every list: its bytes are only promised for the turn they were asked in. */
  const listed = new JsonArrayWriter()
  const slicer = new PageSlicer()

  /** As `read`, without giving the snapshot back. */
  const readRow = (id: number): Uint8Array | null => {
    if (!(id >= 1 && id <= LARGEST_ID)) return null
    const index = id - 1
    const page = env.getUnbounded(pages, Math.floor(index / JSON_PAGE.slots))
    if (page === undefined) return null
    const slot = index % JSON_PAGE.slots
    const start = rowStart(JSON_PAGE, page, slot)
    return start < 0 ? null : slicer.slice(page, start, rowEnd(JSON_PAGE, page, slot))
  }

  /** Appends up to `want` rows after the first `skip`, as one piece of bytes; returns how many. */
  const appendRows = (array: JsonArrayWriter, page: Uint8Array, skip: number, want: number): number => {
    const { start, end, rows } = runOfRows(JSON_PAGE, page, skip, want)
    if (rows > 0) array.add(slicer.slice(page, start, end), rows)
    return rows
  }

  /** Takes rows from the first page on, until a page is empty; returns where to go on, or LIST_COMPLETE. */
  const listFullPages = (array: JsonArrayWriter, limit: number): number => {
    for (let number = 0; array.rows < limit; number++) {
      const page = env.getUnbounded(pages, number)
      if (page === undefined) return LIST_COMPLETE
      if (appendRows(array, page, 0, limit - array.rows) === 0) return number + 1
    }
    return LIST_COMPLETE
  }

  /** Skips empty pages, and pages before the offset, without reading them. */
  const listByDirectory = (
    array: JsonArrayWriter,
    offset: number,
    limit: number,
    firstPage: number,
  ): void => {
    let skip = offset
    let want = limit
    for (let part = Math.floor(firstPage / DIRECTORY_PAGES); want > 0; part++) {
      const borrowed = env.get(directory, part)
      if (borrowed === undefined) return
      const counts = Buffer.from(borrowed) // reading a page overwrites borrowed bytes
      for (let i = Math.max(0, firstPage - part * DIRECTORY_PAGES); i < counts.length && want > 0; i++) {
        const rows = counts[i]!
        if (skip >= rows) {
          skip -= rows
          continue
        }
        const page = env.getUnbounded(pages, part * DIRECTORY_PAGES + i)!
        want -= appendRows(array, page, skip, want)
        skip = 0
      }
    }
  }

  return {
    read: (id) => {
      const bytes = readRow(id)
      env.releaseSnapshot()
      return bytes
    },
    list: (offset, limit) => {
      const array = listed.begin()
      const next = offset === 0 ? listFullPages(array, limit) : 0
      if (next !== LIST_COMPLETE) listByDirectory(array, offset, limit - array.rows, next)
      env.releaseSnapshot()
      return array.end()
    },
    search: createItemSearch(env, texts, (id) => readRow(id)!),
    create: (fields) => writer.change((transaction) => transaction.create(fields)),
    createNext: (after, fields) => writer.change((transaction) => transaction.createNext(after, fields)),
    replace: (id, fields) => writer.change((transaction) => transaction.replace(id, fields)),
    remove: (id) => writer.change((transaction) => transaction.remove(id)),
    restore: (items) =>
      writer.change((transaction) => {
        for (const { id, json } of items) transaction.restore(id, json)
      }),
    restoreLastId: (id) => writer.change((transaction) => transaction.restoreLastId(id)),
    lastId: () => {
      const last = readLastId(env, counter)
      env.releaseSnapshot()
      return last
    },
    idle: writer.idle,
  }
}

/**
 * Cuts pieces out of pages, remembering where the bytes of the last one lie: LMDB lends the same ones again and again, as
 * an object whose shape the engine has to look up for each of its members.
 */
class PageSlicer {
  #page: Uint8Array = new Uint8Array(0)
  #buffer = this.#page.buffer
  #offset = 0

  slice(page: Uint8Array, start: number, end: number): Uint8Array {
    if (page !== this.#page) {
      this.#page = page
      this.#buffer = page.buffer
      this.#offset = page.byteOffset
    }
    return new Uint8Array(this.#buffer, this.#offset + start, end - start)
  }
}
