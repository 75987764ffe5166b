/** The ledger as commands of the command line read it: that of this machine, or of its fleet. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../base/fault.js'
import type { Config } from '../config/config.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { LedgerReader } from '../store/ledger-store.js'
import { isOfFleet } from './command-store.js'
import { withDatabase } from './fleet-commands.js'

type CommandLedgerSettings = Pick<Config, 'dataDir' | 'databaseUrl'>

export type ReadableLedger = Pick<LedgerReader, 'list' | 'usage'>

/** For as long as `run` takes; servers may be at work on it. Rejects with `unavailable` where there is none. */
export async function withLedger<T>(
  settings: CommandLedgerSettings,
  run: (ledger: ReadableLedger) => Promise<T>,
): Promise<T> {
  if (isOfFleet(settings)) {
    return withDatabase(settings, async (database) => {
      const { openPostgresLedgerReader } = await import('../store/postgres/ledger.js')
      return run(openPostgresLedgerReader(database))
    })
  }
  const { database } = ledgerPaths(settings.dataDir)
  if (!existsSync(join(database, 'data.mdb')))
    throw new Fault('unavailable', {
      detail: `there is no ledger in ${settings.dataDir}: start the server once, or set SLUICE_DATA_DIR`,
    })
  const { openLmdbLedger } = await import('../store/lmdb/ledger.js')
  const ledger = openLmdbLedger(database)
  try {
    return await run(ledger)
  } finally {
    await ledger.close()
  }
}
