/** What the supervisor and its workers say to each other. */
import type { KeyKind } from '../base/principal.js'
import type { Config } from '../config.js'
import type { GatewayConfig } from '../gateway/configuration.js'
import type { Grant } from '../limits/token-bank.js'
import type { WorkerSnapshot } from '../stats/worker-stats.js'

export type ToWorker =
  | {
      readonly type: 'start'
      readonly config: Config
      readonly worker: number
      readonly port: number
      readonly poolThreads: number
    }
  /** The newest gateway configuration. `generation` counts reloads. */
  | { readonly type: 'configure'; readonly generation: number; readonly gateway: GatewayConfig }
  | { readonly type: 'drain' }
  /** Asks for a snapshot. */
  | { readonly type: 'report'; readonly id: number }
  /** Answers `take`. */
  | { readonly type: 'taken'; readonly id: number; readonly grant: Grant }
  /** Answers `collect`. */
  | { readonly type: 'collected'; readonly id: number; readonly snapshots: readonly WorkerSnapshot[] }

export type ToSupervisor =
  /** The worker listens to messages now; what was sent before is lost. */
  | { readonly type: 'up' }
  | { readonly type: 'ready' }
  /** Calls that begin from now on see that generation. */
  | { readonly type: 'configured'; readonly generation: number }
  /** A key was generated; nobody else will ever see it in plain. */
  | { readonly type: 'founded'; readonly kind: KeyKind; readonly key: string }
  /** The worker cannot start, and trying again would end the same way. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: WorkerSnapshot }
  /** Draws tokens for a rate limit that all workers share. */
  | { readonly type: 'take'; readonly id: number; readonly name: string; readonly wanted: number }
  /** Asks for the snapshots of all workers. */
  | { readonly type: 'collect'; readonly id: number }
