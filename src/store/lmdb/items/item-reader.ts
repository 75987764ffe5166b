import type { LmdbEnvironment, LmdbTable } from '../environment.js'
import { COUNTER_KEY, DIRECTORY_PAGES, JSON_PAGE } from './item-layout.js'
import { rowEnd, rowStart } from './slotted-page.js'

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const COMMA = 0x2c
/** Ids beyond this have pages whose number would not fit a 32-bit key. */
const LARGEST_ID = JSON_PAGE.slots * 0x1_0000_0000

export interface ItemTables {
  readonly pages: LmdbTable
  readonly texts: LmdbTable
  readonly directory: LmdbTable
  readonly counter: LmdbTable
}

/** Reads of single items and runs of items. None of them parses or serialises an item. */
export class ItemReader {
  readonly #env: LmdbEnvironment
  readonly #tables: ItemTables
  /** Reused by every list: its bytes are only promised for the turn they were asked in. */
  readonly #run = new JsonArrayWriter()

  constructor(env: LmdbEnvironment, tables: ItemTables) {
    this.#env = env
    this.#tables = tables
  }

  read(id: number): Uint8Array | null {
    const bytes = this.readRow(id)
    this.#env.releaseSnapshot()
    return bytes
  }

  /** As `read`, for callers that release the snapshot themselves. */
  readRow(id: number): Uint8Array | null {
    if (!(id >= 1 && id <= LARGEST_ID)) return null
    const index = id - 1
    const page = this.#env.getUnbounded(this.#tables.pages, Math.floor(index / JSON_PAGE.slots))
    if (page === undefined) return null
    const slot = index % JSON_PAGE.slots
    const start = rowStart(JSON_PAGE, page, slot)
    return start < 0 ? null : viewOf(page, start, rowEnd(JSON_PAGE, page, slot))
  }

  lastId(): number {
    const bytes = this.#env.get(this.#tables.counter, COUNTER_KEY)
    const last = bytes === undefined ? 0 : Buffer.from(bytes).readDoubleLE(0)
    this.#env.releaseSnapshot()
    return last
  }

  /** Borrowed bytes: the next list overwrites them. */
  list(offset: number, limit: number): Uint8Array {
    const run = this.#run.begin()
    const next = offset === 0 ? this.#listFullPages(run, limit) : 0
    if (next !== LIST_COMPLETE) this.#listByDirectory(run, offset, limit - run.rows, next)
    this.#env.releaseSnapshot()
    return run.end()
  }

  /** Takes rows from the first page on, for as long as no page is empty; returns where to go on, or DONE. */
  #listFullPages(run: JsonArrayWriter, limit: number): number {
    for (let number = 0; run.rows < limit; number++) {
      const page = this.#env.getUnbounded(this.#tables.pages, number)
      if (page === undefined) return LIST_COMPLETE
      if (appendRows(run, page, 0, limit - run.rows) === 0) return number + 1
    }
    return LIST_COMPLETE
  }

  /** Skips empty pages, and pages before the offset, without reading them. */
  #listByDirectory(run: JsonArrayWriter, offset: number, limit: number, firstPage: number): void {
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
        want -= appendRows(
          run,
          this.#env.getUnbounded(this.#tables.pages, part * DIRECTORY_PAGES + i)!,
          skip,
          want,
        )
        skip = 0
      }
    }
  }
}

const LIST_COMPLETE = -1

function viewOf(page: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(page.buffer, page.byteOffset + start, end - start)
}

/** Appends up to `want` rows after the first `skip`, as one piece of bytes; returns how many. */
function appendRows(run: JsonArrayWriter, page: Uint8Array, skip: number, want: number): number {
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
  if (taken > 0) run.add(viewOf(page, start, end), taken)
  return taken
}

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
    return viewOf(this.#bytes, 0, this.#length)
  }
}

function growBuffer(bytes: Buffer, used: number, need: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(need, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
