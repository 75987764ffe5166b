/** What the supervisor and its workers say to each other. */
import type { KeyKind } from '../../base/principal.js'
import type { Config } from '../../config/config.js'
import type { GatewayConfig } from '../../gateway/catalog/configuration.js'
import type { RoutingUpdate } from '../../gateway/routing/routing-update.js'
import type { LabCommand, LabCommandResult } from '../../lab/lab-command.js'
import type { Grant } from '../../limits/token-bank.js'
import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import type { LedgerMessageToSupervisor, LedgerMessageToWorker } from './ledger-messages.js'

export type MessageToWorker =
  /** A question of the lab. */
  | { readonly type: 'lab'; readonly id: number; readonly command: LabCommand }
  | {
      readonly type: 'start'
      readonly config: Config
      readonly worker: number
      /** How many there are. */
      readonly workers: number
      readonly port: number
      readonly poolThreads: number
      /** Name of the journal it writes. */
      readonly journal: string
    }
  | LedgerMessageToWorker
  /** The newest gateway configuration. `generation` counts reloads. */
  | { readonly type: 'configure'; readonly generation: number; readonly gateway: GatewayConfig }
  | { readonly type: 'drain' }
  /** What another worker has learnt about endpoints and sessions. */
  | { readonly type: 'heard'; readonly from: number; readonly news: RoutingUpdate }
  /** Asks for a snapshot. */
  | { readonly type: 'report'; readonly id: number }
  /** Answers `take`. */
  | { readonly type: 'taken'; readonly id: number; readonly grant: Grant }
  /** Answers `collect`. */
  | { readonly type: 'collected'; readonly id: number; readonly snapshots: readonly WorkerSnapshot[] }

export type MessageToSupervisor =
  | LedgerMessageToSupervisor
  /** Answers `lab`. */
  | { readonly type: 'lab'; readonly id: number; readonly answer: LabCommandResult }
  /** The worker listens to messages now; what was sent before is lost. */
  | { readonly type: 'up' }
  | { readonly type: 'ready' }
  /** Calls that begin from now on see that generation. */
  | { readonly type: 'configured'; readonly generation: number }
  /** A key was generated; nobody else will ever see it in plain. */
  | { readonly type: 'founded'; readonly kind: KeyKind; readonly key: string }
  /** The worker cannot start, and trying again would end the same way. */
  | { readonly type: 'failed'; readonly reason: string }
  /** For all other workers. */
  | { readonly type: 'tell'; readonly news: RoutingUpdate }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: WorkerSnapshot }
  /** Draws tokens for a rate limit that all workers share. */
  | { readonly type: 'take'; readonly id: number; readonly name: string; readonly wanted: number }
  /** Asks for the snapshots of all workers. */
  | { readonly type: 'collect'; readonly id: number }
