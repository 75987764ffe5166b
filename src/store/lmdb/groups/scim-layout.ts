/**
 * How directory groups and their mappings lie in their tables.
 *
 *     records    'm' mapping                          ->  mapping
 *                'o' organization, mapping            ->  mapping's id     lists, oldest first: ids are UUID v7
 *                'w' workspace, mapping               ->  mapping's id     what counts in a workspace
 *                'x' organization, group, workspace   ->  mapping's id     one mapping for each pair
 *                'g' organization, group              ->  group
 *                'u' organization, group, user        ->  nothing          who is in it
 *                'k' workspace, user                  ->  role             kept from a mapping that has gone
 *     audit      organization                         ->  [first, next] numbers of the rows that are kept
 *                organization, number                 ->  row
 *
 * Users have ids of any text, so they stand in keys as their SHA-256.
 */
import { createHash } from 'node:crypto'
import { idKey } from '../accounts/account-layout.js'
import type { LmdbByteTable } from '../environment.js'

export interface ScimTables {
  readonly records: LmdbByteTable
  readonly audit: LmdbByteTable
}

export const SCIM_TABLE_NAMES = { records: 'scim-records', audit: 'scim-audit' } as const

type ScimRecordKind = 'm' | 'o' | 'w' | 'x' | 'g' | 'u' | 'k'

/** Ends an id, so that none is taken for the beginning of another. */
const END = '\0'

/** Null when one of the ids can be none. */
export function scimKey(kind: ScimRecordKind, ...ids: readonly string[]): Buffer | null {
  if (ids.some((id) => idKey(id) === null || id.includes(END))) return null
  return Buffer.from(kind + ids.map((id) => id + END).join(''))
}

/** As `scimKey`, with a user behind the ids. */
export function scimUserKey(kind: 'u' | 'k', userId: string, ...ids: readonly string[]): Buffer | null {
  const prefix = scimKey(kind, ...ids)
  return prefix && Buffer.concat([prefix, createHash('sha256').update(userId).digest()])
}

export function scimAuditKey(organizationId: string, number?: number): Buffer {
  const key = Buffer.from(organizationId + END)
  if (number === undefined) return key
  const at = Buffer.alloc(6)
  at.writeUIntBE(number, 0, 6)
  return Buffer.concat([key, at])
}

/** First row that is kept, and number of the row to come. */
export type ScimAuditExtent = readonly [first: number, next: number]
export const EMPTY_SCIM_AUDIT: ScimAuditExtent = [0, 0]
