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
import { CALENDAR_PERIODS, type CalendarPeriod, periodNumber } from '../../base/utc-period.js'
import { generationTime, hourAt, hourStart, timeSlotAt } from '../ledger/generation-time.js'
import { addUsage, type UsageDelta, type UsageSums } from '../ledger/ledger-batch.js'
import { findRow, lineId } from '../ledger/row-text.js'
import type { JournalProgress, WritableLedger } from '../ledger/writable-ledger.js'
import { keyPayer, type LedgerPayer, organizationPayer } from '../ledger-store.js'
import { type KeyRange, type LmdbByteTable, LmdbEnvironment } from './environment.js'
import { decodeRecord, encodeRecord, KEY_END } from './record-table.js'

export const LEDGER_ROWS_TABLE = 'ledger-rows'

/** Records removed in one transaction: few, so that no other process waits long for the next one. */
const MAX_PRUNED_RECORDS = 200

/** Periods whose sums are kept for each payer: more than any clock jumps, fewer than would fill a disk. */
const KEPT_PERIODS: Readonly<Record<CalendarPeriod, number>> = { daily: 400, weekly: 60, monthly: 14 }

/** A sum that grows, and the sums that nothing reads any more once there is this one. */
interface SumsRecord {
  readonly key: Buffer
  readonly outdated: Pick<KeyRange, 'start' | 'end'> | null
}

/**
 * The embedded ledger, in a folder of its own: what is brought into it must not wait for changes of the store, nor
 * they for it. Safe to open from several processes at once. Each read has a snapshot of its own; each change is one
 * transaction, with the mark of how far the journal is taken.
 */
export function openLmdbLedger(folder: string): WritableLedger {
  const env = new LmdbEnvironment(folder)
  const rows = env.byteTable(LEDGER_ROWS_TABLE)
  const books = env.byteTable('ledger-books')

  const readCost = (key: Buffer): number => decodeSums(env.get(books, key)).cost

  const progressOf = (journal: string): JournalProgress => {
    const bytes = env.get(books, journalKey(journal))
    return bytes === undefined ? { segment: 0, offset: 0, done: false } : decodeRecord<JournalProgress>(bytes)
  }

  /** Each sum is read and written once, however many calls it has grown by. */
  const addDeltas = (deltas: readonly UsageDelta[]): void => {
    const grown = new Map<string, { readonly record: SumsRecord; readonly by: UsageSums }>()
    for (const delta of deltas) {
      for (const record of sumsRecordsOf(delta)) {
        const name = record.key.toString('latin1')
        const known = grown.get(name)
        if (known === undefined) grown.set(name, { record, by: { ...delta } })
        else addUsage(known.by, delta)
      }
    }
    for (const { record, by } of grown.values()) {
      const { key, outdated } = record
      const before = env.get(books, key)
      const sums = decodeSums(before)
      addUsage(sums, by)
      books.put(key, encodeSums(sums))
      if (before === undefined && outdated !== null) removeSomeRecords(books, outdated.start, outdated.end)
    }
  }

  return {
    row: (id) => {
      const slot = timeSlotOfGeneration(id)
      if (slot === null) return null
      return env.inSnapshot(() => {
        for (const block of env.valuesWithPrefix(rows, timeSlotPrefix(slot))) {
          const row = findRow(block, id)
          if (row !== null) return row
        }
        return null
      })
    },
    spending: (payer, now) =>
      env.inSnapshot(() => {
        const spentIn = (period: CalendarPeriod): number =>
          readCost(periodSumsKey(payer, period, periodNumber(period, now)))
        const total = readCost(totalSumsKey(payer))
        return { total, daily: spentIn('daily'), weekly: spentIn('weekly'), monthly: spentIn('monthly') }
      }),
    spentIn: (payer, period) => {
      const key = period === null ? totalSumsKey(payer) : periodSumsKey(payer, period.name, period.number)
      return env.inSnapshot(() => readCost(key))
    },
    readJournal: (name) =>
      env.inSnapshot(() => {
        const open = new Map<string, string>()
        for (const bytes of env.valuesWithPrefix(books, openCallKey(name, ''))) {
          const lines = bytes.toString('latin1')
          open.set(lineId(lines.slice(lines.indexOf('\n') + 1)), lines)
        }
        return { mark: progressOf(name), open }
      }),
    appendBatch: (journal, from, batch, to) =>
      env.write(() => {
        const mark = progressOf(journal)
        if (mark.done || mark.segment !== from.segment || mark.offset !== from.offset) return false
        const place = `${journal}.${from.segment}.${from.offset}${to.done ? '.end' : ''}`
        for (const [slot, { lines }] of batch.blocks) {
          rows.put(rowBlockKey(slot, place), Buffer.from(lines.join('\n'), 'latin1'))
        }
        for (const id of batch.closedIds) books.remove(openCallKey(journal, id))
        if (!to.done) {
          for (const [id, lines] of batch.opened) {
            books.put(openCallKey(journal, id), Buffer.from(lines, 'latin1'))
          }
        }
        addDeltas(batch.deltas)
        books.put(journalKey(journal), encodeRecord(to))
        return true
      }),
    forgetJournal: (journal) =>
      env.writeDurably(() => {
        books.remove(journalKey(journal))
        return true
      }),
    prune: (before) =>
      env.write(() => {
        const removedRows = removeSomeRecords(rows, null, timeSlotPrefix(timeSlotAt(before)))
        const removedHours = removeSomeRecords(books, HOUR_SUMS_PREFIX, hourSumsKey(hourAt(before), ''))
        return removedRows === MAX_PRUNED_RECORDS || removedHours === MAX_PRUNED_RECORDS
      }).committed,
    isWriting: () => env.isWriting,
    close: () => env.close(),
  }
}

function sumsRecordsOf({ keyHash, organizationId, hour }: UsageDelta): SumsRecord[] {
  const at = hourStart(hour)
  return [keyPayer(keyHash), organizationPayer(organizationId)].flatMap((payer) => [
    { key: totalSumsKey(payer), outdated: null },
    { key: hourSumsKey(hour, payer), outdated: null },
    ...CALENDAR_PERIODS.map((period) => {
      const number = periodNumber(period, at)
      const outdated = earlierPeriodsRange(payer, period, number - KEPT_PERIODS[period])
      return { key: periodSumsKey(payer, period, number), outdated }
    }),
  ])
}

/** Removes records from `start` on and before `end`, a few at most; how many that were. */
function removeSomeRecords(table: LmdbByteTable, start: Uint8Array | null, end: Uint8Array): number {
  const keys: Uint8Array[] = []
  for (const { key } of table.getRange(start === null ? {} : { start })) {
    if (keys.length === MAX_PRUNED_RECORDS || Buffer.compare(key, end) >= 0) break
    keys.push(Buffer.from(key))
  }
  for (const key of keys) table.remove(key)
  return keys.length
}

// ── Keys and sums ───────────────────────────────────────────────────────────

function journalKey(journal: string): Buffer {
  return Buffer.from(`j${journal}`)
}

/** Without an id it begins the keys of all open calls of a journal. */
function openCallKey(journal: string, id: string): Buffer {
  return Buffer.from(`o${journal}${KEY_END}${id}`)
}

function totalSumsKey(payer: LedgerPayer): Buffer {
  return Buffer.from(`s${payer}${KEY_END}`)
}

function periodSumsKey(payer: LedgerPayer, name: CalendarPeriod, number: number | ''): Buffer {
  return Buffer.from(`s${payer}${KEY_END}${name}${number}`)
}

/**
 * The keys of earlier periods, the end exclusive. In the order of their texts, which is that of their numbers as long
 * as these have equally many digits: days until the year 2243.
 */
function earlierPeriodsRange(payer: LedgerPayer, name: CalendarPeriod, number: number) {
  return { start: periodSumsKey(payer, name, ''), end: periodSumsKey(payer, name, number) }
}

const HOUR_SUMS_PREFIX = Buffer.from('h')
const HOUR_CHARS = 8

function hourSumsKey(hour: number, payer: LedgerPayer | ''): Buffer {
  return Buffer.from(`h${hour.toString(16).padStart(HOUR_CHARS, '0')}${payer}`)
}

const TIME_SLOT_BYTES = 6

/** Number of the time slot in which a generation began; null for what is no id of one. */
function timeSlotOfGeneration(id: string): number | null {
  const at = generationTime(id)
  return at === null ? null : timeSlotAt(at)
}

/** Begins the keys of all blocks of a time slot. */
function timeSlotPrefix(slot: number): Buffer {
  const bytes = Buffer.alloc(TIME_SLOT_BYTES)
  bytes.writeUIntBE(slot, 0, TIME_SLOT_BYTES)
  return bytes
}

/** @param place what no other part of any journal has */
function rowBlockKey(slot: number, place: string): Buffer {
  return Buffer.concat([timeSlotPrefix(slot), Buffer.from(place)])
}

const SUMS_BYTES = 32

function decodeSums(bytes: Uint8Array | undefined): UsageSums {
  if (bytes === undefined) return { cost: 0, promptTokens: 0, completionTokens: 0, calls: 0 }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return {
    cost: view.getFloat64(0),
    promptTokens: view.getFloat64(8),
    completionTokens: view.getFloat64(16),
    calls: view.getFloat64(24),
  }
}

function encodeSums({ cost, promptTokens, completionTokens, calls }: UsageSums): Buffer {
  const bytes = Buffer.allocUnsafe(SUMS_BYTES)
  bytes.writeDoubleBE(cost, 0)
  bytes.writeDoubleBE(promptTokens, 8)
  bytes.writeDoubleBE(completionTokens, 16)
  bytes.writeDoubleBE(calls, 24)
  return bytes
}
