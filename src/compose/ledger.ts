/** The ledger that the supervisor writes and workers read; apart, because the supervisor loads little else of a worker. */
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { WritableLedger } from '../store/ledger/writable-ledger.js'
import { openLmdbLedger } from '../store/lmdb/ledger.js'

/** The ledger as its only writer has it, in the folder of the store, and where the journals lie that it is made of. */
export function openLedger(dataDir: string): { readonly ledger: WritableLedger; readonly journals: string } {
  const { database, journals } = ledgerPaths(dataDir)
  return { ledger: openLmdbLedger(database), journals }
}
