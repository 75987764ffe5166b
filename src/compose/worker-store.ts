/** What a worker's store is made with and made of, embedded or in a fleet. */
import type { Clock } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type { Config } from '../config/config.js'
import type { Standing } from '../fleet/standing.js'
import type { FleetMessageToSupervisor, FleetMessageToWorker, FleetStart } from '../process/ipc/messages.js'
import type { TakeRoom } from '../store/disk-reserve.js'
import type { FleetView } from '../store/fleet-view.js'
import type { LedgerReader } from '../store/ledger-store.js'
import type { Database } from '../store/postgres/database.js'
import type { RevocationBarrier } from '../store/revocation-barrier.js'
import type { Store } from '../store/store.js'

export interface StoreSettings {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  /** Null on a machine that stands alone. */
  readonly fleet: FleetStart | null
  /** Sends to the supervisor; false when there is none. */
  readonly sendToSupervisor: (message: FleetMessageToSupervisor) => boolean
}

/** What a worker reads and writes. */
export interface WorkerStore {
  readonly store: Store
  /** The supervisor writes it. */
  readonly ledger: LedgerReader & { close(): Promise<void> }
  /** Where this machine's journals lie. */
  readonly journals: string
  readonly fleetView: FleetView
  /** Room on this machine's disk. */
  readonly takeRoom: TakeRoom
  /** Null on a machine that stands alone. */
  readonly fleet: FleetWorker | null
}

/** What a worker has of its fleet. */
export interface FleetWorker {
  readonly machine: string
  readonly database: Database
  /** Whether this machine may serve. */
  readonly standing: Standing
  readonly barrier: RevocationBarrier
  /** Most that its journal may hold while the ledger does not take it. */
  readonly journalBytes: number
  onMessage(message: FleetMessageToWorker): void
  close(): Promise<void>
}
