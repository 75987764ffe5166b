/** What commands of the command line work on, put together for the time of one command. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { listeningUrl } from '../base/host-port.js'
import { createLog } from '../base/log.js'
import type { Config } from '../config/config.js'
import { CpuPool } from '../cpu-pool/pool.js'
import type { FederationAdmin } from '../federation/admin/ports.js'
import type { AccountStore } from '../store/account-store.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import type { Store } from '../store/store.js'
import { composeFederation } from './federation.js'

/** Settings that the management of federation goes by. */
export type FederationCommandSettings = Pick<
  Config,
  | 'dataDir'
  | 'host'
  | 'port'
  | 'publicUrl'
  | 'tlsKey'
  | 'logLevel'
  | 'allowLoopbackIssuers'
  | 'signingKeyDays'
>

/** Throws a `Fault` with a sentence when it cannot be opened. */
function openStore(dataDir: string, { unixSeconds }: Clock): Store {
  try {
    return openLmdbStore({ path: dataDir, unixSeconds })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Fault('unavailable', {
      detail: `the store in ${dataDir} cannot be opened: ${reason}`,
      cause: error,
    })
  }
}

/** The accounts of the store in a folder, for as long as `run` takes. The store may be in use by a server. */
export async function withAccounts<T>(
  dataDir: string,
  clock: Clock,
  run: (accounts: AccountStore) => T | Promise<T>,
): Promise<T> {
  const store = openStore(dataDir, clock)
  try {
    return await run(store.accounts)
  } finally {
    await store.close()
  }
}

/** The federation of the store in a folder as a worker has it, for as long as `run` takes. */
export async function withFederation<T>(
  config: FederationCommandSettings,
  clock: Clock,
  run: (admin: FederationAdmin) => T | Promise<T>,
): Promise<T> {
  const store = openStore(config.dataDir, clock)
  const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
  const parts = composeFederation({
    config,
    store,
    pool,
    clock,
    log: createLog(config.logLevel, 'federation'),
    baseUrl: config.publicUrl || listeningUrl(config, config.port),
    limit: null,
  })
  try {
    return await run(parts.admin)
  } finally {
    await parts.close()
    await pool.close()
    await store.close()
  }
}
