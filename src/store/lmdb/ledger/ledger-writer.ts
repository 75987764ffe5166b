import { PERIODS, type Period, periodNumber } from '../../../base/utc-period.js'
import { add, type LedgerPart, type Share, type Sums } from '../../ledger/ledger-part.js'
import { hourOf, hourStart } from '../../ledger/moments.js'
import { lineId } from '../../ledger/row-text.js'
import type { JournalMark, JournalPosition, LedgerWriter } from '../../ledger/writable-ledger.js'
import { keyPayer, organizationPayer, type Payer } from '../../ledger-store.js'
import { decoded, encoded } from '../accounts/account-layout.js'
import type { Environment } from '../environment.js'
import {
  blockKey,
  blocksFrom,
  HOURS,
  hourKey,
  journalKey,
  type LedgerTables,
  openKey,
  openPrefix,
  periodKey,
  periodsBefore,
  sumsBytes,
  sumsOf,
  totalKey,
} from './ledger-layout.js'

/** Blocks removed in one transaction: few, so that nobody waits long for the next one. */
const PRUNED_AT_ONCE = 200

/** Brings journals into the ledger. Every change is one transaction, with the mark of how far the journal is taken. */
export class LmdbLedgerWriter implements LedgerWriter {
  readonly #env: Environment
  readonly #tables: LedgerTables

  constructor(env: Environment, tables: LedgerTables) {
    this.#env = env
    this.#tables = tables
  }

  journal(name: string): { readonly mark: JournalMark; readonly open: Map<string, string> } {
    try {
      const open = new Map<string, string>()
      for (const bytes of this.#env.range(this.#tables.books, openPrefix(name))) {
        const lines = bytes.toString('latin1')
        open.set(lineId(lines.slice(lines.indexOf('\n') + 1)), lines)
      }
      return { mark: this.#mark(name), open }
    } finally {
      this.#env.release()
    }
  }

  take(
    journal: string,
    from: JournalPosition,
    part: LedgerPart,
    to: JournalMark,
  ): { readonly committed: Promise<boolean>; readonly durable: Promise<boolean> } {
    return this.#env.write(() => {
      const mark = this.#mark(journal)
      if (mark.done || mark.segment !== from.segment || mark.offset !== from.offset) return false
      const { rows, books } = this.#tables
      const place = `${journal}.${from.segment}.${from.offset}${to.done ? '.end' : ''}`
      for (const [moment, { lines }] of part.blocks) {
        rows.put(blockKey(moment, place), Buffer.from(lines.join('\n'), 'latin1'))
      }
      for (const id of part.over) books.remove(openKey(journal, id))
      if (!to.done) {
        for (const [id, lines] of part.opened) books.put(openKey(journal, id), Buffer.from(lines, 'latin1'))
      }
      this.#addUp(part.shares)
      books.put(journalKey(journal), encoded(to))
      return true
    })
  }

  forget(journal: string): Promise<boolean> {
    return this.#env.write(() => {
      this.#tables.books.remove(journalKey(journal))
      return true
    }).durable
  }

  prune(before: number): Promise<boolean> {
    const { rows, books } = this.#tables
    return this.#env.write(() => {
      const old = keysBefore(rows, null, blocksFrom(before))
      for (const key of old) rows.remove(key)
      const hours = keysBefore(books, HOURS, hourKey(hourOf(before), ''))
      for (const key of hours) books.remove(key)
      return old.length === PRUNED_AT_ONCE || hours.length === PRUNED_AT_ONCE
    }).committed
  }

  #mark(journal: string): JournalMark {
    const bytes = this.#env.get(this.#tables.books, journalKey(journal))
    return bytes === undefined ? { segment: 0, offset: 0, done: false } : decoded<JournalMark>(bytes)
  }

  #addUp(shares: readonly Share[]): void {
    // Each sum is read and written once, however many calls it has grown by.
    const grown = new Map<string, { readonly place: Place; readonly by: Sums }>()
    const grow = (place: Place, by: Sums): void => {
      const name = place.at.toString('latin1')
      const sums = grown.get(name)
      if (sums === undefined) grown.set(name, { place, by: { ...by } })
      else add(sums.by, by.cost, by.promptTokens, by.completionTokens, by.calls)
    }
    for (const share of shares) {
      for (const payer of [keyPayer(share.keyHash), organizationPayer(share.organizationId)]) {
        for (const place of placesOf(payer, share.hour)) grow(place, share)
      }
    }
    const { books } = this.#tables
    for (const { place, by } of grown.values()) {
      const { at, outdated } = place
      const before = this.#env.get(books, at)
      const sums = sumsOf(before)
      add(sums, by.cost, by.promptTokens, by.completionTokens, by.calls)
      books.put(at, sumsBytes(sums))
      if (before !== undefined || outdated === null) continue
      for (const key of keysBefore(books, outdated.from, outdated.to)) books.remove(key)
    }
  }
}

/** A sum, and the sums that nobody needs any more when there is this one. */
interface Place {
  readonly at: Buffer
  readonly outdated: { readonly from: Buffer; readonly to: Buffer } | null
}

/** Periods whose sums are kept for each payer: more than any clock jumps, fewer than would fill a disk. */
const KEPT: Readonly<Record<Period, number>> = { daily: 400, weekly: 60, monthly: 14 }

function placesOf(payer: Payer, hour: number): Place[] {
  const at = hourStart(hour)
  const periods = PERIODS.map((period) => {
    const number = periodNumber(period, at)
    const outdated = periodsBefore(payer, period, number - KEPT[period])
    return { at: periodKey(payer, period, number), outdated }
  })
  return [{ at: totalKey(payer), outdated: null }, { at: hourKey(hour, payer), outdated: null }, ...periods]
}

/** From `start` on, up to a few. */
function keysBefore(table: LedgerTables['rows'], start: Buffer | null, end: Buffer): Uint8Array[] {
  const keys: Uint8Array[] = []
  for (const { key } of table.getRange(start === null ? {} : { start })) {
    if (keys.length === PRUNED_AT_ONCE || Buffer.compare(key, end) >= 0) break
    keys.push(Buffer.from(key))
  }
  return keys
}
