/**
 * The audit of federation in LMDB.
 *
 *     trail, organization          ->  [first, next] numbers of the rows that are kept
 *     trail, organization, block   ->  rows, one to a line
 *
 * Rows of a trail are numbered without gaps, so a page is found and the oldest rows are removed without any search. A
 * block holds so many of them in a row: a busy exchange writes hundreds at a time, and a record for each would cost
 * more than all else that is done for it.
 */
import type { AuditTrailName, FederationAuditPage, FederationAuditRow } from '../federation-store.js'
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { decodeRecord, encodeRecord, isId, KEY_END } from './record-table.js'

/** How much of a trail is kept. */
export interface AuditRetention {
  readonly rowsPerTrail: number
  readonly ms: number
}

export const AUDIT_RETENTION: AuditRetention = { rowsPerTrail: 10_000, ms: 400 * 24 * 60 * 60 * 1000 }

const ROWS_PER_BLOCK = 32
/** Rows that have become too old are removed when new ones come, from so many blocks at a time. */
const MAX_PRUNED_BLOCKS = 4
const NUMBER_BYTES = 6
/** JSON has no line ends of its own. */
const LINE_END = '\n'

/** First row that is kept, and number of the row to come. */
type AuditTrailExtent = readonly [first: number, next: number]
const EMPTY_AUDIT_TRAIL: AuditTrailExtent = [0, 0]

/** Rows that are about to be written to one trail. */
interface AuditTrailAppend {
  readonly key: Buffer
  readonly lines: string[]
  /** When the last of them came. */
  now: number
}

/** For the inside of transactions and snapshots of the environment. */
export interface AuditTrails {
  /** Newest rows first, from `offset` on, and how many there are. */
  page(organizationId: string, trail: AuditTrailName, offset: number, limit: number): FederationAuditPage
  /** Rows of one trail share its extent, which is read and written once; what is too old or too many goes. */
  append(rows: readonly FederationAuditRow[]): void
}

export function openAuditTrails(
  env: LmdbEnvironment,
  table: LmdbByteTable,
  retention: AuditRetention,
): AuditTrails {
  const readExtent = (key: Buffer): AuditTrailExtent => {
    const bytes = env.get(table, key)
    return bytes === undefined ? EMPTY_AUDIT_TRAIL : (decodeRecord(bytes) as AuditTrailExtent)
  }

  /** The lines of the block that holds a row. */
  const linesAround = (key: Buffer, row: number): string[] => {
    const bytes = env.get(table, auditBlockKey(key, auditBlockOf(row)))!
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split(LINE_END)
  }

  /** Writes lines from a row on, behind what is there; the number of the row to come after them. */
  const write = (key: Buffer, from: number, lines: readonly string[]): number => {
    for (let taken = 0; taken < lines.length; ) {
      const row = from + taken
      const line = row % ROWS_PER_BLOCK
      const added = lines.slice(taken, taken + ROWS_PER_BLOCK - line)
      const before = line === 0 ? [] : linesAround(key, row)
      table.put(auditBlockKey(key, auditBlockOf(row)), Buffer.from([...before, ...added].join(LINE_END)))
      taken += added.length
    }
    return from + lines.length
  }

  /** The newest row stays, however old it is. */
  const firstToKeep = (key: Buffer, oldFirst: number, next: number, now: number): number => {
    let first = Math.max(oldFirst, next - retention.rowsPerTrail)
    for (let blocks = 0; blocks < MAX_PRUNED_BLOCKS && first < next - 1; blocks++) {
      const block = auditBlockOf(first)
      const lines = linesAround(key, first)
      const isOld = (): boolean => timeOfRow(lines[first % ROWS_PER_BLOCK]!) < now - retention.ms
      while (first < next - 1 && auditBlockOf(first) === block && isOld()) first++
      if (auditBlockOf(first) === block) break
    }
    return first
  }

  return {
    page: (organizationId, trail, offset, limit) => {
      if (organizationId !== '' && !isId(organizationId)) return { rows: [], total: 0 }
      const key = auditTrailKey(trail, organizationId)
      const [first, next] = readExtent(key)
      const rows: FederationAuditRow[] = []
      let block = -1
      let lines: string[] = []
      for (let row = next - 1 - offset; row >= first && rows.length < limit; row--) {
        if (auditBlockOf(row) !== block) {
          block = auditBlockOf(row)
          lines = linesAround(key, row)
        }
        rows.push(Object.freeze(JSON.parse(lines[row % ROWS_PER_BLOCK]!) as FederationAuditRow))
      }
      return { rows, total: next - first }
    },

    append: (rows) => {
      const appends = new Map<string, AuditTrailAppend>()
      for (const row of rows) {
        const key = auditTrailKey(row.trail, row.organizationId)
        const name = key.toString()
        const append = appends.get(name) ?? { key, lines: [], now: 0 }
        appends.set(name, append)
        append.lines.push(JSON.stringify(row))
        append.now = row.at
      }
      for (const { key, lines, now } of appends.values()) {
        const [oldFirst, oldNext] = readExtent(key)
        const next = write(key, oldNext, lines)
        const first = firstToKeep(key, oldFirst, next, now)
        for (let block = auditBlockOf(oldFirst); block < auditBlockOf(first); block++) {
          table.remove(auditBlockKey(key, block))
        }
        table.put(key, encodeRecord([first, next]))
      }
    },
  }
}

function auditTrailKey(trail: AuditTrailName, organizationId: string): Buffer {
  return Buffer.from(trail + KEY_END + organizationId + KEY_END)
}

function auditBlockOf(row: number): number {
  return Math.floor(row / ROWS_PER_BLOCK)
}

function auditBlockKey(trail: Buffer, block: number): Buffer {
  const key = Buffer.alloc(trail.length + NUMBER_BYTES)
  trail.copy(key)
  key.writeUIntBE(block, trail.length, NUMBER_BYTES)
  return key
}

function timeOfRow(line: string): number {
  return (JSON.parse(line) as FederationAuditRow).at
}
