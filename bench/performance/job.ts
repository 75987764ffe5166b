/** What travels between the runner and a generator process. */
import type { HistogramSnapshot, QuantileSummary } from '../../src/base/histogram.js'
import type { IdPlan, RequestSpec } from '../harness/http/requests.js'
import type { PollPlan } from './scenarios.js'

/** What the command line may ask for. */
export type GeneratorName = 'autocannon' | 'wrk'

/** `streams` is our own driver, which checks every event of a stream. */
type DriverName = GeneratorName | 'streams'

/** One load run against one address. */
export interface LoadJob {
  readonly tool: DriverName
  /** `http://127.0.0.1:port`; nothing else is ever loaded. */
  readonly origin: string
  readonly requests: readonly RequestSpec[]
  readonly ids: IdPlan
  readonly connections: number
  readonly warmupSeconds: number
  readonly measureSeconds: number
  /** The server's processes, whose CPU time and memory are read at both ends of the measurement. */
  readonly serverPids: readonly number[]
  /** Processes that answer the server, on the generator's core: their CPU time counts as the generator's. */
  readonly upstreamPids: readonly number[]
  readonly poll: PollPlan | null
}

/** Requests that did not get a good answer, counted over warm-up and measurement. */
export interface ErrorCounts {
  readonly non2xx: number
  readonly timeouts: number
  /** Connections refused, reset or closed with a request outstanding. */
  readonly resets: number
  /** Answers with a good status that did not hold what they had to. */
  readonly incomplete: number
}

/** What a stream's caller sees. Times in milliseconds. */
export interface StreamFigures {
  readonly tokens: number
  /** From the sending to the first token. */
  readonly firstToken: HistogramSnapshot
  /** Between two tokens of one stream. */
  readonly gap: HistogramSnapshot
}

/** What a generator saw during the measurement. */
export interface LoadFigures {
  readonly completed: number
  readonly seconds: number
  readonly errors: ErrorCounts
  /** Milliseconds. */
  readonly latency: QuantileSummary
  /** Null when the tool gives quantiles only. */
  readonly histogram: HistogramSnapshot | null
  /** Null when the answers are no streams, or the tool does not look into them. */
  readonly stream: StreamFigures | null
}

/** What a light caller beside the load saw; latency counts from the time a request was due. */
export interface PollFigures {
  readonly latency: HistogramSnapshot
  /** Sent minus due: how late the caller itself was. */
  readonly lateness: HistogramSnapshot
  readonly errors: number
}

/** What the measurement cost; null where the system has no /proc. */
export interface CostFigures {
  readonly seconds: number
  readonly serverCpuMs: number | null
  readonly serverRssBytes: number | null
  readonly generatorCpuMs: number
  /** What everything else on the machine used meanwhile. */
  readonly foreignCpuMs: number | null
}

export interface LoadResult {
  readonly load: LoadFigures
  readonly cost: CostFigures
  readonly poll: PollFigures | null
}

/** The last message of a generator process. */
export type GeneratorMessage =
  | { readonly ok: true; readonly result: LoadResult }
  | { readonly ok: false; readonly reason: string }
