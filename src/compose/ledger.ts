/** The ledger that the supervisor writes and workers read; apart, because the supervisor loads little else of a worker. */
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { WritableLedger } from '../store/ledger/writable-ledger.js'
import { openLmdbLedger } from '../store/lmdb/ledger.js'

/** A ledger as the only process of a machine that writes it has it, and the journals that it is made of. */
export interface LedgerIntake {
  readonly ledger: WritableLedger
  /** Folder of the journals. */
  readonly journals: string
  /** See `JournalIngest`. */
  readonly pause: (good: boolean, tookMs: number) => number
  readonly mayStartBehind: boolean
}

/** How often journals are looked into. What a loss of power may take is what was written since. */
const TICK_MS = 250
/** After the disk has refused. */
const RETRY_MS = 500

/** The embedded ledger, in the folder of the store. */
export function openLedger(dataDir: string): LedgerIntake {
  const { database, journals } = ledgerPaths(dataDir)
  return {
    ledger: openLmdbLedger(database),
    journals,
    pause: (good) => (good ? TICK_MS : RETRY_MS),
    mayStartBehind: false,
  }
}
