/** What one run of one tool leaves behind, and what all runs of a comparison have in common: the report's only input. */
import type { LoadToolReport, LoadToolVerdict, RunSummary, SeriesStep } from '../../../src/lab/run-summary.js'
import type { MachineRecord, SourceRecord } from '../../harness/machine/machine.js'
import type { Pinning } from '../../harness/machine/pinning.js'

/** A point of a latency curve: percentile in percent (0 to 100) and milliseconds; curves ascend in both. */
export interface CurvePoint {
  readonly percentile: number
  readonly ms: number
}

/** Counts by time and latency. `counts[step][band]`; band `i` reaches from `edgesMs[i]` to `edgesMs[i + 1]`. */
export interface HeatCells {
  readonly stepMs: number
  readonly edgesMs: readonly number[]
  readonly counts: readonly (readonly number[])[]
  /** Service times of the server; absent: latencies of the client. */
  readonly side?: 'server'
}

/** What a stream driver measured: ascending distribution curves. */
export interface StreamCurves {
  readonly firstToken: readonly CurvePoint[]
  readonly gap: readonly CurvePoint[]
  readonly tokensPerSecond: number
  readonly streams: number
}

export interface Repetition {
  readonly tool: string
  /** From 1. */
  readonly round: number
  /** Name of the scenario: repetitions of one name are comparable. */
  readonly scenario: string
  readonly report: LoadToolReport
  readonly truth: RunSummary
  /** Of the measuring window; `atMs` counts from its start. */
  readonly series: readonly SeriesStep[]
  /** `client` is empty for a tool that gives no percentiles at all. */
  readonly histograms: { readonly client: readonly CurvePoint[]; readonly server: readonly CurvePoint[] }
  readonly verdict: LoadToolVerdict
  readonly argv: readonly string[]
  /** CPU time over wall time, in cores: what the generator and all server workers kept busy. */
  readonly cpu: { readonly generator: number; readonly server: number }
  readonly heat?: HeatCells
  readonly streams?: StreamCurves
  /** The tool crashed, hung or printed nothing that its parser knows: a sentence. Its figures are then not used. */
  readonly failure?: string
}

/** A step of a sweep of the rate: one open-loop run at `target` arrivals per second. */
export interface SweepPoint {
  readonly target: number
  /** Requests per second that were answered. */
  readonly achieved: number
  readonly p50: number
  readonly p99: number
  readonly errors: number
}

export interface Sweep {
  readonly scenario: string
  /** Requests per second that a closed loop reached; the sweep goes up to 110 % of it. */
  readonly capacity: number
  /** The latency that a p99 should stay below, in milliseconds. */
  readonly limitMs: number
  readonly points: readonly SweepPoint[]
}

/** A tool that was looked for: its version line, or why it did not run. */
export interface ToolRecord {
  readonly tool: string
  readonly version: string | null
  readonly note?: string
}

export interface ComparisonRun {
  /** Name of the report's folder: letters, digits and dashes. */
  readonly id: string
  readonly startedAt: string
  readonly finishedAt: string
  readonly command: string
  readonly machine: MachineRecord
  readonly source: SourceRecord
  readonly pinning: Pinning
  /** What a reader has to know before any verdict, the weightiest first. */
  readonly warnings: readonly string[]
  /** Command line of the server, its workers, whether truth was recorded. */
  readonly server: { readonly argv: readonly string[]; readonly workers: number; readonly recording: boolean }
  /** Limits of the system that bound a run: open files, port range, listen backlog. */
  readonly limits: Readonly<Record<string, string>>
  readonly tools: readonly ToolRecord[]
  readonly rounds: number
  readonly warmupRule: string
  readonly measureSeconds: number
  readonly orderSeed: number
  /** Tools by round, as they ran. */
  readonly order: readonly (readonly string[])[]
  /** What each scenario does to the tool, in a sentence; in the order of the report. */
  readonly scenarios: readonly { readonly name: string; readonly says: string }[]
  readonly repetitions: readonly Repetition[]
  readonly sweeps?: readonly Sweep[]
}
