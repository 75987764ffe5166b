import type { ItemFields, ItemStore, ScanCaller, SearchResult } from '../../store.js'
import type { LmdbEnvironment } from '../environment.js'
import { DIRECTORY_PAGES, ITEM_TABLE_NAMES, type ItemTables, JSON_PAGE, readLastId } from './item-layout.js'
import { ItemScanner } from './item-scanner.js'
import { ItemWriter } from './item-writer.js'
import { JsonArrayWriter } from './json-array-writer.js'
import { rowEnd, rowStart } from './slotted-page.js'

/** Ids beyond this have pages whose number would not fit a 32-bit key. */
const LARGEST_ID = JSON_PAGE.slots * 0x1_0000_0000

/** Instead of the number of a page. */
const LIST_COMPLETE = -1

/** Items in LMDB. Reads neither parse nor serialise an item; searches and changes are queued. */
export class LmdbItemStore implements ItemStore {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  readonly #scanner: ItemScanner
  readonly #writer: ItemWriter
  /** Reused by every list: its bytes are only promised for the turn they were asked in. */
  readonly #listed = new JsonArrayWriter()

  /** @param env opened with `ITEM_TABLE_NAMES` */
  constructor(env: LmdbEnvironment, unixSeconds: () => number) {
    this.#env = env
    this.#tables = {
      pages: env.table(ITEM_TABLE_NAMES.pages),
      texts: env.table(ITEM_TABLE_NAMES.texts),
      directory: env.table(ITEM_TABLE_NAMES.directory),
      counter: env.table(ITEM_TABLE_NAMES.counter),
    }
    this.#scanner = new ItemScanner(env, this.#tables.texts, (id) => this.#readRow(id)!)
    this.#writer = new ItemWriter(env, this.#tables, unixSeconds)
  }

  read(id: number): Uint8Array | null {
    const bytes = this.#readRow(id)
    this.#env.releaseSnapshot()
    return bytes
  }

  lastId(): number {
    const last = readLastId(this.#env, this.#tables.counter)
    this.#env.releaseSnapshot()
    return last
  }

  /** Borrowed bytes: the next list overwrites them. */
  list(offset: number, limit: number): Uint8Array {
    const array = this.#listed.begin()
    const next = offset === 0 ? this.#listFullPages(array, limit) : 0
    if (next !== LIST_COMPLETE) this.#listByDirectory(array, offset, limit - array.rows, next)
    this.#env.releaseSnapshot()
    return array.end()
  }

  search(needle: Uint8Array, limit: number, caller: ScanCaller): SearchResult | Promise<SearchResult> {
    return this.#scanner.search(needle, limit, caller)
  }

  create(fields: ItemFields): Promise<{ readonly id: number; readonly json: Uint8Array }> {
    return this.#writer.change((transaction) => transaction.create(fields))
  }

  replace(id: number, fields: ItemFields): Promise<Uint8Array | null> {
    return this.#writer.change((transaction) => transaction.replace(id, fields))
  }

  remove(id: number): Promise<boolean> {
    return this.#writer.change((transaction) => transaction.remove(id))
  }

  /** Resolves when no change waits and all are on disk. */
  idle(): Promise<void> {
    return this.#writer.idle()
  }

  /** As `read`, without giving the snapshot back. */
  #readRow(id: number): Uint8Array | null {
    if (!(id >= 1 && id <= LARGEST_ID)) return null
    const index = id - 1
    const page = this.#env.getUnbounded(this.#tables.pages, Math.floor(index / JSON_PAGE.slots))
    if (page === undefined) return null
    const slot = index % JSON_PAGE.slots
    const start = rowStart(JSON_PAGE, page, slot)
    return start < 0 ? null : sliceOfPage(page, start, rowEnd(JSON_PAGE, page, slot))
  }

  /** Takes rows from the first page on, for as long as no page is empty; returns where to go on, or LIST_COMPLETE. */
  #listFullPages(array: JsonArrayWriter, limit: number): number {
    for (let number = 0; array.rows < limit; number++) {
      const page = this.#env.getUnbounded(this.#tables.pages, number)
      if (page === undefined) return LIST_COMPLETE
      if (appendRows(array, page, 0, limit - array.rows) === 0) return number + 1
    }
    return LIST_COMPLETE
  }

  /** Skips empty pages, and pages before the offset, without reading them. */
  #listByDirectory(array: JsonArrayWriter, offset: number, limit: number, firstPage: number): void {
    let skip = offset
    let want = limit
    for (let part = Math.floor(firstPage / DIRECTORY_PAGES); want > 0; part++) {
      const borrowed = this.#env.get(this.#tables.directory, part)
      if (borrowed === undefined) return
      const counts = Buffer.from(borrowed) // reading a page overwrites borrowed bytes
      for (let i = Math.max(0, firstPage - part * DIRECTORY_PAGES); i < counts.length && want > 0; i++) {
        const rows = counts[i]!
        if (skip >= rows) {
          skip -= rows
          continue
        }
        const page = this.#env.getUnbounded(this.#tables.pages, part * DIRECTORY_PAGES + i)!
        want -= appendRows(array, page, skip, want)
        skip = 0
      }
    }
  }
}

function sliceOfPage(page: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(page.buffer, page.byteOffset + start, end - start)
}

/** Appends up to `want` rows after the first `skip`, as one piece of bytes; returns how many. */
function appendRows(array: JsonArrayWriter, page: Uint8Array, skip: number, want: number): number {
  let seen = 0
  let taken = 0
  let start = -1
  let end = 0
  for (let slot = 0; slot < JSON_PAGE.slots && taken < want; slot++) {
    const rowAt = rowStart(JSON_PAGE, page, slot)
    if (rowAt < 0 || seen++ < skip) continue
    if (start < 0) start = rowAt
    end = rowEnd(JSON_PAGE, page, slot)
    taken++
  }
  if (taken > 0) array.add(sliceOfPage(page, start, end), taken)
  return taken
}
