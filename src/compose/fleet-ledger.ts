/** The ledger of a machine among many, as its supervisor writes it; loaded only where a database is configured. */
import type { Log } from '../base/log.js'
import { folderIdentity } from '../fleet/folder-identity.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { Database } from '../store/postgres/database.js'
import { openPostgresLedger } from '../store/postgres/ledger.js'
import type { LedgerIntake } from './ledger.js'
import { quotaSpending } from './quota-spending.js'

interface FleetLedgerOptions {
  readonly database: Database
  /** Name of this machine. */
  readonly machine: string
  /** The epoch in which it holds its leases now. */
  readonly epoch: () => number
  /** Where its journals lie; locked. */
  readonly dataDir: string
  readonly log: Log
}

/**
 * From one look into the journals to the next. What is answered shows on all machines within a second, and three busy
 * machines send four statements a second; idle ones send none.
 */
const TICK_MS = 750
/** Between two looks, however long the first took. */
const LEAST_PAUSE_MS = 50
/** After the database has refused; spread, so that machines do not come back in one moment. */
const RETRY_MS = 500
const RETRY_SPREAD_MS = 500

export function openFleetLedger({ dataDir, log, ...options }: FleetLedgerOptions): LedgerIntake {
  const { folder } = folderIdentity(dataDir)
  return {
    ledger: openPostgresLedger({ ...options, folder, spentBy: quotaSpending, onRefused: tellRefused(log) }),
    mayStartBehind: true,
    journals: ledgerPaths(dataDir).journals,
    pause: (good, tookMs) =>
      good ? Math.max(LEAST_PAUSE_MS, TICK_MS - tookMs) : RETRY_MS + Math.random() * RETRY_SPREAD_MS,
  }
}

function tellRefused(log: Log): (rows: number) => void {
  return (rows) =>
    log.error({ rows }, 'the database refuses rows of the ledger; they are in sluice.ledger_refused')
}
