/** Journals of a machine whose worker has ended, as trials have them taken into a ledger. */
import { JournalWriter } from '../../src/ledger/journal/journal-writer.js'
import { journalName } from '../../src/ledger/journal/segment-format.js'
import { encodeClosedLine, encodeOpenLine, encodePayerLine } from '../../src/store/ledger/row-text.js'
import type { LedgerRow } from '../../src/store/ledger-store.js'

/** Calls that a worker writes in one turn. */
const TURN = 20

/** Writes the first `count` rows into a journal in the folder, and returns its name. */
export function writeJournal(folder: string, count: number, rowOf: (n: number) => LedgerRow): string {
  const journal = journalName(Date.now(), process.pid, 0)
  const writer = new JournalWriter({ folder, journal, onFailing: () => {}, onRecovered: () => {} })
  for (let n = 0; n < count; n++) {
    const row = rowOf(n)
    const { model, provider, api } = row.detail
    writer.append(encodeOpenLine({ ...row, estimate: row.cost, model, provider, api }), encodePayerLine(row))
    writer.append(encodeClosedLine(row), encodePayerLine(row))
    if (n % TURN === 0) writer.flush()
  }
  writer.close()
  return journal
}
