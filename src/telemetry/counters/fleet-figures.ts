import type { HistogramSnapshot } from '../../base/histogram.js'
import type { WorkerSnapshot } from './worker-stats.js'

/** A machine of the fleet, as the store has it. */
export interface MachineFigures {
  readonly name: string
  readonly state: string
  /** Since its last beat. */
  readonly beatAgeS: number
  /** Versions of the change log that it lacks. */
  readonly versionLag: number
  readonly leasedNanos: number
  readonly frozenNanos: number
  readonly journalBytes: number
  readonly clockDifferenceS: number
}

/** What the supervisor of a machine says of itself and of its fleet. */
export interface FleetFigures {
  /** Name of the machine that says it. */
  readonly machine: string
  readonly isStoreAway: boolean
  /** Statements of the supervisor, by what they were for. */
  readonly statements: Readonly<Record<string, number>>
  /** How long changes of this machine waited until all live machines had them; those that gave up included. */
  readonly barrierMs: HistogramSnapshot
  readonly barrierWaiting: number
  /** Of all machines; empty while the store cannot tell. */
  readonly machines: readonly MachineFigures[]
}

/** What metrics are made of. */
export interface MetricsSnapshot {
  readonly workers: readonly WorkerSnapshot[]
  /** Null on a machine that stands alone. */
  readonly fleet: FleetFigures | null
}
