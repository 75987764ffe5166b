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
import type { LmdbByteTable } from '../environment.js'

export interface FederationTables {
  readonly records: LmdbByteTable
  readonly ownerIndex: LmdbByteTable
  readonly audit: LmdbByteTable
}

export const FEDERATION_TABLE_NAMES = {
  records: 'federation-records',
  ownerIndex: 'federation-belongings',
  audit: 'federation-audit-sheets',
} as const

export type FederationRecordKind = 'i' | 'p'

/** Longest id that is looked up; ours have 36 characters. The store's keys have a limit, ids of callers have none. */
const LONGEST_ID = 100

export function isId(id: string): boolean {
  return id !== '' && id.length <= LONGEST_ID
}

/** Ends an organization's id, so that no id is taken for the beginning of another. */
const END = '\0'

export const SIGNING_KEY_RING_KEY = Buffer.from('s')

/** The bytes a record lies under; null for what no id can be. */
export function recordKey(kind: FederationRecordKind, id: string): Buffer | null {
  return isId(id) ? Buffer.from(kind + id) : null
}

/** The beginning of all belongings of an organization; null for what no id can be. */
export function ownerIndexPrefix(kind: FederationRecordKind, organizationId: string): Buffer | null {
  return isId(organizationId) ? Buffer.from(kind + organizationId + END) : null
}

export function ownerIndexKey(kind: FederationRecordKind, { organizationId, id }: OwnedRecord): Buffer {
  return Buffer.from(kind + organizationId + END + id)
}

export interface OwnedRecord {
  readonly organizationId: string
  readonly id: string
}

/** Where the numbers of a trail lie. */
export function auditTrailKey(trail: AuditTrailName, organizationId: string): Buffer {
  return Buffer.from(trail + END + organizationId + END)
}

const NUMBER_BYTES = 6
const ROWS_PER_BLOCK = 32

/** Number of the sheet a row stands on. */
export function auditBlockOf(row: number): number {
  return Math.floor(row / ROWS_PER_BLOCK)
}

/** Its line on that sheet. */
export function lineInAuditBlock(row: number): number {
  return row % ROWS_PER_BLOCK
}

/** Lines that are free below a row's. */
export function freeLinesFrom(row: number): number {
  return ROWS_PER_BLOCK - lineInAuditBlock(row)
}

export function auditBlockKey(trailAt: Buffer, sheet: number): Buffer {
  const key = Buffer.alloc(trailAt.length + NUMBER_BYTES)
  trailAt.copy(key)
  key.writeUIntBE(sheet, trailAt.length, NUMBER_BYTES)
  return key
}

/** JSON has no line ends of its own. */
const LINE_END = '\n'

export function joinLines(lines: readonly string[]): Buffer {
  return Buffer.from(lines.join(LINE_END))
}

/** The lines of a sheet. `bytes` may be borrowed. */
export function splitLines(bytes: Uint8Array): string[] {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().split(LINE_END)
}

/** First row that is kept, and number of the row to come. */
export type AuditTrailExtent = readonly [first: number, next: number]
export const EMPTY_AUDIT_TRAIL: AuditTrailExtent = [0, 0]
