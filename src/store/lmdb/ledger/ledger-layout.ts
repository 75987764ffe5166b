/**
 * How the ledger lies in its tables. Rows are lines of text, in blocks of those that were dispatched at about the same
 * time and have come together: a put for each of them would cost more than everything else that is done with it. The
 * id of a generation holds its time, and so leads to the few blocks of that moment. Who pays for a row says the
 * nearest payer line above it in its block.
 *
 *     time, journal, position           ->  lines
 *
 * Beside them the books, in one table under keys that begin with a letter:
 *
 *     'j' journal                       ->  how far it has been taken
 *     'o' journal, generation           ->  lines of a call that was dispatched and is not over, and of its payer
 *     's' payer, period                 ->  sums of a payer: in all, of a day, a week, a month
 *     'h' hour, payer                   ->  sums of an hour; in the order of time, so that old ones go in one range
 */
import { type CalendarPeriod, periodNumber } from '../../../base/utc-period.js'
import { generationTime } from '../../ledger/generation-time.js'
import type { UsageSums } from '../../ledger/ledger-batch.js'
import { timeSlotAt } from '../../ledger/time-slots.js'
import type { LedgerPayer } from '../../ledger-store.js'
import type { LmdbByteTable } from '../environment.js'

export interface LedgerTables {
  readonly rows: LmdbByteTable
  readonly books: LmdbByteTable
}

export const LEDGER_TABLE_NAMES = { rows: 'ledger-rows', books: 'ledger-books' } as const

const END = '\0'
const HOUR_CHARS = 8

export function journalKey(journal: string): Buffer {
  return Buffer.from(`j${journal}`)
}

export function openCallPrefix(journal: string): Buffer {
  return Buffer.from(`o${journal}${END}`)
}

export function openCallKey(journal: string, id: string): Buffer {
  return Buffer.from(`o${journal}${END}${id}`)
}

export function totalSumsKey(payer: LedgerPayer): Buffer {
  return Buffer.from(`s${payer}${END}`)
}

export function periodSumsKey(payer: LedgerPayer, name: CalendarPeriod, number: number): Buffer {
  return Buffer.from(`s${payer}${END}${name}${number}`)
}

/**
 * Stretch of the keys of earlier periods, the end exclusive. In the order of their texts, which is that of their
 * numbers as long as these have equally many digits: days until the year 2243.
 */
export function earlierPeriodsRange(
  payer: LedgerPayer,
  name: CalendarPeriod,
  number: number,
): { from: Buffer; to: Buffer } {
  return { from: Buffer.from(`s${payer}${END}${name}`), to: periodSumsKey(payer, name, number) }
}

/** Of the period that a moment lies in. */
export function periodSumsKeyAt(payer: LedgerPayer, name: CalendarPeriod, unixMs: number): Buffer {
  return periodSumsKey(payer, name, periodNumber(name, unixMs))
}

export const HOUR_SUMS_PREFIX = Buffer.from('h')

export function hourSumsKey(hour: number, payer: LedgerPayer | ''): Buffer {
  return Buffer.from(`h${hour.toString(16).padStart(HOUR_CHARS, '0')}${payer}`)
}

const TIME_SLOT_BYTES = 6

/** Number of the moment in which a generation began; null for what is no id of one. */
export function timeSlotOfGeneration(id: string): number | null {
  const at = generationTime(id)
  return at === null ? null : timeSlotAt(at)
}

/** Begins the keys of all blocks of a moment. */
export function timeSlotPrefix(moment: number): Buffer {
  const bytes = Buffer.alloc(TIME_SLOT_BYTES)
  bytes.writeUIntBE(moment, 0, TIME_SLOT_BYTES)
  return bytes
}

/** Before every block of generations that began then, and behind all earlier ones. */
export function firstBlockKeyAt(unixMs: number): Buffer {
  return timeSlotPrefix(timeSlotAt(unixMs))
}

/** @param place what no other part of any journal has */
export function blockKey(moment: number, place: string): Buffer {
  return Buffer.concat([timeSlotPrefix(moment), Buffer.from(place)])
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
