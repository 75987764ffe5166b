/** Lets go what nobody needs of the change log and of the audit (`migrations/002_records.sql`). */
import type { AuditRetention } from '../records/audit-book.js'
import { FEDERATION_AUDIT } from '../records/federation.js'
import { DIRECTORY_REQUESTS } from '../records/request-log.js'
import { SCIM_AUDIT } from '../records/scim-tables.js'
import type { Database } from './database.js'

interface Trimming {
  /** Changes that are always there, so that no machine that lives has to load all records anew. */
  readonly keptMs: number
  /** Beyond these the oldest go. */
  readonly mostMs: number
  readonly mostChanges: number
}

const LOG_TRIMMING: Trimming = {
  keptMs: 10 * 60 * 1000,
  mostMs: 7 * 24 * 60 * 60 * 1000,
  mostChanges: 100_000,
}

/** So much goes in one statement. */
const MOST_AT_ONCE = 5_000

/**
 * The row of the version that is cut at stays: a replica that has it lacks none of the removals that go with the cut.
 */
const TRIM_LOG = `
  WITH head AS (SELECT version FROM sluice.change_head),
  allowed AS (
    SELECT max(changes.version) AS version FROM sluice.changes, head
    WHERE at < now() - $1 * interval '1 ms'
      AND (at < now() - $2 * interval '1 ms' OR changes.version <= head.version - $3)
  ), cut AS (
    SELECT least(allowed.version, (SELECT min(version) FROM sluice.changes) + $4) AS version FROM allowed
    -- Of a null and a number the number is the least: where nothing may go, there must be no cut at all.
    WHERE allowed.version IS NOT NULL
  ), gone AS (
    DELETE FROM sluice.changes USING cut WHERE changes.version < cut.version RETURNING 1
  ), removed AS (
    DELETE FROM sluice.records USING cut WHERE value IS NULL AND records.version <= cut.version
  )
  SELECT count(*) AS count FROM gone`

const TRIM_AUDIT = `
  WITH trails AS (
    SELECT trail, number, at,
      row_number() OVER (PARTITION BY trail ORDER BY number DESC) AS place,
      first_value(at) OVER (PARTITION BY trail ORDER BY number DESC) AS newest
    FROM sluice.audit WHERE book = $1
  ), old AS (
    SELECT number FROM trails
    WHERE place > $2 OR (place > 1 AND $3::bigint IS NOT NULL AND at < newest - $3) LIMIT $4
  )
  DELETE FROM sluice.audit USING old WHERE audit.number = old.number RETURNING 1`

const BOOKS: readonly (readonly [book: string, retention: AuditRetention])[] = [
  ['federation', FEDERATION_AUDIT],
  ['scim', SCIM_AUDIT],
  ['directory-requests', DIRECTORY_REQUESTS],
]
const DEADLINE_MS = 30_000

/** Any machine may do it at any time; it costs the database a pass over the rows of the audit. */
export async function trimRecords(database: Database, trimming: Trimming = LOG_TRIMMING): Promise<void> {
  const { keptMs, mostMs, mostChanges } = trimming
  const limits = [keptMs, mostMs, mostChanges, MOST_AT_ONCE]
  for (;;) {
    const [trimmed] = await database.query<{ count: number }>(TRIM_LOG, limits, { deadlineMs: DEADLINE_MS })
    if (trimmed!.count < MOST_AT_ONCE) break
  }
  for (const [book, { keptRows, keptMs: auditMs }] of BOOKS) {
    const most = [book, keptRows, Number.isFinite(auditMs) ? auditMs : null, MOST_AT_ONCE]
    for (;;) {
      const gone = await database.query(TRIM_AUDIT, most, { deadlineMs: DEADLINE_MS })
      if (gone.length < MOST_AT_ONCE) break
    }
  }
}
