/** What the supervisor asks of a worker's recorder and faults, and what comes back. Plain data. */
import type { WorkerSnapshot } from '../telemetry/counters/worker-stats.js'
import type { FaultPlan } from './control/requests.js'
import type { DelayShape } from './delay-shape.js'
import type { RunSummary } from './run-summary.js'
import type {
  ArrivalTimes,
  LabRunPlan,
  WindowChoice,
  WorkerSeriesSnapshot,
  WorkerWindowSnapshot,
} from './worker-snapshots.js'

export type LabCommand =
  | { readonly do: 'begin-run'; readonly plan: LabRunPlan; readonly delays: DelayShape | null }
  | { readonly do: 'end-run'; readonly run: string }
  | { readonly do: 'read-window'; readonly run: string; readonly choice: WindowChoice }
  /** Steps from number `first` on. */
  | { readonly do: 'read-series'; readonly run: string; readonly first: number; readonly limit: number }
  | { readonly do: 'read-arrivals'; readonly run: string; readonly fromMs: number; readonly toMs: number }
  | { readonly do: 'add-fault'; readonly fault: FaultPlan }
  /** Null takes away all of them. */
  | { readonly do: 'remove-fault'; readonly fault: string | null }

export type LabCommandResult =
  | { readonly part: WorkerWindowSnapshot | null }
  | { readonly series: WorkerSeriesSnapshot }
  /** Null when they are not kept any more. */
  | { readonly arrivals: ArrivalTimes | null }
  | { readonly done: true }

export interface WorkerReply {
  readonly worker: number
  readonly answer: LabCommandResult
}

/** The workers, as the control listener sees them. */
export interface WorkerFleet {
  /** Those that serve. */
  workers(): readonly number[]
  /**
   * Asks them, or those for which the function has a question, and waits no longer than the deadline: the answer of a
   * blocked worker is missing.
   */
  ask(
    question: LabCommand | ((worker: number) => LabCommand | null),
    deadlineMs: number,
  ): Promise<readonly WorkerReply[]>
}

/** What the control listener needs from outside. */
export interface LabPorts {
  readonly fleet: WorkerFleet
  /** Milliseconds on the clock that all processes of the machine share. */
  readonly now: () => number
  /** CPU time that programs of the machine other than this process have used so far; null where that is unknown. */
  readonly machineCpuMs: () => number | null
  readonly environment: RunSummary['environment']
  /** URL of the server that is measured. */
  readonly target: string
  /** Opened to other machines: then it may have any name. */
  readonly open: boolean
  /** Whether faults may be made. */
  readonly faults: boolean
  /** Names of operations that faults may name. */
  readonly operations: ReadonlySet<string>
  /** Counters of all workers that answer in time. */
  readonly snapshots: (deadlineMs: number) => Promise<readonly WorkerSnapshot[]>
}
