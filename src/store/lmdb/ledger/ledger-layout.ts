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
import { type Period, periodNumber } from '../../../base/utc-period.js'
import { generationTime } from '../../ledger/generation-time.js'
import type { Sums } from '../../ledger/ledger-part.js'
import { momentAt } from '../../ledger/moments.js'
import type { Payer } from '../../ledger-store.js'
import type { ByteTable } from '../environment.js'

export interface LedgerTables {
  readonly rows: ByteTable
  readonly books: ByteTable
}

export const LEDGER_TABLE_NAMES = { rows: 'ledger-rows', books: 'ledger-books' } as const

const END = '\0'
const HOUR_CHARS = 8

export function journalKey(journal: string): Buffer {
  return Buffer.from(`j${journal}`)
}

export function openPrefix(journal: string): Buffer {
  return Buffer.from(`o${journal}${END}`)
}

export function openKey(journal: string, id: string): Buffer {
  return Buffer.from(`o${journal}${END}${id}`)
}

export function totalKey(payer: Payer): Buffer {
  return Buffer.from(`s${payer}${END}`)
}

export function periodKey(payer: Payer, name: Period, number: number): Buffer {
  return Buffer.from(`s${payer}${END}${name}${number}`)
}

/**
 * Stretch of the keys of earlier periods, the end exclusive. In the order of their texts, which is that of their
 * numbers as long as these have equally many digits: days until the year 2243.
 */
export function periodsBefore(payer: Payer, name: Period, number: number): { from: Buffer; to: Buffer } {
  return { from: Buffer.from(`s${payer}${END}${name}`), to: periodKey(payer, name, number) }
}

/** Of the period that a moment lies in. */
export function periodKeyAt(payer: Payer, name: Period, unixMs: number): Buffer {
  return periodKey(payer, name, periodNumber(name, unixMs))
}

export const HOURS = Buffer.from('h')

export function hourKey(hour: number, payer: Payer | ''): Buffer {
  return Buffer.from(`h${hour.toString(16).padStart(HOUR_CHARS, '0')}${payer}`)
}

const MOMENT_BYTES = 6

/** Number of the moment in which a generation began; null for what is no id of one. */
export function momentOf(id: string): number | null {
  const at = generationTime(id)
  return at === null ? null : momentAt(at)
}

/** Begins the keys of all blocks of a moment. */
export function momentPrefix(moment: number): Buffer {
  const bytes = Buffer.alloc(MOMENT_BYTES)
  bytes.writeUIntBE(moment, 0, MOMENT_BYTES)
  return bytes
}

/** Before every block of generations that began then, and behind all earlier ones. */
export function blocksFrom(unixMs: number): Buffer {
  return momentPrefix(momentAt(unixMs))
}

/** @param place what no other part of any journal has */
export function blockKey(moment: number, place: string): Buffer {
  return Buffer.concat([momentPrefix(moment), Buffer.from(place)])
}

const SUMS_BYTES = 32

export function sumsOf(bytes: Uint8Array | undefined): Sums {
  if (bytes === undefined) return { cost: 0, promptTokens: 0, completionTokens: 0, calls: 0 }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    cost: view.getFloat64(0),
    promptTokens: view.getFloat64(8),
    completionTokens: view.getFloat64(16),
    calls: view.getFloat64(24),
  }
}

export function sumsBytes({ cost, promptTokens, completionTokens, calls }: Sums): Buffer {
  const bytes = Buffer.allocUnsafe(SUMS_BYTES)
  bytes.writeDoubleBE(cost, 0)
  bytes.writeDoubleBE(promptTokens, 8)
  bytes.writeDoubleBE(completionTokens, 16)
  bytes.writeDoubleBE(calls, 24)
  return bytes
}
