/** What the pool says of itself. */
import type { HistogramSnapshot } from '../base/histogram.js'

interface PoolThreadSnapshot {
  readonly thread: number
  readonly tasks: number
  readonly busyMs: number
}

export interface PoolSnapshot {
  readonly threads: number
  /** Tasks that wait for a thread. */
  readonly queue: number
  /** Work that waits, in PBKDF2 rounds. */
  readonly queuedCost: number
  readonly completed: number
  readonly rejected: number
  /** Tasks dropped before they started because their caller had gone. */
  readonly dropped: number
  readonly waitMs: HistogramSnapshot
  readonly runMs: HistogramSnapshot
  readonly rows: readonly PoolThreadSnapshot[]
}
