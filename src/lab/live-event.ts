/**
 * What `GET /lab/v1/live` sends, as a server-sent event without a name whose `data` is one JSON text: at once when a
 * reader connects, then about every 500 ms. Every event is whole in itself but for the series, of which it carries only
 * the steps that this reader has not seen: all steps of the run (the ring's, at most) in the first event and whenever
 * the run's id changes. A reader that connects again gets them all again.
 */
import type { LoadToolVerdict, OperationSummary, RunStall, RunSummary, SeriesStep } from './run-summary.js'

/** A percentile in percent (50, 90, 99.9; below 100) and its milliseconds; points ascend in both. */
export type PercentilePoint = readonly [percentile: number, ms: number]

/** What a live run takes over from the summary of the run, and from its totals. */
export const LIVE_MEMBERS = ['id', 'label', 'expect', 'state', 'seed', 'delays', 'marks', 'workers'] as const
export const LIVE_TOTALS = ['arrivals', 'completed', 'aborted', 'inFlight', 'rate'] as const

/** What changes every half second is here; what a finished run says in full is `GET /lab/v1/runs/{id}`. */
export type LiveRun = Pick<RunSummary, (typeof LIVE_MEMBERS)[number]> & {
  /** Since the run was created, warm-up included: the time scale of `SeriesStep.atMs` and of the stalls below. */
  readonly elapsedMs: number
  readonly warmupMs: number
  /** Of the measurement; 0 when it ends only by a stop. */
  readonly measureMs: number
  /** Of the window that is being measured, all operations together. `errors` are answers of 400 and above. */
  readonly totals: Pick<OperationSummary, (typeof LIVE_TOTALS)[number]> & { readonly errors: number }
  readonly connections: { readonly now: number; readonly peak: number; readonly opened: number }
  readonly stalls: readonly LiveStall[]
  /** Faults that are switched on, in words of a person: `hold GET /api/v1/report, 1000 ms`. */
  readonly faults: readonly string[]
}

interface LiveStall {
  readonly kind: RunStall['kind']
  readonly worker: number
  readonly fromMs: number
  /** Null while it lasts. */
  readonly toMs: number | null
}

export interface LiveEvent {
  /** The run under way, or the latest one for as long as it is kept; null when there was none. */
  readonly run: LiveRun | null
  readonly steps: readonly SeriesStep[]
  /** Service time by operation, for operations with at least one completed request: up to some 60 points each. */
  readonly percentiles: Readonly<Record<string, readonly PercentilePoint[]>>
  /** As soon as a client's report was posted. */
  readonly verdict: LoadToolVerdict | null
  readonly validity: string | null
}
