/** What commands of the command line work on, put together for the time of one command. */
import type { Clock } from '../base/clock.js'
import { listeningUrl } from '../base/host-port.js'
import { createLog } from '../base/log.js'
import type { Config } from '../config/config.js'
import { CpuPool } from '../cpu-pool/pool.js'
import type { FederationAdmin } from '../federation/admin/ports.js'
import { type CommandStoreSettings, withStore } from './command-store.js'
import { composeFederation } from './federation.js'

/** Settings that the management of federation goes by. */
export type FederationCommandSettings = CommandStoreSettings &
  Pick<
    Config,
    | 'sealingKeyFile'
    | 'host'
    | 'port'
    | 'publicUrl'
    | 'tlsKey'
    | 'logLevel'
    | 'allowLoopbackIssuers'
    | 'signingKeyDays'
  >

/** The federation as a worker has it, for as long as `run` takes. */
export function withFederation<T>(
  config: FederationCommandSettings,
  clock: Clock,
  run: (admin: FederationAdmin) => T | Promise<T>,
): Promise<T> {
  return withStore(config, clock, async (store) => {
    const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
    const parts = composeFederation({
      config,
      store,
      pool,
      clock,
      log: createLog(config.logLevel, 'federation'),
      baseUrl: config.publicUrl || listeningUrl(config, config.port),
      limit: null,
      standing: null,
    })
    try {
      return await run(parts.admin)
    } finally {
      await parts.close()
      await pool.close()
    }
  })
}
