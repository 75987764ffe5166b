/** Rows of the audits, in the order of their trails. */
import { openDirectoryRequests, openFederationAudit, openScimAudit } from '../lmdb/audit-trails.js'
import type { LmdbEnvironment } from '../lmdb/environment.js'
import type { LmdbByteTable } from '../lmdb/table.js'
import type { Query } from '../postgres/database.js'
import type { AuditBook, AuditRow } from '../records/audit-book.js'
import { FEDERATION_AUDIT } from '../records/federation.js'
import { KEY_END } from '../records/record-table.js'
import { DIRECTORY_REQUESTS } from '../records/request-log.js'
import { SCIM_AUDIT } from '../records/scim-tables.js'
import { joinBytes } from './packed-bytes.js'
import type { TransferKind } from './transfer.js'

interface AuditEntry {
  readonly book: string
  readonly trail: string
  /** Unix milliseconds. */
  readonly at: number
  /** The row as JSON. */
  readonly row: string
}

interface EmbeddedBook {
  readonly book: AuditBook<AuditRow>
  readonly trails: () => string[]
}

const BATCH = 500
/** What is too old goes with the next row, here as there: a transfer leaves nothing out. */
const KEEP_ALL = { keptRows: Number.POSITIVE_INFINITY, keptMs: Number.POSITIVE_INFINITY }

export function auditRows(env: LmdbEnvironment, query: Query): TransferKind<AuditEntry> {
  const trailsIn = (name: string): (() => string[]) => {
    const table = env.byteTable(name)
    return () => trailsOf(env, table)
  }
  const books: Readonly<Record<string, EmbeddedBook>> = {
    federation: {
      book: openFederationAudit(env, { ...FEDERATION_AUDIT, ...KEEP_ALL }),
      trails: trailsIn('federation-audit-sheets'),
    },
    scim: {
      book: openScimAudit(env, { ...SCIM_AUDIT, ...KEEP_ALL }),
      trails: trailsIn('scim-audit'),
    },
    'directory-requests': {
      book: openDirectoryRequests(env, { ...DIRECTORY_REQUESTS, ...KEEP_ALL }),
      trails: trailsIn('directory-requests'),
    },
  }
  return {
    name: 'rows of audits',
    tell: ({ book, trail, row }) => joinBytes(book, trail, row),
    embedded: {
      read: () => readEmbedded(books),
      write: async (entries) => {
        for (const [name, { book }] of Object.entries(books)) {
          const rows = entries
            .filter((entry) => entry.book === name)
            .map(({ row }) => JSON.parse(row) as AuditRow)
          if (rows.length > 0) await book.appendAlone(rows)
        }
      },
    },
    postgres: { read: () => readPostgres(query), write: (entries) => writePostgres(query, entries) },
  }
}

/** Extents are arrays, and rows objects; see audit-trails.ts. */
const EXTENT = '['.charCodeAt(0)

function trailsOf(env: LmdbEnvironment, table: LmdbByteTable): string[] {
  const trails: string[] = []
  for (const entries of env.entriesInBatches(table, BATCH)) {
    for (const { key, value } of entries) {
      if (value[0] === EXTENT) trails.push(key.toString().slice(0, -KEY_END.length))
    }
  }
  return trails
}

async function* readEmbedded(books: Readonly<Record<string, EmbeddedBook>>): AsyncGenerator<AuditEntry[]> {
  for (const [name, { book, trails }] of Object.entries(books)) {
    for (const trail of trails()) {
      // Pages count from the newest row.
      const { total } = await book.page(trail, 0, 0)
      for (let left = total; left > 0; left -= BATCH) {
        const { rows } = await book.page(trail, Math.max(0, left - BATCH), Math.min(BATCH, left))
        yield [...rows].reverse().map((row) => ({ book: name, trail, at: row.at, row: JSON.stringify(row) }))
      }
    }
  }
}

async function* readPostgres(query: Query): AsyncGenerator<AuditEntry[]> {
  for (let last = 0; ; ) {
    const rows = await query<{ number: number; book: string; trail: Buffer; at: number; content: Buffer }>(
      `SELECT number, book, trail, at, content FROM sluice.audit WHERE number > $1 ORDER BY number LIMIT ${BATCH}`,
      [last],
    )
    if (rows.length === 0) return
    last = rows.at(-1)!.number
    yield rows.map(({ book, trail, at, content }) => ({
      book,
      at,
      trail: trail.toString(),
      row: content.toString(),
    }))
  }
}

async function writePostgres(query: Query, entries: readonly AuditEntry[]): Promise<void> {
  // A character U+0000 ends the parts of a trail's name, and texts of PostgreSQL hold none: hex, which has no escapes.
  const hex = (text: string): string => Buffer.from(text).toString('hex')
  await query(
    `WITH batch AS (SELECT gen_random_uuid() AS id)
     INSERT INTO sluice.audit (book, trail, batch, place, at, content)
     SELECT r.book, decode(r.trail, 'hex'), batch.id, r.place, r.at, decode(r.row, 'hex')
     FROM batch, unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY AS r (book, trail, at, row, place)
     ORDER BY r.place`,
    [
      ...[entries.map(({ book }) => book), entries.map(({ trail }) => hex(trail))],
      ...[entries.map(({ at }) => at), entries.map(({ row }) => hex(row))],
    ],
  )
}
