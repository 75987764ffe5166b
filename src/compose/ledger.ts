/** The ledger as its only writer has it, and where the journals lie that it is made of. */
import { ledgerPaths } from '../ledger/ledger-paths.js'
import type { WritableLedger } from '../store/ledger/writable-ledger.js'
import { openLmdbLedger } from '../store/lmdb/ledger/ledger-open.js'

/** @param dataDir folder of the store */
export function openLedger(dataDir: string): { readonly ledger: WritableLedger; readonly journals: string } {
  const { database, journals } = ledgerPaths(dataDir)
  return { ledger: openLmdbLedger(database), journals }
}
