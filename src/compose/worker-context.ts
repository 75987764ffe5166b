import type { Clock } from '../base/clock.js'
import type { ConfigurationReport } from '../base/configuration-report.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { CpuPool } from '../cpu-pool/pool.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import type { LedgerMessageToSupervisor, LiveMessageToSupervisor } from '../process/ipc/messages.js'
import type { Store } from '../store/store.js'
import type { MetricsSnapshot } from '../telemetry/counters/fleet-figures.js'
import type { WorkerStore } from './worker-store.js'

/** What a worker process brings to its composition. */
export interface WorkerSettings {
  readonly config: Config
  readonly worker: number
  readonly poolThreads: number
  readonly log: Log
  /** What it reads and writes. */
  readonly opened: WorkerStore
  /** Snapshots of all workers, this one included, and what the supervisor knows of a fleet. */
  readonly collect: () => Promise<MetricsSnapshot>
  /** What all workers have of the configuration, read again before where `reload` asks for it; null when nobody tells. */
  readonly configuration: (reload: boolean) => Promise<ConfigurationReport | null>
  readonly connections: () => number
  /** URL of the address the server listens on. */
  readonly listeningUrl: string
  /** Name of the journal that this worker writes. */
  readonly journal: string
  /** Sends to the supervisor; false when there is none. */
  readonly sendToSupervisor: (message: LedgerMessageToSupervisor | LiveMessageToSupervisor) => boolean
  /** Tells all other workers what this one has learnt; null when it is alone. */
  readonly broadcast: ((update: RoutingUpdate) => void) | null
}

/** What its parts are composed with. */
export interface WorkerContext extends WorkerSettings {
  readonly clock: Clock
  readonly store: Store
  readonly pool: CpuPool
  /** Public base URL: the configured one, or the address the server listens on (contract/decisions 35). */
  readonly baseUrl: string
}
