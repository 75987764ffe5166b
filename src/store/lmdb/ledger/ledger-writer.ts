import { CALENDAR_PERIODS, type CalendarPeriod, periodNumber } from '../../../base/utc-period.js'
import { addUsage, type LedgerBatch, type UsageDelta, type UsageSums } from '../../ledger/ledger-batch.js'
import { lineId } from '../../ledger/row-text.js'
import { hourOf, hourStart } from '../../ledger/time-slots.js'
import type { JournalPosition, JournalProgress, LedgerWriter } from '../../ledger/writable-ledger.js'
import { keyPayer, type LedgerPayer, organizationPayer } from '../../ledger-store.js'
import { decodeRecord, encodeRecord } from '../accounts/account-layout.js'
import type { LmdbEnvironment } from '../environment.js'
import {
  blockKey,
  decodeSums,
  earlierPeriodsRange,
  encodeSums,
  firstBlockKeyAt,
  HOUR_SUMS_PREFIX,
  hourSumsKey,
  journalKey,
  type LedgerTables,
  openCallKey,
  openCallPrefix,
  periodSumsKey,
  totalSumsKey,
} from './ledger-layout.js'

/** Blocks removed in one transaction: few, so that nobody waits long for the next one. */
const MAX_PRUNED_RECORDS = 200

/** Brings journals into the ledger. Every change is one transaction, with the mark of how far the journal is taken. */
export class LmdbLedgerWriter implements LedgerWriter {
  readonly #env: LmdbEnvironment
  readonly #tables: LedgerTables

  constructor(env: LmdbEnvironment, tables: LedgerTables) {
    this.#env = env
    this.#tables = tables
  }

  readJournal(name: string): { readonly mark: JournalProgress; readonly open: Map<string, string> } {
    try {
      const open = new Map<string, string>()
      for (const bytes of this.#env.valuesWithPrefix(this.#tables.books, openCallPrefix(name))) {
        const lines = bytes.toString('latin1')
        open.set(lineId(lines.slice(lines.indexOf('\n') + 1)), lines)
      }
      return { mark: this.#progressOf(name), open }
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  appendBatch(
    journal: string,
    from: JournalPosition,
    part: LedgerBatch,
    to: JournalProgress,
  ): { readonly committed: Promise<boolean>; readonly durable: Promise<boolean> } {
    return this.#env.write(() => {
      const mark = this.#progressOf(journal)
      if (mark.done || mark.segment !== from.segment || mark.offset !== from.offset) return false
      const { rows, books } = this.#tables
      const place = `${journal}.${from.segment}.${from.offset}${to.done ? '.end' : ''}`
      for (const [moment, { lines }] of part.blocks) {
        rows.put(blockKey(moment, place), Buffer.from(lines.join('\n'), 'latin1'))
      }
      for (const id of part.closedIds) books.remove(openCallKey(journal, id))
      if (!to.done) {
        for (const [id, lines] of part.opened)
          books.put(openCallKey(journal, id), Buffer.from(lines, 'latin1'))
      }
      this.#addDeltas(part.deltas)
      books.put(journalKey(journal), encodeRecord(to))
      return true
    })
  }

  forgetJournal(journal: string): Promise<boolean> {
    return this.#env.write(() => {
      this.#tables.books.remove(journalKey(journal))
      return true
    }).durable
  }

  prune(before: number): Promise<boolean> {
    const { rows, books } = this.#tables
    return this.#env.write(() => {
      const old = keysBefore(rows, null, firstBlockKeyAt(before))
      for (const key of old) rows.remove(key)
      const hours = keysBefore(books, HOUR_SUMS_PREFIX, hourSumsKey(hourOf(before), ''))
      for (const key of hours) books.remove(key)
      return old.length === MAX_PRUNED_RECORDS || hours.length === MAX_PRUNED_RECORDS
    }).committed
  }

  #progressOf(journal: string): JournalProgress {
    const bytes = this.#env.get(this.#tables.books, journalKey(journal))
    return bytes === undefined ? { segment: 0, offset: 0, done: false } : decodeRecord<JournalProgress>(bytes)
  }

  #addDeltas(shares: readonly UsageDelta[]): void {
    // Each sum is read and written once, however many calls it has grown by.
    const grown = new Map<string, { readonly place: SumsRecord; readonly by: UsageSums }>()
    const addToRecord = (place: SumsRecord, by: UsageSums): void => {
      const name = place.at.toString('latin1')
      const sums = grown.get(name)
      if (sums === undefined) grown.set(name, { place, by: { ...by } })
      else addUsage(sums.by, by.cost, by.promptTokens, by.completionTokens, by.calls)
    }
    for (const share of shares) {
      for (const payer of [keyPayer(share.keyHash), organizationPayer(share.organizationId)]) {
        for (const place of sumsRecordsOf(payer, share.hour)) addToRecord(place, share)
      }
    }
    const { books } = this.#tables
    for (const { place, by } of grown.values()) {
      const { at, outdated } = place
      const before = this.#env.get(books, at)
      const sums = decodeSums(before)
      addUsage(sums, by.cost, by.promptTokens, by.completionTokens, by.calls)
      books.put(at, encodeSums(sums))
      if (before !== undefined || outdated === null) continue
      for (const key of keysBefore(books, outdated.from, outdated.to)) books.remove(key)
    }
  }
}

/** A sum, and the sums that nobody needs any more when there is this one. */
interface SumsRecord {
  readonly at: Buffer
  readonly outdated: { readonly from: Buffer; readonly to: Buffer } | null
}

/** Periods whose sums are kept for each payer: more than any clock jumps, fewer than would fill a disk. */
const KEPT_PERIODS: Readonly<Record<CalendarPeriod, number>> = { daily: 400, weekly: 60, monthly: 14 }

function sumsRecordsOf(payer: LedgerPayer, hour: number): SumsRecord[] {
  const at = hourStart(hour)
  const periods = CALENDAR_PERIODS.map((period) => {
    const number = periodNumber(period, at)
    const outdated = earlierPeriodsRange(payer, period, number - KEPT_PERIODS[period])
    return { at: periodSumsKey(payer, period, number), outdated }
  })
  return [
    { at: totalSumsKey(payer), outdated: null },
    { at: hourSumsKey(hour, payer), outdated: null },
    ...periods,
  ]
}

/** From `start` on, up to a few. */
function keysBefore(table: LedgerTables['rows'], start: Buffer | null, end: Buffer): Uint8Array[] {
  const keys: Uint8Array[] = []
  for (const { key } of table.getRange(start === null ? {} : { start })) {
    if (keys.length === MAX_PRUNED_RECORDS || Buffer.compare(key, end) >= 0) break
    keys.push(Buffer.from(key))
  }
  return keys
}
