/** What the supervisor and its workers say to each other. Replies carry the `id` of their question. */
import type { ConfigurationReport } from '../../base/configuration-report.js'
import type { KeyKind } from '../../base/principal.js'
import type { Config } from '../../config/config.js'
import type { StandingNotice } from '../../fleet/standing.js'
import type { GatewayConfig } from '../../gateway/catalog/configuration.js'
import type { RoutingUpdate } from '../../gateway/routing/routing-update.js'
import type { LabCommand, LabCommandResult } from '../../lab/lab-command.js'
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../limits/quota.js'
import type { MetricsSnapshot } from '../../telemetry/counters/fleet-figures.js'
import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import type { LiveFrame } from '../../telemetry/live/live-merge.js'
import type { LiveRefusal, LiveReport, ScopeName } from '../../telemetry/live/live-report.js'

/** Of limits and of the ledger. */
export type LedgerMessageToWorker =
  /** Answers `acquire-quota`; null when it cannot be told what is left. */
  | { readonly type: 'quota-grant'; readonly id: number; readonly grant: QuotaGrant | null }
  /** Asks for what is not needed of a lease. */
  | { readonly type: 'quota-revocation'; readonly name: string }
  /** Answers `sync-ledger`. */
  | { readonly type: 'ledger-synced'; readonly id: number; readonly done: boolean }

/** Of the live feed. */
export type LiveMessageToWorker =
  /** Asks what has happened in these scopes since the question before. */
  | { readonly type: 'watch-live'; readonly scopes: readonly ScopeName[] }
  /** Nobody reads any more. */
  | { readonly type: 'rest-live' }
  /** Answers `enter-live`; null takes the reader. */
  | { readonly type: 'live-entered'; readonly id: number; readonly refusal: LiveRefusal | null }
  /** For the readers whose connections lie there. */
  | { readonly type: 'live-frames'; readonly frames: readonly LiveFrame[] }

export type LiveMessageToSupervisor =
  /** Asks for a place among the readers. */
  | { readonly type: 'enter-live'; readonly id: number; readonly scope: ScopeName; readonly caller: string }
  | { readonly type: 'leave-live'; readonly scope: ScopeName; readonly caller: string }
  /** Answers `watch-live`. */
  | { readonly type: 'live-report'; readonly report: LiveReport }

/** Of a machine in a fleet. */
export type FleetMessageToWorker =
  /** Until when the machine may serve without further word; with every confirmed beat, and when that is over. */
  | { readonly type: 'standing'; readonly standing: StandingNotice }
  /** Answers `pass-barrier`: who has not confirmed and serves all the same; null when the store cannot tell. */
  | { readonly type: 'barrier-passed'; readonly id: number; readonly unconfirmed: readonly string[] | null }

/** What a worker of a fleet's machine starts with. */
export interface FleetStart {
  readonly machine: string
  readonly standing: StandingNotice
}

export type FleetMessageToSupervisor =
  /** Asks to be told when no machine serves by older records. */
  { readonly type: 'pass-barrier'; readonly id: number; readonly version: number }

export type LedgerMessageToSupervisor =
  /** Asks for an amount of a quota that all workers share. */
  | { readonly type: 'acquire-quota'; readonly id: number; readonly request: QuotaRequest }
  | { readonly type: 'release-quota'; readonly amount: LeaseAmount }
  | { readonly type: 'quota-overdraft'; readonly amount: LeaseAmount }
  /** Asks for the ledger to have everything that was written before. */
  | { readonly type: 'sync-ledger'; readonly id: number }

export type MessageToWorker =
  | LedgerMessageToWorker
  | FleetMessageToWorker
  | LiveMessageToWorker
  | {
      readonly type: 'start-worker'
      readonly config: Config
      readonly worker: number
      /** How many there are. */
      readonly workers: number
      readonly port: number
      readonly poolThreads: number
      /** Most connections it holds. */
      readonly maxConnections: number
      /** Name of the journal it writes. */
      readonly journal: string
      /** Null on a machine that stands alone. */
      readonly fleet: FleetStart | null
    }
  /** The newest gateway configuration. `generation` counts reloads. */
  | { readonly type: 'configuration'; readonly generation: number; readonly gateway: GatewayConfig }
  /** Answers `configuration-request`. */
  | { readonly type: 'configuration-report'; readonly id: number; readonly report: ConfigurationReport }
  | { readonly type: 'drain-worker' }
  | { readonly type: 'lab-command'; readonly id: number; readonly command: LabCommand }
  /** What another worker has learnt about endpoints and sessions. */
  | {
      readonly type: 'routing-update'
      /** Its number, or that it is one of another machine. */
      readonly from: number | 'elsewhere'
      readonly update: RoutingUpdate
    }
  | { readonly type: 'snapshot-request'; readonly id: number }
  /** Answers `all-snapshots-request`. */
  | { readonly type: 'all-snapshots'; readonly id: number; readonly snapshots: MetricsSnapshot }

export type MessageToSupervisor =
  | LedgerMessageToSupervisor
  | FleetMessageToSupervisor
  | LiveMessageToSupervisor
  /** The worker listens to messages now; what was sent before is lost. */
  | { readonly type: 'worker-up' }
  | { readonly type: 'worker-ready' }
  /** The event loop of the worker turns; any other message says so too. */
  | { readonly type: 'heartbeat' }
  /** The worker cannot start, and trying again would end the same way. Exit code 2: the settings or the machine. */
  | { readonly type: 'start-failure'; readonly reason: string; readonly exitCode: 1 | 2 }
  /** A key was generated; it is shown nowhere else in plain. */
  | { readonly type: 'bootstrap-key'; readonly kind: KeyKind; readonly key: string }
  /** Calls that begin from now on see that generation. */
  | { readonly type: 'configuration-applied'; readonly generation: number; readonly version: string }
  /** Asks what all workers have, or for the file to be read again before that is told. */
  | { readonly type: 'configuration-request'; readonly id: number; readonly reload: boolean }
  | { readonly type: 'lab-result'; readonly id: number; readonly result: LabCommandResult }
  /** For all other workers. */
  | { readonly type: 'routing-update'; readonly update: RoutingUpdate }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: WorkerSnapshot }
  /** Asks for the snapshots of all workers. */
  | { readonly type: 'all-snapshots-request'; readonly id: number }
