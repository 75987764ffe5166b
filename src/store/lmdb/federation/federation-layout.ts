/**
 * How federation lies in its tables.
 *
 *     records      'i' id                        ->  issuer
 *                  'p' id                        ->  policy
 *                  's'                           ->  our signing keys
 *     belongings   'i' or 'p', organization, id  ->  id            lists, oldest first: ids are UUID v7
 *     audit        trail, organization           ->  [first, next] numbers of the rows that are kept
 *                  trail, organization, sheet    ->  rows, one to a line
 *
 * Rows of a trail are numbered without gaps, so a page is found and the oldest rows go without any search. A sheet
 * holds so many of them in a row: a busy exchange writes hundreds at a time, and a record for each would cost more
 * than all else that is done for it.
 */
import type { AuditTrailName } from '../../federation-store.js'
import type { ByteTable } from '../environment.js'

export interface FederationTables {
  readonly records: ByteTable
  readonly belongings: ByteTable
  readonly audit: ByteTable
}

export const FEDERATION_TABLE_NAMES = {
  records: 'federation-records',
  belongings: 'federation-belongings',
  audit: 'federation-audit-sheets',
} as const

export type RecordKind = 'i' | 'p'

/** Longest id that is looked up; ours have 36 characters. The store's keys have a limit, ids of callers have none. */
const LONGEST_ID = 100

export function isId(id: string): boolean {
  return id !== '' && id.length <= LONGEST_ID
}

/** Ends an organization's id, so that no id is taken for the beginning of another. */
const END = '\0'

export const RING_KEY = Buffer.from('s')

/** The bytes a record lies under; null for what no id can be. */
export function recordKey(kind: RecordKind, id: string): Buffer | null {
  return isId(id) ? Buffer.from(kind + id) : null
}

/** The beginning of all belongings of an organization; null for what no id can be. */
export function belongingPrefix(kind: RecordKind, organizationId: string): Buffer | null {
  return isId(organizationId) ? Buffer.from(kind + organizationId + END) : null
}

export function belongingKey(kind: RecordKind, { organizationId, id }: Belonging): Buffer {
  return Buffer.from(kind + organizationId + END + id)
}

export interface Belonging {
  readonly organizationId: string
  readonly id: string
}

/** Where the numbers of a trail lie. */
export function trailKey(trail: AuditTrailName, organizationId: string): Buffer {
  return Buffer.from(trail + END + organizationId + END)
}

const NUMBER_BYTES = 6
const ROWS = 32

/** Number of the sheet a row stands on. */
export function sheetOf(row: number): number {
  return Math.floor(row / ROWS)
}

/** Its line on that sheet. */
export function lineOf(row: number): number {
  return row % ROWS
}

/** Lines that are free below a row's. */
export function linesFrom(row: number): number {
  return ROWS - lineOf(row)
}

export function sheetKey(trailAt: Buffer, sheet: number): Buffer {
  const key = Buffer.alloc(trailAt.length + NUMBER_BYTES)
  trailAt.copy(key)
  key.writeUIntBE(sheet, trailAt.length, NUMBER_BYTES)
  return key
}

/** JSON has no line ends of its own. */
const LINE_END = '\n'

export function written(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(LINE_END))
}

/** The lines of a sheet. `bytes` may be borrowed. */
export function linesOn(bytes: Uint8Array): string[] {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split(LINE_END)
}

/** First row that is kept, and number of the row to come. */
export type TrailExtent = readonly [first: number, next: number]
export const EMPTY_TRAIL: TrailExtent = [0, 0]
