/**
 * How the ledger lies in its tables. Rows are lines of text, in blocks of those that were dispatched at about the same
 * time and have come together: a put for each of them would cost more than everything else that is done with it. The
 * id of a generation holds its time, and so leads to the few blocks of its time slot. The nearest payer line above a
 * row in its block says who pays for it.
 *
 *     time slot, journal, position      ->  lines
 *
 * Beside them the books, in one table under keys that begin with a letter:
 *
 *     'j' journal                       ->  how far it has been taken
 *     'o' journal, generation           ->  lines of a call that was dispatched and is not over, and of its payer
 *     's' payer, period                 ->  sums of a payer: in all, of a day, a week, a month
 *     'h' hour, payer                   ->  sums of an hour; in the order of time, so that old ones go in one range
 */
import type { CalendarPeriod } from '../../base/utc-period.js'
import { generationTime, timeSlotAt } from '../ledger/generation-time.js'
import type { UsageSums } from '../ledger/ledger-batch.js'
import type { LedgerPayer } from '../ledger-store.js'
import { KEY_END } from './record-table.js'

export const LEDGER_TABLE_NAMES = { rows: 'ledger-rows', books: 'ledger-books' } as const

export function journalKey(journal: string): Buffer {
  return Buffer.from(`j${journal}`)
}

/** Begins the keys of all open calls of a journal. */
export function openCallPrefix(journal: string): Buffer {
  return openCallKey(journal, '')
}

export function openCallKey(journal: string, id: string): Buffer {
  return Buffer.from(`o${journal}${KEY_END}${id}`)
}

export function totalSumsKey(payer: LedgerPayer): Buffer {
  return Buffer.from(`s${payer}${KEY_END}`)
}

export function periodSumsKey(payer: LedgerPayer, name: CalendarPeriod, number: number | ''): Buffer {
  return Buffer.from(`s${payer}${KEY_END}${name}${number}`)
}

/**
 * The keys of earlier periods, the end exclusive. In the order of their texts, which is that of their numbers as long
 * as these have equally many digits: days until the year 2243.
 */
export function earlierPeriodsRange(payer: LedgerPayer, name: CalendarPeriod, number: number) {
  return { start: periodSumsKey(payer, name, ''), end: periodSumsKey(payer, name, number) }
}

export const HOUR_SUMS_PREFIX = Buffer.from('h')
const HOUR_CHARS = 8

export function hourSumsKey(hour: number, payer: LedgerPayer | ''): Buffer {
  return Buffer.from(`h${hour.toString(16).padStart(HOUR_CHARS, '0')}${payer}`)
}

const TIME_SLOT_BYTES = 6

/** Number of the time slot in which a generation began; null for what is no id of one. */
export function timeSlotOfGeneration(id: string): number | null {
  const at = generationTime(id)
  return at === null ? null : timeSlotAt(at)
}

/** Begins the keys of all blocks of a time slot. */
export function timeSlotPrefix(slot: number): Buffer {
  const bytes = Buffer.alloc(TIME_SLOT_BYTES)
  bytes.writeUIntBE(slot, 0, TIME_SLOT_BYTES)
  return bytes
}

/** @param place what no other part of any journal has */
export function rowBlockKey(slot: number, place: string): Buffer {
  return Buffer.concat([timeSlotPrefix(slot), Buffer.from(place)])
}

const SUMS_BYTES = 32

export function decodeSums(bytes: Uint8Array | undefined): UsageSums {
  if (bytes === undefined) return { cost: 0, promptTokens: 0, completionTokens: 0, calls: 0 }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    cost: view.getFloat64(0),
    promptTokens: view.getFloat64(8),
    completionTokens: view.getFloat64(16),
    calls: view.getFloat64(24),
  }
}

export function encodeSums({ cost, promptTokens, completionTokens, calls }: UsageSums): Buffer {
  const bytes = Buffer.allocUnsafe(SUMS_BYTES)
  bytes.writeDoubleBE(cost, 0)
  bytes.writeDoubleBE(promptTokens, 8)
  bytes.writeDoubleBE(completionTokens, 16)
  bytes.writeDoubleBE(calls, 24)
  return bytes
}
