/**
 * What payers have used, in the table of the ledger's books.
 *
 *     's' payer, period                 ->  sums of a payer: in all, of a day, a week, a month
 */
import { CALENDAR_PERIODS, type CalendarPeriod, periodNumber } from '../../base/utc-period.js'
import { hourStart } from '../ledger/generation-time.js'
import {
  addUsage,
  noUsage,
  USAGE_MEMBERS,
  type UsageDelta,
  type UsageSums,
  usageByPayer,
} from '../ledger/ledger-batch.js'
import type { TransferredSum } from '../ledger/ledger-transfer.js'
import { type InclusivePayer, type LedgerPayer, payersWithin, type Spending } from '../ledger-store.js'
import { KEY_END } from '../records/record-table.js'
import type { LmdbEnvironment } from './environment.js'
import type { KeyRange, LmdbByteTable, TableEntry } from './table.js'

/** Records removed in one transaction: few, so that no other process waits long for the next one. */
const MAX_PRUNED_RECORDS = 200

/** Periods whose sums are kept for each payer: more than any clock jumps, fewer than would fill a disk. */
const KEPT_PERIODS: Readonly<Record<CalendarPeriod, number>> = { daily: 400, weekly: 60, monthly: 14 }

/** A sum that grows, and the sums that nothing reads any more once there is this one. */
interface SumsRecord {
  readonly key: Buffer
  readonly outdated: Pick<KeyRange, 'start' | 'end'> | null
}

/** For the inside of transactions and snapshots of the environment. */
export class LedgerSums {
  readonly #env: LmdbEnvironment
  readonly #table: LmdbByteTable

  constructor(env: LmdbEnvironment, table: LmdbByteTable) {
    this.#env = env
    this.#table = table
  }

  spending(payer: LedgerPayer, now: number): Spending {
    const spentIn = (name: CalendarPeriod): number =>
      this.spentIn(payer, { name, number: periodNumber(name, now) })
    const total = this.spentIn(payer, null)
    return { total, daily: spentIn('daily'), weekly: spentIn('weekly'), monthly: spentIn('monthly') }
  }

  spentIn(
    payer: LedgerPayer | InclusivePayer,
    period: { readonly name: CalendarPeriod; readonly number: number } | null,
  ): number {
    let cost = 0
    for (const each of payersWithin(payer)) {
      const key = period === null ? totalKey(each) : periodKey(each, period.name, period.number)
      cost += decodeSums(this.#env.get(this.#table, key)).cost
    }
    return cost
  }

  /** Each sum is read and written once, however many calls it has grown by. */
  add(deltas: readonly UsageDelta[]): void {
    const grown = new Map<string, { readonly record: SumsRecord; readonly by: UsageSums }>()
    for (const delta of deltas) {
      for (const { record, used } of recordsOf(delta)) {
        const name = record.key.toString('latin1')
        const known = grown.get(name)
        if (known === undefined) grown.set(name, { record, by: { ...used } })
        else addUsage(known.by, used)
      }
    }
    for (const { record, by } of grown.values()) this.#grow(record, by)
  }

  /** Puts the sum of a payer. */
  put({ payer, period, ...sums }: TransferredSum): void {
    this.#table.put(Buffer.from(`s${payer}${KEY_END}${period === NEVER ? '' : period}`), encodeSums(sums))
  }

  /** The sum that stands under a key; null when the key is of something else. */
  read({ key, value }: TableEntry): TransferredSum | null {
    const text = key.toString('latin1')
    const end = text.indexOf(KEY_END)
    if (!text.startsWith(SUMS_PREFIX) || end < 0) return null
    const period = text.slice(end + KEY_END.length)
    return { payer: text.slice(1, end), period: period === '' ? NEVER : period, ...decodeSums(value) }
  }

  #grow({ key, outdated }: SumsRecord, by: UsageSums): void {
    const before = this.#env.get(this.#table, key)
    const sums = decodeSums(before)
    addUsage(sums, by)
    this.#table.put(key, encodeSums(sums))
    if (before === undefined && outdated !== null) {
      removeSomeRecords(this.#table, outdated.start, outdated.end)
    }
  }
}

/** Removes records from `start` on and before `end`, a few at most. True when there may be more of them. */
export function removeSomeRecords(table: LmdbByteTable, start: Uint8Array | null, end: Uint8Array): boolean {
  const keys: Uint8Array[] = []
  for (const { key } of table.getRange(start === null ? {} : { start })) {
    if (keys.length === MAX_PRUNED_RECORDS || Buffer.compare(key, end) >= 0) break
    keys.push(Buffer.from(key))
  }
  for (const key of keys) table.remove(key)
  return keys.length === MAX_PRUNED_RECORDS
}

function recordsOf(delta: UsageDelta): { readonly record: SumsRecord; readonly used: UsageSums }[] {
  const at = hourStart(delta.hour)
  return usageByPayer(delta).flatMap(({ payer, used }) => [
    { record: { key: totalKey(payer), outdated: null }, used },
    ...CALENDAR_PERIODS.map((period) => {
      const number = periodNumber(period, at)
      const key = periodKey(payer, period, number)
      const outdated = earlierPeriods(payer, period, number - KEPT_PERIODS[period])
      return { record: { key, outdated }, used }
    }),
  ])
}

function totalKey(payer: LedgerPayer): Buffer {
  return Buffer.from(`s${payer}${KEY_END}`)
}

function periodKey(payer: LedgerPayer, name: CalendarPeriod, number: number | ''): Buffer {
  return Buffer.from(`s${payer}${KEY_END}${name}${number}`)
}

/**
 * The keys of earlier periods, the end exclusive. In the order of their texts, which is that of their numbers as long
 * as these have equally many digits: days until the year 2243.
 */
function earlierPeriods(payer: LedgerPayer, name: CalendarPeriod, number: number): SumsRecord['outdated'] {
  return { start: periodKey(payer, name, ''), end: periodKey(payer, name, number) }
}

/** What a transfer calls the sum of all periods. */
const NEVER = 'never'
const SUMS_PREFIX = 's'
const FIGURE_BYTES = 8

function decodeSums(bytes: Uint8Array | undefined): UsageSums {
  const sums = noUsage()
  if (bytes === undefined) return sums
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [at, member] of USAGE_MEMBERS.entries()) sums[member] = view.getFloat64(at * FIGURE_BYTES)
  return sums
}

function encodeSums(sums: UsageSums): Buffer {
  const bytes = Buffer.allocUnsafe(USAGE_MEMBERS.length * FIGURE_BYTES)
  for (const [at, member] of USAGE_MEMBERS.entries()) bytes.writeDoubleBE(sums[member], at * FIGURE_BYTES)
  return bytes
}
