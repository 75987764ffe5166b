/** The change log of managed records in PostgreSQL, and their audit (`migrations/002_records.sql`). */
import type { ReplicaPosition } from '../membership.js'
import type { AuditBookPage, AuditRetention } from '../records/audit-book.js'
import type {
  AuditEntry,
  ChangeLog,
  HeldLog,
  RecordChange,
  RecordDelta,
  RecordEntry,
} from '../replicated/change-log.js'
import type { Database, Query } from './database.js'
import { sqlState, storeAway } from './postgres-faults.js'

/** Entries of a delta; whoever is farther away loads all records anew, in pieces. */
const MOST_ENTRIES = 50_000
const ENTRIES_OF_PIECE = 2_000
const PIECE_MS = 10_000
/** Nobody waits longer for a head that others hold, and nobody who is silent holds it longer. */
const HOLD_MS = 1_000
const LOCK_NOT_AVAILABLE = '55P03'

/** The row of a version, with its entries; one without where there are none. */
interface DeltaRow extends ReplicaPosition {
  readonly is_known: boolean
  readonly space: string | null
  readonly key: Buffer
  readonly value: Buffer | null
}

const SINCE = `
  SELECT head.version, head.change, here.is_known, entry.space, entry.key, entry.value
  FROM sluice.change_head head
  CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM sluice.changes WHERE version = $1 AND id = $2) AS is_known
  ) here
  LEFT JOIN LATERAL (
    SELECT space, key, value FROM sluice.records WHERE version > $1 LIMIT $3
  ) entry ON here.is_known`

const HOLD = `
  WITH limits AS MATERIALIZED (
    SELECT set_config('lock_timeout', $1, true) AS lock,
           set_config('idle_in_transaction_session_timeout', $1, true) AS idle
  )
  SELECT head.version, head.change FROM limits, sluice.change_head head
  WHERE limits.lock = limits.idle FOR UPDATE OF head`

const WRITE = `
  WITH head AS (
    SELECT version FROM sluice.change_head
    WHERE version = $1::bigint AND change = $2::uuid
      AND NOT EXISTS (SELECT FROM sluice.changes WHERE id = $3::uuid)
    FOR UPDATE SKIP LOCKED
  ), moved AS (
    UPDATE sluice.change_head SET version = head.version + 1, change = $3::uuid
    FROM head WHERE change_head.version = head.version RETURNING change_head.version
  ), logged AS (
    INSERT INTO sluice.changes (version, id, machine) SELECT version, $3::uuid, $4::text FROM moved
  ), kept AS (
    INSERT INTO sluice.records (space, key, value, version)
    SELECT entry.space, entry.key, entry.value, moved.version
    FROM moved, unnest($5::text[], $6::bytea[], $7::bytea[]) AS entry (space, key, value)
    ON CONFLICT (space, key) DO UPDATE SET value = EXCLUDED.value, version = EXCLUDED.version
  ), audited AS (
    INSERT INTO sluice.audit (book, trail, at, content, place, batch)
    SELECT entry.*, $3::uuid
    FROM moved, unnest($8::text[], $9::bytea[], $10::bigint[], $11::bytea[]) WITH ORDINALITY AS entry
    ON CONFLICT (batch, place) DO NOTHING
  )
  SELECT pg_notify('sluice', 'change') FROM moved`

const APPEND_AUDIT = `
  INSERT INTO sluice.audit (book, trail, at, content, place, batch)
  SELECT entry.*, $1::uuid
  FROM unnest($2::text[], $3::bytea[], $4::bigint[], $5::bytea[]) WITH ORDINALITY AS entry
  ON CONFLICT (batch, place) DO NOTHING`

const AUDIT_PAGE = `
  WITH kept AS MATERIALIZED (
    SELECT number, at FROM sluice.audit WHERE book = $1 AND trail = $2 ORDER BY number DESC LIMIT $3
  ), fresh AS (
    SELECT number FROM kept
    WHERE $4::bigint IS NULL OR at >= (SELECT at FROM kept ORDER BY number DESC LIMIT 1) - $4
  )
  SELECT counted.total, page.content
  FROM (SELECT count(*) AS total FROM fresh) counted
  LEFT JOIN (
    SELECT number, content FROM sluice.audit
    WHERE number IN (SELECT number FROM fresh ORDER BY number DESC OFFSET $5 LIMIT $6)
  ) page ON true
  ORDER BY page.number DESC`

export class PostgresChangeLog implements ChangeLog {
  readonly #database: Database
  readonly #machine: string

  /** @param machine whose changes they are called, for operators */
  constructor(database: Database, machine: string) {
    this.#database = database
    this.#machine = machine
  }

  since(from: ReplicaPosition): Promise<RecordDelta | null> {
    return readDelta((sql, values) => this.#database.query(sql, values), from)
  }

  async write(change: RecordChange, from: ReplicaPosition): Promise<boolean> {
    const moved = await this.#database.query(WRITE, writeValues(change, from, this.#machine))
    return moved.length > 0
  }

  hold<T>(work: (log: HeldLog) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (query) => {
      const [head] = await query<ReplicaPosition>(HOLD, [String(HOLD_MS)]).catch(failWhenHeld)
      return work({
        head: head!,
        since: (from) => readDelta(query, from),
        write: async (change) => {
          const moved = await query(WRITE, writeValues(change, head!, this.#machine))
          return moved.length > 0
        },
      })
    })
  }

  async find(id: string): Promise<number | null> {
    const sql = 'SELECT version FROM sluice.changes WHERE id = $1'
    const [change] = await this.#database.query<ReplicaPosition>(sql, [id])
    return change?.version ?? null
  }

  load(take: (entries: readonly RecordEntry[]) => Promise<void>): Promise<ReplicaPosition> {
    let isBegun = false
    return this.#database.transaction(
      async (query) => {
        // Pieces of two moments must not come together.
        if (isBegun) throw storeAway('reading all records was interrupted')
        isBegun = true
        const [head] = await query<ReplicaPosition>('SELECT version, change FROM sluice.change_head')
        for await (const entries of allRecords(query)) await take(entries)
        return head!
      },
      { isolation: 'repeatable read', deadlineMs: PIECE_MS },
    )
  }

  async appendAudit(batch: string, rows: readonly AuditEntry[]): Promise<void> {
    await this.#database.query(APPEND_AUDIT, [batch, ...auditValues(rows)])
  }

  async auditPage(
    book: string,
    trail: string,
    offset: number,
    limit: number,
    { keptRows, keptMs }: AuditRetention,
  ): Promise<AuditBookPage<Buffer>> {
    const found = await this.#database.query<{ total: number; content: Buffer | null }>(AUDIT_PAGE, [
      book,
      Buffer.from(trail),
      keptRows,
      Number.isFinite(keptMs) ? keptMs : null,
      offset,
      limit,
    ])
    const rows = found.flatMap(({ content }) => content ?? [])
    return { rows, total: found[0]?.total ?? 0 }
  }
}

async function readDelta(query: Query, from: ReplicaPosition): Promise<RecordDelta | null> {
  const rows = await query<DeltaRow>(SINCE, [from.version, from.change, MOST_ENTRIES + 1])
  const { is_known, version, change } = rows[0]!
  if (!is_known || rows.length > MOST_ENTRIES) return null
  const entries = rows.flatMap(({ space, key, value }) => (space === null ? [] : { space, key, value }))
  return { to: { version, change }, entries }
}

async function* allRecords(query: Query): AsyncIterable<readonly RecordEntry[]> {
  let last: Pick<RecordEntry, 'space' | 'key'> = { space: '', key: Buffer.alloc(0) }
  for (;;) {
    const entries = await query<RecordEntry>(
      `SELECT space, key, value FROM sluice.records
       WHERE (space, key) > ($1, $2) AND value IS NOT NULL ORDER BY space, key LIMIT ${ENTRIES_OF_PIECE}`,
      [last.space, last.key],
    )
    if (entries.length === 0) return
    yield entries
    last = entries.at(-1)!
  }
}

/** Another has held the head for all that time, or many wait for it. */
function failWhenHeld(error: unknown): never {
  throw sqlState(error) === LOCK_NOT_AVAILABLE ? storeAway('others are changing records', error) : error
}

function writeValues(change: RecordChange, from: ReplicaPosition, machine: string): unknown[] {
  const { id, entries, audit } = change
  return [
    from.version,
    from.change,
    id,
    machine,
    entries.map(({ space }) => space),
    entries.map(({ key }) => key),
    entries.map(({ value }) => value),
    ...auditValues(audit),
  ]
}

function auditValues(rows: readonly AuditEntry[]): unknown[] {
  return [
    rows.map(({ book }) => book),
    rows.map(({ trail }) => Buffer.from(trail)),
    rows.map(({ at }) => at),
    rows.map(({ row }) => row),
  ]
}
