/**
 * What the workers tell the supervisor about what they recorded: plain data, cheap to send, additive. Times are
 * milliseconds on the monotonic clock of the machine, which all its processes share.
 */
import type { HistogramSnapshot } from '../base/histogram.js'

/** The arrival process and what was in flight, of one operation or of all together. */
export interface ArrivalSnapshot {
  readonly gap: HistogramSnapshot
  /** Sum of the squares of the gaps, ms². */
  readonly gapSquares: number
  /** In flight as seen by arrivals, not counting themselves; units are calls. */
  readonly seen: HistogramSnapshot
  /** ∫ in-flight dt, call-milliseconds. */
  readonly area: number
  readonly peak: number
  /** Time with at least the threshold in flight, ms. */
  readonly busy: number
  /** Null where nothing arrived. */
  readonly firstAt: number | null
  readonly lastAt: number | null
}

/** A request belongs to the window in which it arrived: `arrivals = completed + aborted + inFlight`, always. */
export const OPERATION_COUNTS = [
  'arrivals',
  'completed',
  'aborted',
  'inFlight',
  'bytesIn',
  'bytesOut',
] as const
export type OperationCounts = Readonly<Record<(typeof OPERATION_COUNTS)[number], number>>

/** Measures that most operations never have. */
export const RARE_MEASURES = [
  /** Achieved minus intended delay, where one was intended. */
  'delayError',
  /** Only of requests that carried `X-Lab-Due` and `X-Lab-Sent`. */
  'lateness',
  'wait',
  /** Of streamed answers. */
  'firstChunk',
  'chunkGap',
  'chunks',
  'backpressure',
] as const
export type RareMeasure = (typeof RARE_MEASURES)[number]

export interface OperationWindowSnapshot extends ArrivalSnapshot, OperationCounts {
  readonly name: string
  readonly statuses: readonly (readonly [status: number, answers: number])[]
  readonly faults: readonly (readonly [kind: string, applied: number])[]
  readonly service: HistogramSnapshot
  readonly rare: Readonly<Partial<Record<RareMeasure, HistogramSnapshot>>>
}

export interface ConnectionSnapshot {
  readonly opened: number
  readonly closed: number
  readonly peak: number
  /** ∫ connections dt, connection-milliseconds. */
  readonly area: number
  readonly now: number
}

/** A stall that one worker saw. `endMs` is null while it lasts. */
export interface StallSnapshot {
  readonly kind: 'hold' | 'block' | 'accept-pause' | 'unplanned'
  readonly startMs: number
  readonly endMs: number | null
  readonly arrivalsDuring: number
  readonly arrivals5msAfter: number
  readonly arrivals100msAfter: number
  /** Connections among the arrivals after the end. */
  readonly connectionsAfter: number
}

/** What one worker knows about one span of a run. */
export interface WorkerWindowSnapshot {
  readonly worker: number
  /** Tells a restarted worker from its predecessor. */
  readonly pid: number
  readonly fromMs: number
  readonly toMs: number
  readonly operations: readonly OperationWindowSnapshot[]
  readonly total: ArrivalSnapshot
  readonly connections: ConnectionSnapshot
  readonly cpuMs: number
  readonly lag: HistogramSnapshot
  readonly stalls: readonly StallSnapshot[]
  /** Why this run may not be believed, as far as this worker can tell. */
  readonly marks: readonly string[]
}

/** What is kept of each step of 100 ms: of one operation, and of the whole worker. */
export const OPERATION_STEP_COLUMNS = ['arrivals', 'completions', 'errors', 'inFlightMax'] as const
export const WORKER_STEP_COLUMNS = ['inFlightMax', 'connections', 'lagMax', 'cpuShare'] as const

type StepColumns<K extends string> = Readonly<Record<K, readonly number[]>>

/** One entry per step in every list; `histograms` hold pairs of half bucket and count, flattened. */
export interface OperationSeriesSnapshot extends StepColumns<(typeof OPERATION_STEP_COLUMNS)[number]> {
  readonly histograms: readonly (readonly number[])[]
}

export interface WorkerSeriesSnapshot extends StepColumns<(typeof WORKER_STEP_COLUMNS)[number]> {
  readonly worker: number
  /** Number of the first step: its start in milliseconds over 100. */
  readonly first: number
  readonly operations: Readonly<Record<string, OperationSeriesSnapshot>>
}

/** How long a step of the series is. */
export const STEP_MS = 100
/** Steps that are kept: ten minutes. */
export const STEPS_KEPT = 6_000

export type RunSpan = 'warm-up' | 'measure' | 'after'

/** Which windows of a run are asked for. Slices are those of the measurement, the second bound exclusive. */
export interface WindowChoice {
  readonly spans: readonly RunSpan[]
  readonly slices?: readonly [from: number, to: number]
}

/** A run as the workers need to know it. */
export interface LabRunPlan {
  readonly id: string
  readonly startMs: number
  readonly warmupMs: number
  readonly measureMs: number
  /** Length of the windows that the measurement is cut into. */
  readonly sliceMs: number
  /** In-flight calls of the expected tool; null without an expectation. */
  readonly connections: number | null
  /** Only of calls whose header names it. */
  readonly byHeader: boolean
}

/** Moments of arrivals: the first one, and 32-bit floats in base64 for the milliseconds from each to the next. */
export interface ArrivalTimes {
  /** Null where nothing arrived. */
  readonly firstMs: number | null
  readonly gaps: string
}
