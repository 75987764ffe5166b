import { PERIODS, type Period } from '../../../base/utc-period.js'
import { rowIn } from '../../ledger/row-text.js'
import type { LedgerReader, LedgerRow, Payer, Spending } from '../../ledger-store.js'
import type { Environment } from '../environment.js'
import {
  type LedgerTables,
  momentOf,
  momentPrefix,
  periodKey,
  periodKeyAt,
  sumsOf,
  totalKey,
} from './ledger-layout.js'

/** Reads of the ledger, each from a snapshot of its own. */
export class LmdbLedgerReader implements LedgerReader {
  readonly #env: Environment
  readonly #tables: LedgerTables

  constructor(env: Environment, tables: LedgerTables) {
    this.#env = env
    this.#tables = tables
  }

  row(id: string): LedgerRow | null {
    const moment = momentOf(id)
    if (moment === null) return null
    try {
      for (const block of this.#env.range(this.#tables.rows, momentPrefix(moment))) {
        const row = rowIn(block, id)
        if (row !== null) return row
      }
      return null
    } finally {
      this.#env.release()
    }
  }

  spending(payer: Payer, now: number): Spending {
    try {
      const [daily, weekly, monthly] = PERIODS.map((period) => this.#cost(periodKeyAt(payer, period, now)))
      return { total: this.#cost(totalKey(payer)), daily: daily!, weekly: weekly!, monthly: monthly! }
    } finally {
      this.#env.release()
    }
  }

  spentIn(payer: Payer, period: { readonly name: Period; readonly number: number } | null): number {
    try {
      return this.#cost(period === null ? totalKey(payer) : periodKey(payer, period.name, period.number))
    } finally {
      this.#env.release()
    }
  }

  #cost(at: Buffer): number {
    return sumsOf(this.#env.get(this.#tables.books, at)).cost
  }
}
