import type { WritableLedger } from '../../ledger/writable-ledger.js'
import { LmdbEnvironment } from '../environment.js'
import { LEDGER_TABLE_NAMES } from './ledger-layout.js'
import { LmdbLedgerReader } from './ledger-reader.js'
import { LmdbLedgerWriter } from './ledger-writer.js'

/**
 * The embedded ledger, in a folder of its own: what is brought into it must not wait for changes of the store, nor
 * they for it. Safe to open from several processes at once.
 */
export function openLmdbLedger(folder: string): WritableLedger {
  const env = new LmdbEnvironment(folder, { numbered: [], byBytes: Object.values(LEDGER_TABLE_NAMES) })
  const tables = {
    rows: env.byteTable(LEDGER_TABLE_NAMES.rows),
    books: env.byteTable(LEDGER_TABLE_NAMES.books),
  }
  return {
    reader: new LmdbLedgerReader(env, tables),
    writer: new LmdbLedgerWriter(env, tables),
    isWriting: () => env.isWriting,
    close: () => env.close(),
  }
}
