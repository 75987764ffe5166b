import type { WorkerSnapshot } from '../../telemetry/counters/worker-stats.js'
import type { WorkerFleet } from '../lab-command.js'
import type { LoadToolReport, LoadToolVerdict, RunSummary, SeriesStep } from '../run-summary.js'

interface PageFile {
  readonly type: string
  readonly body: string | Uint8Array
}

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
  readonly judge: (
    truth: RunSummary,
    series: readonly SeriesStep[],
    report: LoadToolReport,
  ) => LoadToolVerdict
  readonly validity: (
    truth: RunSummary,
    report: LoadToolReport,
    verdict: LoadToolVerdict,
    series: readonly SeriesStep[],
  ) => string
  /** The live page: `path` behind `/lab`, `''` for the page itself; null where there is nothing. */
  readonly page: (path: string) => PageFile | null
}
