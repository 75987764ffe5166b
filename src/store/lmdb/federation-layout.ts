/**
 * How federation lies in its tables.
 *
 *     records      'i' id                        ->  issuer
 *                  'p' id                        ->  policy
 *                  's'                           ->  our signing keys
 *     belongings   'i' or 'p', organization, id  ->  id            lists, oldest first: ids are UUID v7
 *     audit        trail, organization           ->  [first, next] numbers of the rows that are kept
 *                  trail, organization, number   ->  row
 *
 * Rows of a trail are numbered without gaps, so a page is found and the oldest rows go without any search.
 */
import type { AuditTrailName } from '../federation-store.js'
import { idKey } from './account-layout.js'
import type { ByteTable } from './environment.js'

export interface FederationTables {
  readonly records: ByteTable
  readonly belongings: ByteTable
  readonly audit: ByteTable
}

export const FEDERATION_TABLE_NAMES = {
  records: 'federation-records',
  belongings: 'federation-belongings',
  audit: 'federation-audit',
} as const

export type RecordKind = 'i' | 'p'

/** Ends an organization's id, so that no id is taken for the beginning of another. */
const END = '\0'

export const RING_KEY = Buffer.from('s')

/** The bytes a record lies under; null for what no id can be. */
export function recordKey(kind: RecordKind, id: string): Buffer | null {
  return idKey(id) === null ? null : Buffer.from(kind + id)
}

/** The beginning of all belongings of an organization; null for what no id can be. */
export function belongingPrefix(kind: RecordKind, organizationId: string): Buffer | null {
  return idKey(organizationId) === null ? null : Buffer.from(kind + organizationId + END)
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

export function rowKey(trailAt: Buffer, number: number): Buffer {
  const key = Buffer.alloc(trailAt.length + NUMBER_BYTES)
  trailAt.copy(key)
  key.writeUIntBE(number, trailAt.length, NUMBER_BYTES)
  return key
}

/** First row that is kept, and number of the row to come. */
export type TrailExtent = readonly [first: number, next: number]
export const EMPTY_TRAIL: TrailExtent = [0, 0]
