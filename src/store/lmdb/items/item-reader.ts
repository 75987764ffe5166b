import type { Environment, Table } from '../environment.js'
import { COUNTER_KEY, DIRECTORY_PAGES, PAGE } from './item-layout.js'
import { rowEnd, rowStart } from './slotted-page.js'

const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA = 0x2c
/** Ids beyond this have pages whose number would not fit a 32-bit key. */
const LARGEST_ID = PAGE.slots * 0x1_0000_0000

export interface ItemTables {
  readonly pages: Table
  readonly texts: Table
  readonly directory: Table
  readonly counter: Table
}

/** Reads of single items and runs of items. None of them parses or serialises an item. */
export class ItemReader {
  readonly #env: Environment
  readonly #tables: ItemTables
  /** Reused by every list: its bytes are only promised for the turn they were asked in. */
  readonly #run = new JsonRun()

  constructor(env: Environment, tables: ItemTables) {
    this.#env = env
    this.#tables = tables
  }

  read(id: number): Uint8Array | null {
    const bytes = this.row(id)
    this.#env.release()
    return bytes
  }

  /** As `read`, for callers that release the snapshot themselves. */
  row(id: number): Uint8Array | null {
    if (!(id >= 1 && id <= LARGEST_ID)) return null
    const index = id - 1
    const page = this.#env.raw(this.#tables.pages, Math.floor(index / PAGE.slots))
    if (page === undefined) return null
    const slot = index % PAGE.slots
    const start = rowStart(PAGE, page, slot)
    return start < 0 ? null : viewOf(page, start, rowEnd(PAGE, page, slot))
  }

  lastId(): number {
    const bytes = this.#env.get(this.#tables.counter, COUNTER_KEY)
    const last = bytes === undefined ? 0 : Buffer.from(bytes).readDoubleLE(0)
    this.#env.release()
    return last
  }

  /** Borrowed bytes: the next list overwrites them. */
  list(offset: number, limit: number): Uint8Array {
    const run = this.#run.begin()
    const next = offset === 0 ? this.#front(run, limit) : 0
    if (next !== DONE) this.#throughDirectory(run, offset, limit - run.rows, next)
    this.#env.release()
    return run.end()
  }

  /** Takes rows from the first page on, for as long as no page is empty; returns where to go on, or DONE. */
  #front(run: JsonRun, limit: number): number {
    for (let number = 0; run.rows < limit; number++) {
      const page = this.#env.raw(this.#tables.pages, number)
      if (page === undefined) return DONE
      if (appendRows(run, page, 0, limit - run.rows) === 0) return number + 1
    }
    return DONE
  }

  /** Skips empty pages, and pages before the offset, without reading them. */
  #throughDirectory(run: JsonRun, offset: number, limit: number, firstPage: number): void {
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
        want -= appendRows(run, this.#env.raw(this.#tables.pages, part * DIRECTORY_PAGES + i)!, skip, want)
        skip = 0
      }
    }
  }
}

const DONE = -1

function viewOf(page: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(page.buffer, page.byteOffset + start, end - start)
}

/** Appends up to `want` rows after the first `skip`, as one piece of bytes; returns how many. */
function appendRows(run: JsonRun, page: Uint8Array, skip: number, want: number): number {
  let seen = 0
  let taken = 0
  let start = -1
  let end = 0
  for (let slot = 0; slot < PAGE.slots && taken < want; slot++) {
    const rowAt = rowStart(PAGE, page, slot)
    if (rowAt < 0 || seen++ < skip) continue
    if (start < 0) start = rowAt
    end = rowEnd(PAGE, page, slot)
    taken++
  }
  if (taken > 0) run.add(viewOf(page, start, end), taken)
  return taken
}

/** Collects rows into the bytes of one JSON array. */
export class JsonRun {
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
    if (need > this.#bytes.length) this.#bytes = grow(this.#bytes, this.#length, need)
    this.#bytes[this.#length++] = this.#rows === 0 ? OPEN : COMMA
    this.#bytes.set(rows, this.#length)
    this.#length += rows.byteLength
    this.#rows += count
  }

  /** The array; a view of bytes that the next `begin` gives away again. */
  end(): Uint8Array {
    if (this.#rows === 0) this.#bytes[this.#length++] = OPEN
    this.#bytes[this.#length++] = CLOSE
    return viewOf(this.#bytes, 0, this.#length)
  }
}

function grow(bytes: Buffer, used: number, need: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(Math.max(need, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
