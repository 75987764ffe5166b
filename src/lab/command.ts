/** What the supervisor asks of a worker's recorder and faults, and what comes back. Plain data. */

import type { DelayShape } from './delay-shape.js'
import type { FaultPlan } from './faults/fault-plan.js'
import type { ArrivalTimes, RunPlan, SeriesPart, SpanChoice, WorkerPart } from './wire.js'

export type LabCommand =
  | { readonly do: 'begin'; readonly plan: RunPlan; readonly delays: DelayShape | null }
  | { readonly do: 'end'; readonly run: string }
  | { readonly do: 'read'; readonly run: string; readonly choice: SpanChoice }
  /** Steps from number `first` on. */
  | { readonly do: 'series'; readonly run: string; readonly first: number; readonly limit: number }
  | { readonly do: 'arrivals'; readonly run: string; readonly fromMs: number; readonly toMs: number }
  | { readonly do: 'fault'; readonly fault: FaultPlan }
  /** Null takes away all of them. */
  | { readonly do: 'mend'; readonly fault: string | null }

export type LabAnswer =
  | { readonly part: WorkerPart | null }
  | { readonly series: SeriesPart }
  /** Null when they are not kept any more. */
  | { readonly arrivals: ArrivalTimes | null }
  | { readonly done: true }

export interface LabReply {
  readonly worker: number
  readonly answer: LabAnswer
}

/** The workers, as the control listener sees them. */
export interface Fleet {
  /** Those that serve. */
  workers(): readonly number[]
  /**
   * Asks them, or those for which the function has a question, and waits no longer than the deadline: a blocked worker
   * holds up nobody, and its answer is missing.
   */
  ask(
    question: LabCommand | ((worker: number) => LabCommand | null),
    deadlineMs: number,
  ): Promise<readonly LabReply[]>
}
