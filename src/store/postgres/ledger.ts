/**
 * The ledger that machines share, in PostgreSQL: see migrations/004_ledger.sql. A machine brings the pieces of all its
 * journals in one statement, which takes them all or none, with the marks of how far its journals are taken.
 */
import { Fault } from '../../base/fault.js'
import { generationTime, isPart, partNumber } from '../ledger/generation-time.js'
import type { UsageDelta } from '../ledger/ledger-batch.js'
import { listRows } from '../ledger/list-rows.js'
import { lineId, parseLostLine } from '../ledger/row-text.js'
import type { JournalPiece, JournalState, WritableLedger } from '../ledger/writable-ledger.js'
import type { LedgerReader, LedgerRow, Spending } from '../ledger-store.js'
import type { Database } from './database.js'
import { readPostgresUsage, scanPostgresRows } from './ledger-list.js'
import { decodeRow, lineOf, ROW_COLUMNS, type RowRecord } from './ledger-records.js'
import { RowColumns } from './ledger-rows.js'
import { hourColumns, periodName, periodsAt, sumColumns } from './ledger-sums.js'

/** An amount of a quota of money that rows have used. */
interface SpentAmount {
  readonly name: string
  readonly amount: number
  /** It was reserved from a lease. */
  readonly leased: boolean
}

interface PostgresLedgerOptions {
  readonly database: Database
  /** Name of this machine. */
  readonly machine: string
  /** Identity of the data folder that its journals lie in, which keeps them apart from those of all others. */
  readonly folder: string
  /** The epoch in which it holds its leases now. */
  readonly epoch: () => number
  /** What rows take out of quotas: leases are settled in the transaction of the rows. */
  readonly spentBy: (deltas: readonly UsageDelta[]) => readonly SpentAmount[]
  /** So many rows could not be taken for good; they were put aside. */
  readonly onRefused: (rows: number) => void
}

/** Of journals that were left by an earlier run of this machine. */
const NO_EPOCH = 0
const DONE = Object.freeze({ committed: Promise.resolve(true), durable: Promise.resolve(true) })

/** The ledger as the machine's only process that writes it has it. The database outlives it. */
export function openPostgresLedger(options: PostgresLedgerOptions): WritableLedger {
  const { database, machine, folder } = options
  const underWay = new Set<Promise<unknown>>()
  /** Of statements that are over. */
  const spare: RowColumns[] = []
  const append = async (pieces: readonly JournalPiece[], isInherited: boolean): Promise<boolean> => {
    const deltas = pieces.flatMap(({ batch }) => batch.deltas)
    const spent = options.spentBy(deltas)
    const epoch = isInherited ? NO_EPOCH : options.epoch()
    const rows = spare.pop() ?? new RowColumns()
    for (const piece of pieces) rows.addPiece(piece)
    const values = [
      ...[machine, folder, epoch],
      ...pieceColumns(pieces),
      ...rows.values,
      ...openCallColumns(pieces),
      ...hourColumns(deltas),
      ...sumColumns(deltas),
      ...[spent.map(({ name }) => name), spent.map(({ amount }) => amount)],
      spent.map(({ leased }) => leased),
    ]
    const [outcome] = await database.query<{ refused: number | null }>(
      `SELECT sluice.take_journals(${placeholders(values.length)}) AS refused`,
      values,
    )
    // Nobody reads them any more; behind a failure that is not known.
    rows.clear()
    spare.push(rows)
    const refused = outcome?.refused ?? null
    if (refused !== null && refused > 0) options.onRefused(refused)
    return refused !== null
  }
  return {
    ...openPostgresLedgerReader(database),
    readJournal: (name) => readJournal(database, folder, name),
    append: (pieces, isInherited) => {
      if (pieces.length === 0) return DONE
      const committed = append(pieces, isInherited)
      const settled = committed.catch(() => {}).finally(() => underWay.delete(settled))
      underWay.add(settled)
      // The database answers a commit when its disk has it.
      return { committed, durable: committed }
    },
    // `sluice.keep_ledger` removes it.
    forgetJournal: async (name) => {
      await database.query(
        'UPDATE sluice.ledger_journals SET removed = true WHERE folder = $1 AND journal = $2 AND done',
        [folder, name],
      )
      return true
    },
    prune: async ({ days }) => {
      const [kept] = await database.query<{ more: boolean }>('SELECT sluice.keep_ledger($1) AS more', [days])
      return kept?.more === true
    },
    isWriting: () => false,
    close: async () => {
      await Promise.all(underWay)
    },
  }
}

/** The ledger as any process reads it. */
export function openPostgresLedgerReader(database: Database): LedgerReader {
  const scan = scanPostgresRows(database)
  return {
    list: (query) => listRows(scan, query),
    usage: (query) => readPostgresUsage(database, query),
    row: (id) => readRow(database, id),
    spending: async (payers, now) => {
      const periods = periodsAt(now)
      const sums = await database.query<{ payer: string; period: string; cost: number }>(
        'SELECT payer, period, cost FROM sluice.ledger_sums WHERE payer = ANY ($1) AND period = ANY ($2)',
        [payers, periods],
      )
      const costs = new Map(sums.map(({ payer, period, cost }) => [`${payer} ${period}`, cost]))
      return payers.map((payer) => {
        const [total, daily, weekly, monthly] = periods.map((period) => costs.get(`${payer} ${period}`) ?? 0)
        return { total, daily, weekly, monthly } as Spending
      })
    },
    spentIn: async (payer, period) => {
      const [sum] = await database.query<{ cost: number }>('SELECT sluice.spent($1, $2) AS cost', [
        ...[payer, periodName(period)],
      ])
      return sum?.cost ?? 0
    },
  }
}

/** Makes the journal known; from then on only this machine's statements move its mark. */
async function readJournal(database: Database, folder: string, name: string): Promise<JournalState> {
  const known = await database.query<{
    segment: number
    position: number
    done: boolean
    lines: string | null
  }>(
    `WITH made AS (
       INSERT INTO sluice.ledger_journals (folder, journal) VALUES ($1, $2)
       ON CONFLICT DO NOTHING RETURNING segment, position, done
     )
     SELECT segment, position, done, NULL AS lines FROM made
     UNION ALL
     SELECT j.segment, j.position, j.done, o.lines FROM sluice.ledger_journals j
     LEFT JOIN sluice.ledger_open_calls o USING (folder, journal) WHERE folder = $1 AND journal = $2`,
    [folder, name],
  )
  const [first] = known
  // Another statement made it in the same moment, and this one saw neither.
  if (first === undefined) throw new Fault('unavailable', { retryAfter: 1, detail: 'a journal has changed' })
  const open = new Map<string, string>()
  for (const { lines } of known) {
    if (lines === null) continue
    // As in a journal: a character for a byte.
    const both = Buffer.from(lines).toString('latin1')
    open.set(lineId(both.slice(both.indexOf('\n') + 1)), both)
  }
  const { segment, position: offset, done } = first
  return { mark: { segment, offset, done }, open }
}

async function readRow(database: Database, id: string): Promise<LedgerRow | null> {
  const at = generationTime(id)
  if (at === null) return null
  const records = await database.query<RowRecord>(
    `SELECT ${ROW_COLUMNS} FROM sluice.ledger_rows
     WHERE begun_at = $1 AND id >= $2 AND id < $3 ORDER BY place`,
    // A slash comes next behind the dot of its parts.
    [new Date(at).toISOString(), id, `${id}/`],
  )
  const whole = records.find((record) => record.kind !== 'lost' && record.id === id)
  if (whole === undefined) return null
  const isBeneath = (record: RowRecord): boolean => record.id !== id
  const parts = records.filter((record) => record.kind === 'part' && isBeneath(record)).map(decodeRow)
  parts.sort((a, b) => partNumber(a.id) - partNumber(b.id))
  const lost = records.filter(({ kind }) => kind === 'lost')
  lost.sort((a, b) => Number(isPart(a.id)) - Number(isPart(b.id)))
  return { ...decodeRow(whole), lost: lost.map((record) => parseLostLine(lineOf(record))), parts }
}

// ── The parameters of `sluice.take_journals`, in its order ──────────────────

function pieceColumns(pieces: readonly JournalPiece[]): readonly unknown[] {
  return [
    pieces.map(({ journal }) => journal),
    pieces.map(({ from }) => from.segment),
    pieces.map(({ from }) => from.offset),
    pieces.map(({ to }) => to.segment),
    pieces.map(({ to }) => to.offset),
    pieces.map(({ to }) => to.done),
  ]
}

function openCallColumns(pieces: readonly JournalPiece[]): readonly unknown[] {
  const closed = pieces.flatMap(({ journal, batch }) => batch.closedIds.map((id) => [journal, id] as const))
  const opened = pieces
    .filter(({ to }) => !to.done)
    .flatMap(({ journal, batch }) => [...batch.opened].map(([id, lines]) => [journal, id, lines] as const))
  return [
    closed.map(([journal]) => journal),
    closed.map(([, id]) => id),
    opened.map(([journal]) => journal),
    opened.map(([, id]) => id),
    opened.map(([, , lines]) => Buffer.from(lines.replaceAll('\0', '?'), 'latin1').toString('utf8')),
  ]
}

/** `$1, $2 …` */
export function placeholders(count: number): string {
  return Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ')
}
