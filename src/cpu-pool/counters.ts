import type { PoolJobReport } from '../../workers/tasks.js'
import { Histogram } from '../base/histogram.js'

/** What all lanes of a pool count together. */
export class PoolCounters {
  completed = 0
  rejected = 0
  dropped = 0
  readonly waitMs = new Histogram()
  readonly runMs = new Histogram()
  /** By the number of the thread; absent until it has done something. */
  readonly threads = new Map<number, { tasks: number; busyMs: number }>()

  recordRun({ thread, busyMs }: PoolJobReport, waitMs: number): void {
    this.completed++
    this.waitMs.record(waitMs)
    this.runMs.record(busyMs)
    const row = this.threads.get(thread) ?? { tasks: 0, busyMs: 0 }
    row.tasks++
    row.busyMs += busyMs
    this.threads.set(thread, row)
  }
}
