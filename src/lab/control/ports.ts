import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import type { WorkerFleet } from '../lab-command.js'
import type { RunSummary } from '../run-summary.js'

/** What the control listener needs from outside. */
export interface LabPorts {
  readonly fleet: WorkerFleet
  /** Milliseconds on the clock that all processes of the machine share. */
  readonly now: () => number
  readonly environment: RunSummary['environment']
  /** Opened to other machines: then it may have any name. */
  readonly open: boolean
  /** Whether faults may be made. */
  readonly faults: boolean
  /** Names of operations that faults may name. */
  readonly operations: ReadonlySet<string>
  /** Counters of all workers that answer in time. */
  readonly snapshots: (deadlineMs: number) => Promise<readonly WorkerSnapshot[]>
}
