/** What travels between the runner and a generator process, and the figures of a side that the report is made of. */

import type { HistogramSnapshot, QuantileSummary } from '../../src/base/histogram.js'
import type { IdPlan, RequestSpec } from '../harness/http/requests.js'
import type { LoopFigures } from './floor-loop.js'

/** What the command line may ask for. */
export type GeneratorName = 'autocannon' | 'wrk'

/**
 * `streams` is our own driver, which checks every event of a stream; `pairs` makes every call directly too, and tells
 * what the server between adds.
 */
export type DriverName = GeneratorName | 'streams' | 'pairs'

/** A light open-loop caller beside the load: `ratePerSecond` requests at fixed times, whatever the server does. */
export interface PollPlan {
  readonly path: string
  readonly ratePerSecond: number
}

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
  /** The same call at the upstream itself; only for `pairs`. */
  readonly direct?: { readonly origin: string; readonly request: RequestSpec }
}

/** What a server between a caller and its upstream adds, milliseconds. */
export interface AddedLatency {
  readonly p50: number
  readonly p99: number
  readonly max: number
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
interface StreamFigures {
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
  /** Milliseconds; null for a loop, which answers nobody. */
  readonly latency: QuantileSummary | null
  /** Null when the tool gives quantiles only. */
  readonly histogram: HistogramSnapshot | null
  /** Null when the answers are no streams, or the tool does not look into them. */
  readonly stream: StreamFigures | null
  /** Only where calls were made both ways. */
  readonly added?: AddedLatency
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
  /** Null when there was no generator. */
  readonly generatorCpuMs: number | null
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

/** One of what a round measures. */
export type SideName = 'floor' | 'ours' | 'peer'

/** One round: all sides, in the order in which they ran. */
export interface RoundFigures {
  readonly order: readonly SideName[]
  readonly ours: SideFigures
  readonly floor: SideFigures | null
  /** Another gateway on the same load; null when none was asked for. */
  readonly peer: SideFigures | null
  /** Our server on one connection, for scenarios that quote a latency per item. */
  readonly solo: SideFigures | null
}

export type SideFigures = ReturnType<typeof figuresOfLoad>

/** The figures of a load run. */
export function figuresOfLoad({ load, cost, poll }: LoadResult) {
  const { completed, seconds } = load
  const { serverCpuMs } = cost
  const coreShare = (cpuMs: number | null) => (cpuMs === null ? null : cpuMs / 1000 / cost.seconds)
  return {
    ...load,
    /** Replies (or finished turns of a loop) per second. */
    rate: completed / seconds,
    /** Server CPU microseconds per reply. */
    cpuUsPerRequest: serverCpuMs === null || completed === 0 ? null : (serverCpuMs * 1000) / completed,
    /** Cores the server kept busy. */
    serverShare: coreShare(serverCpuMs),
    /** Cores the generator, with the mock upstream beside it, kept busy; null when there was none. */
    generatorShare: coreShare(cost.generatorCpuMs),
    /** Cores that programs outside this run kept busy; null when unknown. */
    foreignShare: coreShare(cost.foreignCpuMs),
    rssBytes: cost.serverRssBytes,
    poll,
  }
}

/** The figures of a loop floor, which answers nobody. */
export function figuresOfLoop({ completed, seconds, cpuMs, foreignCpuMs, rssBytes }: LoopFigures) {
  const errors = { non2xx: 0, timeouts: 0, resets: 0, incomplete: 0 }
  const cost = { serverCpuMs: cpuMs, serverRssBytes: rssBytes, generatorCpuMs: null, foreignCpuMs }
  return figuresOfLoad({
    load: { completed, seconds, errors, latency: null, histogram: null, stream: null },
    cost: { seconds, ...cost },
    poll: null,
  })
}

/** All failures of one side, the light caller's included. */
export function errorTotal(side: SideFigures): number {
  const { non2xx, timeouts, resets, incomplete } = side.errors
  return non2xx + timeouts + resets + incomplete + (side.poll?.errors ?? 0)
}
