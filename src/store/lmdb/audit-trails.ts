/**
 * Trails of audit rows in LMDB. A trail has a name.
 *
 *     trail          ->  [first, next] numbers of the rows that are kept
 *     trail, block   ->  rows, one to a line
 *
 * Rows of a trail are numbered without gaps, so a page is found and the oldest rows are removed without any search. A
 * block holds so many of them in a row: a busy exchange writes hundreds at a time, and a record for each would cost
 * more than all else that is done for it.
 */
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { decodeRecord, encodeRecord, KEY_END } from './record-table.js'

interface AuditTrailOptions<Row> {
  readonly trailOf: (row: Row) => string
  readonly rowsPerBlock: number
  /** How much of a trail is kept: so many rows, and so long; the newest row stays, however old it is. */
  readonly keptRows: number
  readonly keptMs: number
}

/** Rows that have become too old are removed when new ones come, from so many blocks at a time. */
const MAX_PRUNED_BLOCKS = 4
const NUMBER_BYTES = 6
/** JSON has no line ends of its own. */
const LINE_END = '\n'
/** Longest name that is looked up: LMDB's keys have a limit. */
const LONGEST_NAME = 200

/** First row that is kept, and number of the row to come. */
type AuditTrailExtent = readonly [first: number, next: number]
const EMPTY_TRAIL: AuditTrailExtent = [0, 0]

/** For the inside of transactions and snapshots of the environment. */
export class AuditTrails<Row extends { readonly at: number }> {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable
  readonly #options: AuditTrailOptions<Row>

  constructor(env: LmdbEnvironment, table: string, options: AuditTrailOptions<Row>) {
    this.#env = env
    this.#table = env.byteTable(table)
    this.#options = options
  }

  /** Newest rows first, from `offset` on, and how many there are. */
  page(trail: string, offset: number, limit: number): { readonly rows: Row[]; readonly total: number } {
    if (trail.length > LONGEST_NAME) return { rows: [], total: 0 }
    const key = trailKey(trail)
    const [first, next] = this.#extentOf(key)
    const rows: Row[] = []
    let block = -1
    let lines: string[] = []
    for (let row = next - 1 - offset; row >= first && rows.length < limit; row--) {
      if (this.#blockOf(row) !== block) {
        block = this.#blockOf(row)
        lines = this.#linesAround(key, row)
      }
      rows.push(Object.freeze(JSON.parse(lines[this.#lineOf(row)]!) as Row))
    }
    return { rows, total: next - first }
  }

  /** Rows of one trail share its extent, which is read and written once; what is too old or too many goes. */
  append(rows: readonly Row[]): void {
    const rowsByTrail = new Map<string, Row[]>()
    for (const row of rows) {
      const trail = this.#options.trailOf(row)
      const appended = rowsByTrail.get(trail)
      if (appended === undefined) rowsByTrail.set(trail, [row])
      else appended.push(row)
    }
    for (const [trail, appended] of rowsByTrail) this.#appendTo(trailKey(trail), appended)
  }

  #appendTo(key: Buffer, rows: readonly Row[]): void {
    const [oldFirst, oldNext] = this.#extentOf(key)
    const next = oldNext + rows.length
    this.#write(key, oldNext, rows)
    const first = this.#firstToKeep(key, oldFirst, next, rows.at(-1)!.at)
    for (let block = this.#blockOf(oldFirst); block < this.#blockOf(first); block++) {
      this.#table.remove(blockKey(key, block))
    }
    this.#table.put(key, encodeRecord([first, next]))
  }

  /** Writes rows from a number on, behind what is there. */
  #write(key: Buffer, from: number, rows: readonly Row[]): void {
    const lines = rows.map((row) => JSON.stringify(row))
    for (let taken = 0; taken < lines.length; ) {
      const row = from + taken
      const line = this.#lineOf(row)
      const added = lines.slice(taken, taken + this.#options.rowsPerBlock - line)
      const before = line === 0 ? [] : this.#linesAround(key, row)
      this.#table.put(blockKey(key, this.#blockOf(row)), Buffer.from([...before, ...added].join(LINE_END)))
      taken += added.length
    }
  }

  #firstToKeep(key: Buffer, oldFirst: number, next: number, now: number): number {
    const { keptRows, keptMs } = this.#options
    let first = Math.max(oldFirst, next - keptRows)
    for (let blocks = 0; blocks < MAX_PRUNED_BLOCKS && first < next - 1; blocks++) {
      const block = this.#blockOf(first)
      const lines = this.#linesAround(key, first)
      const isOld = (): boolean => (JSON.parse(lines[this.#lineOf(first)]!) as Row).at < now - keptMs
      while (first < next - 1 && this.#blockOf(first) === block && isOld()) first++
      if (this.#blockOf(first) === block) break
    }
    return first
  }

  #extentOf(key: Buffer): AuditTrailExtent {
    const bytes = this.#env.get(this.#table, key)
    return bytes === undefined ? EMPTY_TRAIL : (decodeRecord(bytes) as AuditTrailExtent)
  }

  /** The lines of the block that holds a row. */
  #linesAround(key: Buffer, row: number): string[] {
    const bytes = this.#env.get(this.#table, blockKey(key, this.#blockOf(row)))!
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split(LINE_END)
  }

  #blockOf(row: number): number {
    return Math.floor(row / this.#options.rowsPerBlock)
  }

  #lineOf(row: number): number {
    return row % this.#options.rowsPerBlock
  }
}

function trailKey(trail: string): Buffer {
  return Buffer.from(trail + KEY_END)
}

function blockKey(trail: Buffer, block: number): Buffer {
  const key = Buffer.alloc(trail.length + NUMBER_BYTES)
  trail.copy(key)
  key.writeUIntBE(block, trail.length, NUMBER_BYTES)
  return key
}
