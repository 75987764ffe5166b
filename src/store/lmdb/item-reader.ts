import type { Environment, Table } from './environment.js'
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
    const page = this.#env.get(this.#tables.pages, Math.floor(index / PAGE.slots))
    if (page === undefined) return null
    const slot = index % PAGE.slots
    const start = rowStart(PAGE, page, slot)
    return start < 0 ? null : page.subarray(start, rowEnd(PAGE, page, slot))
  }

  lastId(): number {
    const bytes = this.#env.get(this.#tables.counter, COUNTER_KEY)
    const last = bytes === undefined ? 0 : Buffer.from(bytes).readDoubleLE(0)
    this.#env.release()
    return last
  }

  list(offset: number, limit: number): Uint8Array {
    const out = new JsonRun()
    let skip = offset
    let want = limit
    this.#eachFullPage(offset, (pageNumber, rows) => {
      if (skip >= rows) {
        skip -= rows
        return true
      }
      const page = this.#env.get(this.#tables.pages, pageNumber)!
      want -= appendRows(out, page, skip, want)
      skip = 0
      return want > 0
    })
    this.#env.release()
    return out.end()
  }

  /** Calls `visit` with every page that holds rows, in order, until it returns false. */
  #eachFullPage(offset: number, visit: (page: number, rows: number) => boolean): void {
    const { directory } = this.#tables
    for (let part = 0; ; part++) {
      const borrowed = this.#env.get(directory, part)
      if (borrowed === undefined) return
      // `visit` reads pages, which overwrites borrowed bytes. Without an offset only the front is ever needed.
      const counts = Buffer.from(offset === 0 ? borrowed.subarray(0, 512) : borrowed)
      if (this.#visitPart(part, counts, visit)) return
      if (counts.length === borrowed.length) continue
      const rest = this.#env.get(directory, part)!
      if (this.#visitPart(part, Buffer.from(rest), visit, counts.length)) return
    }
  }

  /** True when `visit` asked to stop. */
  #visitPart(
    part: number,
    counts: Buffer,
    visit: (page: number, rows: number) => boolean,
    from = 0,
  ): boolean {
    for (let i = from; i < counts.length; i++) {
      const rows = counts[i]!
      if (rows > 0 && !visit(part * DIRECTORY_PAGES + i, rows)) return true
    }
    return false
  }
}

/** Appends up to `want` rows after the first `skip`, as one piece of bytes; returns how many. */
function appendRows(out: JsonRun, page: Uint8Array, skip: number, want: number): number {
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
  if (taken > 0) out.add(page.subarray(start, end))
  return taken
}

/** Collects rows into the bytes of one JSON array. */
export class JsonRun {
  #bytes: Buffer = Buffer.allocUnsafe(4096)
  #length = 1

  constructor() {
    this.#bytes[0] = OPEN
  }

  /** Copies rows that are already separated by commas. */
  add(rows: Uint8Array): void {
    const need = this.#length + rows.byteLength + 2
    if (need > this.#bytes.length) this.#bytes = grow(this.#bytes, this.#length, need)
    if (this.#length > 1) this.#bytes[this.#length++] = COMMA
    this.#bytes.set(rows, this.#length)
    this.#length += rows.byteLength
  }

  end(): Uint8Array {
    this.#bytes[this.#length++] = CLOSE
    return this.#bytes.subarray(0, this.#length)
  }
}

function grow(bytes: Buffer, used: number, need: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(need, bytes.length * 2))
  bytes.copy(larger, 0, 0, used)
  return larger
}
