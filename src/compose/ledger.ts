/** The ledger as its only writer has it, and where the journals lie that it is made of. */
import { ledgerPaths } from '../ledger/ledger-paths.js'
import type { WritableLedger } from '../store/ledger/writable-ledger.js'
import { LmdbLedger } from '../store/lmdb/ledger.js'

/** @param dataDir folder of the store */
export function openLedger(dataDir: string): { readonly ledger: WritableLedger; readonly journals: string } {
  const { database, journals } = ledgerPaths(dataDir)
  return { ledger: new LmdbLedger(database), journals }
}
