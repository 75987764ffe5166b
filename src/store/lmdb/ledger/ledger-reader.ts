import { CALENDAR_PERIODS, type CalendarPeriod } from '../../../base/utc-period.js'
import { findRow } from '../../ledger/row-text.js'
import type { LedgerPayer, LedgerReader, LedgerRow, Spending } from '../../ledger-store.js'
import type { LmdbEnvironment } from '../environment.js'
import {
  decodeSums,
  type LedgerTables,
  periodSumsKey,
  periodSumsKeyAt,
  timeSlotOfGeneration,
  timeSlotPrefix,
  totalSumsKey,
} from './ledger-layout.js'

/** Reads of the ledger, each from a snapshot of its own. */
export class LmdbLedgerReader implements LedgerReader {
  readonly #env: LmdbEnvironment
  readonly #tables: LedgerTables

  constructor(env: LmdbEnvironment, tables: LedgerTables) {
    this.#env = env
    this.#tables = tables
  }

  row(id: string): LedgerRow | null {
    const moment = timeSlotOfGeneration(id)
    if (moment === null) return null
    try {
      for (const block of this.#env.valuesWithPrefix(this.#tables.rows, timeSlotPrefix(moment))) {
        const row = findRow(block, id)
        if (row !== null) return row
      }
      return null
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  spending(payer: LedgerPayer, now: number): Spending {
    try {
      const [daily, weekly, monthly] = CALENDAR_PERIODS.map((period) =>
        this.#cost(periodSumsKeyAt(payer, period, now)),
      )
      return { total: this.#cost(totalSumsKey(payer)), daily: daily!, weekly: weekly!, monthly: monthly! }
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  spentIn(
    payer: LedgerPayer,
    period: { readonly name: CalendarPeriod; readonly number: number } | null,
  ): number {
    try {
      return this.#cost(
        period === null ? totalSumsKey(payer) : periodSumsKey(payer, period.name, period.number),
      )
    } finally {
      this.#env.releaseSnapshot()
    }
  }

  #cost(at: Buffer): number {
    return decodeSums(this.#env.get(this.#tables.books, at)).cost
  }
}
