/** Many rows of the ledger that machines share, and what they come to by hour. */
import { isoTime } from '../../base/clock.js'
import { generationTime, hourStart, wholeId } from '../ledger/generation-time.js'
import { rollupName } from '../ledger/line-names.js'
import type { LedgerStretch, RowScan } from '../ledger/list-rows.js'
import type {
  LedgerFilter,
  LedgerListQuery,
  LedgerRow,
  LedgerScope,
  UsageLine,
  UsageQuery,
} from '../ledger-store.js'
import type { Database } from './database.js'
import { decodeRow, ROW_COLUMNS, type RowRecord } from './ledger-records.js'

/** Rows that one statement goes through, and all statements of a page. */
const PIECE_ROWS = 10_000
const PAGE_ROWS = 4 * PIECE_ROWS
/** Statements of a page, however little they find. */
const PAGE_PIECES = 60
/** That are looked up at a time. */
const HOURS = 32
const HOUR_MS = 60 * 60 * 1000

/** What a statement asks of its rows, and its values. */
class Conditions {
  readonly values: unknown[]
  readonly #texts: string[] = []

  /** @param values those that the statement itself names, as `$1`, `$2` … */
  constructor(...values: readonly unknown[]) {
    this.values = [...values]
  }

  /** Each `?` stands for a value. */
  add(text: string, ...values: readonly unknown[]): void {
    const left = values.values()
    this.#texts.push(text.replaceAll('?', () => `$${this.values.push(left.next().value)}`))
  }

  addScope({ organizationId, only }: LedgerScope): void {
    if (organizationId !== null) this.add('organization_id = ?', readableText(organizationId))
    if (only !== null) this.add('(workspace_id = ANY (?) OR key_hash = ANY (?))', only.workspaces, only.keys)
  }

  get text(): string {
    return this.#texts.join(' AND ') || 'true'
  }
}

/** Pages of rows. */
export function scanPostgresRows(database: Database): RowScan {
  return {
    hours: async (query, upTo) => {
      const where = hourConditions(query)
      where.add('hour <= ?', isoTime(hourStart(upTo)))
      where.add('calls > ?', 0)
      if (query.outcome === 'failed') where.add('failed > ?', 0)
      const hours = await database.query<{ number: number }>(
        `SELECT extract(epoch FROM hour)::bigint / 3600 AS number FROM (
           SELECT DISTINCT hour FROM sluice.ledger_hours WHERE ${where.text} ORDER BY hour DESC LIMIT ${HOURS}
         ) AS h ORDER BY number DESC`,
        where.values,
      )
      return hours.map(({ number }) => number)
    },
    scan: async (query, stretch) => {
      const records = await readPiece(database, query, stretch)
      const rows = await withParts(database, records)
      if (rows.length === stretch.limit) return { rows, stopped: null, cost: 0 }
      const { stopped, passed } = await endOfPiece(database, stretch)
      return { rows, stopped, cost: passed / PAGE_ROWS + 1 / PAGE_PIECES }
    },
  }
}

/** A piece of a stretch: of $1 on, before the row of $2 and $3. By the first condition on it partitions are left out. */
const PIECE = `FROM sluice.ledger_rows
  WHERE begun_at >= $1 AND begun_at <= $2 AND (begun_at, id) < ($2, $3) ORDER BY begun_at DESC, id DESC`

function pieceValues({ before, from }: LedgerStretch): readonly string[] {
  return [isoTime(from), isoTime(generationTime(before)!), before]
}

function readPiece(
  database: Database,
  query: LedgerListQuery,
  stretch: LedgerStretch,
): Promise<readonly RowRecord[]> {
  const { scope, keyHash, model, provider, outcome, sessionId } = query
  const where = new Conditions(...pieceValues(stretch))
  where.add('kind = ?', 'call')
  where.addScope(scope)
  if (keyHash !== null) where.add('key_hash = ?', keyHash)
  if (model !== null) where.add('model = ?', model)
  if (provider !== null) where.add('provider = ?', provider)
  if (outcome !== null) where.add('outcome = ?', outcome)
  if (sessionId !== null) where.add(IN_SESSION, JSON.stringify(sessionId), readableText(sessionId))
  return database.query<RowRecord>(
    `SELECT ${ROW_COLUMNS} FROM (SELECT * ${PIECE} LIMIT ${PIECE_ROWS}) AS piece
     WHERE ${where.text} ORDER BY begun_at DESC, id DESC LIMIT ${stretch.limit}`,
    where.values,
  )
}

/** Few details are parsed: those that have the text somewhere. */
const IN_SESSION =
  'CASE WHEN position(? IN detail) > 0 THEN sluice.ledger_detail(detail) ->> 9 = ? ELSE false END'

/** As `sluice.ledger_detail` gives it; PostgreSQL refuses a text that holds U+0000. */
function readableText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed()
}

/** Whether a piece ended before its stretch did: at which id, and behind how many rows. */
async function endOfPiece(database: Database, stretch: LedgerStretch) {
  const [last] = await database.query<{ id: string }>(
    `SELECT id ${PIECE} OFFSET ${PIECE_ROWS - 1} LIMIT 1`,
    pieceValues(stretch),
  )
  return last === undefined ? { stopped: null, passed: 0 } : { stopped: last.id, passed: PIECE_ROWS }
}

/** Parts have the moment of their call. */
async function withParts(database: Database, calls: readonly RowRecord[]): Promise<LedgerRow[]> {
  if (calls.length === 0) return []
  const moments = calls.map(({ id }) => isoTime(generationTime(id)!))
  const records = await database.query<RowRecord>(
    `SELECT ${ROW_COLUMNS} FROM sluice.ledger_rows
     WHERE begun_at = ANY ($1) AND begun_at >= $2 AND begun_at <= $3 AND kind = 'part' ORDER BY place`,
    [moments, moments.at(-1), moments[0]],
  )
  const parts = new Map<string, LedgerRow[]>()
  for (const record of records) {
    const of = wholeId(record.id)
    parts.set(of, [...(parts.get(of) ?? []), decodeRow(record)])
  }
  return calls.map((call) => ({ ...decodeRow(call), parts: parts.get(call.id) ?? [] }))
}

// ── Sums of hours ───────────────────────────────────────────────────────────

function hourConditions({ scope, from, to, keyHash, model, provider }: LedgerFilter): Conditions {
  const where = new Conditions()
  where.addScope(scope)
  where.add('hour > ? AND hour < ?', isoTime(from - HOUR_MS), isoTime(to))
  if (keyHash !== null) where.add('key_hash = ?', keyHash)
  if (model !== null) where.add('model = ?', rollupName(model))
  if (provider !== null) where.add('provider = ?', rollupName(provider))
  return where
}

/** Columns that sums are told apart by; a null where they are not. */
function groupsOf(by: UsageQuery['by']): readonly string[] {
  const period = by.includes('hour') ? 'hour' : by.includes('day') ? `date_trunc('day', hour, 'UTC')` : null
  return [
    period === null ? 'NULL::bigint' : `(extract(epoch FROM ${period}) * 1000)::bigint`,
    by.includes('key') ? 'key_hash' : 'NULL',
    by.includes('model') ? 'model' : 'NULL',
    by.includes('provider') ? 'provider' : 'NULL',
  ]
}

/** See `LedgerReader.usage`. */
export function readPostgresUsage(database: Database, query: UsageQuery): Promise<readonly UsageLine[]> {
  const where = hourConditions(query)
  const [at, key, model, provider] = groupsOf(query.by)
  return database.query<UsageLine>(
    `SELECT ${at} AS at, ${key} AS "keyHash", ${model} AS model, ${provider} AS provider, sum(cost)::bigint AS cost,
       sum(prompt_tokens)::bigint AS "promptTokens", sum(completion_tokens)::bigint AS "completionTokens",
       sum(calls)::bigint AS calls, sum(failed)::bigint AS failed, sum(byok_cost)::bigint AS byok
     FROM sluice.ledger_hours WHERE ${where.text}
     GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT ${query.limit + 1}`,
    where.values,
  )
}
