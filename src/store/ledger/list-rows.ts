/**
 * A page of the ledger, the newest rows first. Ids tell times and are in their order, so a place in the ledger is an id.
 * The roll-ups of hours tell which hours hold anything that is looked for; only these are gone through, a piece at a
 * time, and a page ends when it has cost enough, full or not.
 */
import type { LedgerListQuery, LedgerPage, LedgerRow } from '../ledger-store.js'
import { firstIdAt, generationTime, hourAt, hourStart, partNumber } from './generation-time.js'

/** A stretch of the ledger to go through, backwards. */
export interface LedgerStretch {
  /** Only ids before this one. */
  readonly before: string
  /** Only from this moment on. */
  readonly from: number
  readonly limit: number
}

interface ScannedRows {
  readonly rows: readonly LedgerRow[]
  /** The id at which it stopped; null when it went through all of the stretch, or has as many rows as were asked for. */
  readonly stopped: string | null
  /** Which part of what a page may cost it was. */
  readonly cost: number
}

/** What a store does of it. */
export interface RowScan {
  /** The latest hours up to one that hold what is looked for, latest first; more than one where that is cheap. */
  hours(query: LedgerListQuery, upTo: number): Promise<readonly number[]>
  /** Goes through a piece of a stretch. */
  scan(query: LedgerListQuery, stretch: LedgerStretch): Promise<ScannedRows>
}

/** One page. */
export async function listRows(source: RowScan, query: LedgerListQuery): Promise<LedgerPage | null> {
  const { from, to, limit } = query
  const rows: LedgerRow[] = []
  const known: number[] = []
  if (query.before !== null && generationTime(query.before) === null) return null
  let before = earlierOf(query.before, firstIdAt(to))
  let upTo = hourAt(generationTime(before)!)
  for (let cost = 0; cost < 1; ) {
    while (known.length > 0 && known[0]! > upTo) known.shift()
    if (known.length === 0) known.push(...(await source.hours(query, upTo)))
    const hour = known[0]
    if (hour === undefined || hourStart(hour + 1) <= from) return { rows, next: null }
    before = earlierOf(before, firstIdAt(hourStart(hour + 1)))
    const stretch = { before, from: Math.max(from, hourStart(hour)), limit: limit + 1 - rows.length }
    const scanned = await source.scan(query, stretch)
    rows.push(...scanned.rows.map(withPartsInOrder))
    if (rows.length > limit) {
      rows.length = limit
      return { rows, next: placeOf(rows.at(-1)!.id) }
    }
    cost += scanned.cost
    before = scanned.stopped ?? firstIdAt(stretch.from)
    upTo = scanned.stopped === null ? hour - 1 : hour
    if (upTo < hour && stretch.from <= from) return { rows, next: null }
  }
  return { rows, next: placeOf(before) }
}

function placeOf(before: string): LedgerPage['next'] {
  return { before, at: generationTime(before)! }
}

function withPartsInOrder(row: LedgerRow): LedgerRow {
  if (row.parts.length < 2) return row
  return { ...row, parts: row.parts.toSorted((a, b) => partNumber(a.id) - partNumber(b.id)) }
}

function earlierOf(a: string | null, b: string): string {
  return a !== null && a < b ? a : b
}
