/** What the supervisor and its workers say to each other. */
import type { Config } from '../config.js'
import type { WorkerSnapshot } from '../stats/worker-stats.js'

export type ToWorker =
  | {
      readonly type: 'start'
      readonly config: Config
      readonly worker: number
      readonly port: number
      readonly poolThreads: number
    }
  | { readonly type: 'drain' }
  /** Asks for a snapshot. */
  | { readonly type: 'report'; readonly id: number }
  /** Answers `collect`. */
  | { readonly type: 'collected'; readonly id: number; readonly snapshots: readonly WorkerSnapshot[] }

export type ToSupervisor =
  /** The worker listens to messages now; what was sent before is lost. */
  | { readonly type: 'up' }
  | { readonly type: 'ready' }
  /** The worker cannot start, and trying again would end the same way. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'snapshot'; readonly id: number; readonly snapshot: WorkerSnapshot }
  /** Asks for the snapshots of all workers. */
  | { readonly type: 'collect'; readonly id: number }
