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
 *     'j' journal                       ->  how far it has been taken, and when its files were removed
 *     'o' journal, generation           ->  lines of a call that was dispatched and is not over, and of its payer
 *     's' …                             ->  sums of payers, see ledger-sums.ts
 *     'u' …                             ->  sums of hours, see ledger-hours.ts
 *     'h'                               ->  whether these are of all rows, see hours-rebuild.ts
 */
import { generationTime, hourAt, partNumber, timeSlotAt } from '../ledger/generation-time.js'
import { listRows } from '../ledger/list-rows.js'
import { findLostAttempts, findParts, findRow, lineId } from '../ledger/row-text.js'
import type { JournalPiece, JournalProgress, WritableLedger } from '../ledger/writable-ledger.js'
import type { LedgerRow, LostAttemptOfRow } from '../ledger-store.js'
import { decodeRecord, encodeRecord, KEY_END } from '../records/record-table.js'
import { LmdbEnvironment } from './environment.js'
import { HoursRebuild } from './hours-rebuild.js'
import { LedgerHours } from './ledger-hours.js'
import { LedgerRows, rowBlockKey, timeSlotPrefix } from './ledger-rows.js'
import { LedgerSums, removeSomeRecords } from './ledger-sums.js'
import type { LmdbByteTable } from './table.js'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long a journal is known whose files are gone, as in PostgreSQL. */
const REMOVED_JOURNAL_MS = 30 * DAY_MS

/** `removedAt` (Unix milliseconds): all of it was taken, and its files were removed. */
interface JournalMark extends JournalProgress {
  readonly removedAt?: number
}

export const LEDGER_ROWS_TABLE = 'ledger-rows'
export const LEDGER_BOOKS_TABLE = 'ledger-books'

/**
 * The embedded ledger, in a folder of its own: what is brought into it must not wait for changes of the store, nor
 * they for it. Safe to open from several processes at once. Each read has a snapshot of its own; each change is one
 * transaction, with the mark of how far the journal is taken.
 */
export function openLmdbLedger(folder: string): WritableLedger {
  const env = new LmdbEnvironment(folder)
  const rows = env.byteTable(LEDGER_ROWS_TABLE)
  const books = env.byteTable(LEDGER_BOOKS_TABLE)
  const sums = new LedgerSums(env, books)
  const hours = new LedgerHours(env, books)
  const listed = new LedgerRows(env, rows, hours)
  const rebuild = new HoursRebuild(env, { rows, books }, hours)

  const progressOf = (journal: string): JournalProgress => {
    const bytes = env.get(books, journalKey(journal))
    if (bytes === undefined) return { segment: 0, offset: 0, done: false }
    const { segment, offset, done } = decodeRecord<JournalMark>(bytes)
    return { segment, offset, done }
  }

  const beginsAtMark = ({ journal, from }: JournalPiece): boolean => {
    const { done, segment, offset } = progressOf(journal)
    return !done && segment === from.segment && offset === from.offset
  }

  const putPiece = ({ journal, from, batch, to }: JournalPiece): void => {
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
    books.put(journalKey(journal), encodeRecord(to))
  }

  const append = (pieces: readonly JournalPiece[]) =>
    env.write(() => {
      if (!pieces.every(beginsAtMark)) return false
      for (const piece of pieces) putPiece(piece)
      const deltas = pieces.flatMap(({ batch }) => batch.deltas)
      sums.add(deltas)
      hours.add(deltas)
      return true
    })

  return {
    row: (id) => {
      const slot = timeSlotOfGeneration(id)
      if (slot === null) return null
      return env.inSnapshot(() => {
        let row: LedgerRow | null = null
        const lost: LostAttemptOfRow[] = []
        const parts: LedgerRow[] = []
        for (const block of env.valuesWithPrefix(rows, timeSlotPrefix(slot))) {
          row ??= findRow(block, id)
          // What was lost has been written before the row, so it may stand in another block.
          lost.push(...findLostAttempts(block, id))
          parts.push(...findParts(block, id))
        }
        parts.sort((a, b) => partNumber(a.id) - partNumber(b.id))
        return row && { ...row, lost, parts }
      })
    },
    spending: (payers, now) => env.inSnapshot(() => payers.map((payer) => sums.spending(payer, now))),
    spentIn: (payer, period) => env.inSnapshot(() => sums.spentIn(payer, period)),
    list: async (query) => {
      rebuild.require()
      return listRows(listed, query)
    },
    usage: async (query) => {
      rebuild.require()
      return hours.usage(query)
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
    append: (pieces) => {
      if (rebuild.isComplete) return append(pieces)
      const written = rebuild.complete().then(() => append(pieces))
      const committed = written.then((outcome) => outcome.committed)
      const durable = written.then((outcome) => outcome.durable)
      // Callers hear of a failure through the one they wait for.
      for (const outcome of [committed, durable]) outcome.catch(() => {})
      return { committed, durable }
    },
    // Known for some weeks: files that a loss of power brings back, and lines that somebody else had read before, are
    // not taken again.
    forgetJournal: (journal, now) =>
      env.writeDurably(() => {
        books.put(journalKey(journal), encodeRecord({ ...progressOf(journal), removedAt: now }))
        return true
      }),
    prune: async ({ days, now }) => {
      // Of a ledger into which nothing comes they are made here.
      await rebuild.complete()
      return env.write(() => {
        const before = now - days * DAY_MS
        const hasOlderRows = removeSomeRecords(rows, null, timeSlotPrefix(timeSlotAt(before)))
        const hasOlderHours = hours.prune(hourAt(before))
        const hasMore = hasOlderRows || hasOlderHours
        // All marks are looked at: once when the rest is done, not with each part of it.
        if (!hasMore) pruneJournalMarks(books, now - REMOVED_JOURNAL_MS)
        return hasMore
      }).committed
    },
    isWriting: () => env.isWriting,
    close: () => env.close(),
  }
}

function journalKey(journal: string): Buffer {
  return Buffer.from(`j${journal}`)
}

/** Forgets journals whose files were removed before `before`. */
function pruneJournalMarks(books: LmdbByteTable, before: number): void {
  const old: Uint8Array[] = []
  for (const { key, value } of books.getRange({ start: journalKey(''), end: Buffer.from('k') })) {
    const { removedAt } = decodeRecord<JournalMark>(value)
    if (removedAt !== undefined && removedAt < before) old.push(Buffer.from(key))
  }
  for (const key of old) books.remove(key)
}

/** Without an id it begins the keys of all open calls of a journal. */
function openCallKey(journal: string, id: string): Buffer {
  return Buffer.from(`o${journal}${KEY_END}${id}`)
}

/** Number of the time slot in which a generation began; null for what is no id of one. */
function timeSlotOfGeneration(id: string): number | null {
  const at = generationTime(id)
  return at === null ? null : timeSlotAt(at)
}
