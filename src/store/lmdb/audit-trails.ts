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
import type { DirectoryRequest } from '../directory-store.js'
import type { FederationAuditRow } from '../federation-store.js'
import type {
  AuditBook,
  AuditBookOptions,
  AuditBookPage,
  AuditRetention,
  AuditRow,
} from '../records/audit-book.js'
import { FEDERATION_AUDIT } from '../records/federation.js'
import { decodeRecord, encodeRecord, KEY_END } from '../records/record-table.js'
import { DIRECTORY_REQUESTS } from '../records/request-log.js'
import { SCIM_AUDIT } from '../records/scim-tables.js'
import type { ScimAuditEntry } from '../scim-store.js'
import type { LmdbEnvironment } from './environment.js'
import type { LmdbByteTable } from './table.js'

interface AuditTrailOptions<Row extends AuditRow> extends AuditBookOptions<Row> {
  readonly rowsPerBlock: number
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

/** The audit of federation. Exchanges write many rows at a time. */
export function openFederationAudit(
  env: LmdbEnvironment,
  retention: AuditRetention = FEDERATION_AUDIT,
): AuditTrails<FederationAuditRow> {
  const options = { ...FEDERATION_AUDIT, ...retention, rowsPerBlock: 32 }
  return new AuditTrails(env, 'federation-audit-sheets', options)
}

/** The audit of groups and mappings. */
export function openScimAudit(
  env: LmdbEnvironment,
  retention: AuditRetention = SCIM_AUDIT,
): AuditTrails<ScimAuditEntry> {
  return new AuditTrails(env, 'scim-audit', { ...SCIM_AUDIT, ...retention, rowsPerBlock: 1 })
}

/** The request log of connections. */
export function openDirectoryRequests(
  env: LmdbEnvironment,
  retention: AuditRetention = DIRECTORY_REQUESTS,
): AuditTrails<DirectoryRequest> {
  const options = { ...DIRECTORY_REQUESTS, ...retention, rowsPerBlock: 32 }
  return new AuditTrails(env, 'directory-requests', options)
}

class AuditTrails<Row extends AuditRow> implements AuditBook<Row> {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable
  readonly #options: AuditTrailOptions<Row>

  constructor(env: LmdbEnvironment, table: string, options: AuditTrailOptions<Row>) {
    this.#env = env
    this.#table = env.byteTable(table)
    this.#options = options
  }

  page(trail: string, offset: number, limit: number): AuditBookPage<Row> {
    if (trail.length > LONGEST_NAME) return { rows: [], total: 0 }
    return this.#env.inSnapshot(() => this.#page(trail, offset, limit))
  }

  appendAlone(rows: readonly Row[]): Promise<void> {
    return this.#env.writeDurably(() => this.append(rows))
  }

  #page(trail: string, offset: number, limit: number): AuditBookPage<Row> {
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
