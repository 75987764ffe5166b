import type { LedgerReader } from '../../ledger-store.js'
import { Environment } from '../environment.js'
import { LEDGER_TABLE_NAMES } from './ledger-layout.js'
import { LmdbLedgerReader } from './ledger-reader.js'
import { LedgerWriter } from './ledger-writer.js'

export interface LmdbLedger {
  readonly reader: LedgerReader
  readonly writer: LedgerWriter
  /** Whether a change is on its way to the disk; a process that exits meanwhile has to be ended by a signal. */
  writing(): boolean
  /** Releases the files. No change may be under way. */
  close(): Promise<void>
}

/**
 * The embedded ledger, in a folder of its own: what is brought into it must not wait for changes of the store, nor
 * they for it. Safe to open from several processes at once.
 */
export function openLmdbLedger(folder: string): LmdbLedger {
  const env = new Environment(folder, { numbered: [], byBytes: Object.values(LEDGER_TABLE_NAMES) })
  const tables = {
    rows: env.byteTable(LEDGER_TABLE_NAMES.rows),
    books: env.byteTable(LEDGER_TABLE_NAMES.books),
  }
  return {
    reader: new LmdbLedgerReader(env, tables),
    writer: new LedgerWriter(env, tables),
    writing: () => env.writing,
    close: () => env.close(),
  }
}
