/**
 * What the server knows about a run, as data: the shapes that the control listener answers with and that the
 * verdict engine reads. Times are milliseconds unless a name says otherwise; `…Ns` are of the monotonic clock that
 * every process of the machine shares, as decimal text, because they outgrow JSON's exact numbers.
 */
import type { LoadExpectation } from './control/requests.js'
import type { OperationCounts, RareMeasure, StallSnapshot } from './worker-snapshots.js'

export type { LoadExpectation, LoadToolReport } from './control/requests.js'

/** Of a histogram; `count` 0 makes the others 0. */
export interface DistributionSummary {
  readonly count: number
  readonly mean: number
  readonly max: number
  /** By name: `p50`, `p75`, `p90`, `p95`, `p99`, `p99.9`, `p99.99`. */
  readonly percentiles: Readonly<Record<string, number>>
}

/** `inFlight` arrived in the window and are still under way. Rare measures of which there are none have `count` 0. */
export interface OperationSummary
  extends OperationCounts,
    Readonly<Record<RareMeasure, DistributionSummary>> {
  /** Completed, by status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Faults applied on purpose, by kind. */
  readonly faults: Readonly<Record<string, number>>
  /** Arrivals per second of the window. */
  readonly rate: number
  /** Of the calls that arrived in the window; absent where none did. */
  readonly firstArrivalNs?: string
  readonly lastArrivalNs?: string
  /** Parsed head to last byte handed to the socket. */
  readonly service: DistributionSummary
  /** Between arrivals. `cv` is their coefficient of variation, `dispersion` the index of the counts per 100 ms. */
  readonly gap: DistributionSummary & { readonly cv: number; readonly dispersion: number }
  /** In flight as seen by arrivals, its maximum, its mean over time. */
  readonly concurrency: { readonly seen: DistributionSummary; readonly max: number; readonly mean: number }
}

export interface RunStall extends Omit<StallSnapshot, 'startMs' | 'endMs'> {
  readonly worker: number
  readonly startNs: string
  readonly endNs: string
}

export interface WorkerSummary {
  readonly worker: number
  /** CPU time over the window's length; 1 is one core. */
  readonly cpuShare: number
  readonly lag: DistributionSummary
}

export interface RunSummary {
  readonly id: string
  readonly label: string
  readonly expect: LoadExpectation | null
  readonly state: 'warm-up' | 'measuring' | 'stopped'
  readonly seed: number
  readonly delays: 'random' | 'quasi'
  readonly window: { readonly fromNs: string; readonly toNs: string; readonly seconds: number }
  /** Reasons why no report of the run can be believed (held answers over the bound, a worker died). */
  readonly marks: readonly string[]
  readonly total: OperationSummary
  readonly operations: Readonly<Record<string, OperationSummary>>
  readonly connections: {
    readonly peak: number
    readonly opened: number
    readonly closed: number
    readonly mean: number
    /** Share of the time in which at least 95 % of the expected connections were busy; null without an expectation. */
    readonly shareBusy: number | null
  }
  readonly workers: readonly WorkerSummary[]
  /**
   * Cores that programs other than this server kept busy, the load tool among them, over the seconds since the begin of
   * the run; absent where the system does not tell.
   */
  readonly others?: { readonly seconds: number; readonly cores: number }
  readonly stalls: readonly RunStall[]
  /** Workers that did not answer in time (a blocked one cannot): what they last said stands in for them. */
  readonly stale?: readonly number[]
  /** Bounds that `?window=a..b` may have, in seconds from the begin of the measurement. */
  readonly slices?: { readonly seconds: number; readonly count: number }
  readonly environment: Readonly<Record<string, string | number | boolean>>
}

/** One step of a series; counts of the step, not sums so far. */
export interface SeriesStep {
  readonly atMs: number
  readonly arrivals: number
  readonly completions: number
  readonly errors: number
  readonly inFlightMax: number
  readonly connections: number
  readonly lagMax: number
  readonly cpuShare: number
  readonly p50: number
  readonly p99: number
}

export type ValidityCheckId = `V${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17}`

export interface ValidityCheck {
  readonly id: ValidityCheckId
  readonly name: string
  /** `busy`: it would have failed, but other programs used the cores, which alone may be why. */
  readonly result: 'ok' | 'warn' | 'busy' | 'fail' | 'n/a'
  /** A sentence with the two numbers that were compared. */
  readonly reason: string
}

export type LoopClass = 'open' | 'closed' | 'corrected' | 'omitting' | 'synthetic' | 'censored' | 'unknown'

export interface LoadToolVerdict {
  readonly verdict:
    | 'valid'
    | 'valid for throughput only'
    | 'lower bound only'
    /** Other programs used the cores: on a quiet machine it would be one of the others. */
    | 'not judged'
    | 'latency invalid'
    | 'invalid'
  readonly loopClass: LoopClass
  readonly reasons: readonly string[]
  readonly checks: readonly ValidityCheck[]
}
