/** What one side of a scenario yielded in one round: the raw material of every figure in the report. */
import type { HistogramSnapshot, QuantileSummary } from '../../src/base/histogram.js'
import type { LoopFigures } from './floor-loop.js'
import type { ErrorCounts, LoadResult, PollFigures, StreamFigures } from './job.js'

export interface SideFigures {
  readonly completed: number
  readonly seconds: number
  /** Replies (or finished turns of a loop) per second. */
  readonly rate: number
  readonly errors: ErrorCounts
  /** Milliseconds; null for a loop, which answers nobody. */
  readonly latency: QuantileSummary | null
  readonly histogram: HistogramSnapshot | null
  /** Server CPU microseconds per reply. */
  readonly cpuUsPerRequest: number | null
  /** Cores the server kept busy. */
  readonly serverShare: number | null
  /** Cores the generator, with the mock upstream beside it, kept busy; null when there was none. */
  readonly generatorShare: number | null
  /** Cores that programs outside this run kept busy; null when unknown. */
  readonly foreignShare: number | null
  readonly rssBytes: number | null
  readonly poll: PollFigures | null
  readonly stream: StreamFigures | null
}

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

/** The figures of a load run. */
export function figuresOfLoad({ load, cost, poll }: LoadResult): SideFigures {
  const { completed, seconds } = load
  return {
    completed,
    seconds,
    rate: completed / seconds,
    errors: load.errors,
    latency: load.latency,
    histogram: load.histogram,
    cpuUsPerRequest: microsecondsPerTurn(cost.serverCpuMs, completed),
    serverShare: coreShare(cost.serverCpuMs, cost.seconds),
    generatorShare: coreShare(cost.generatorCpuMs, cost.seconds),
    foreignShare: coreShare(cost.foreignCpuMs, cost.seconds),
    rssBytes: cost.serverRssBytes,
    poll,
    stream: load.stream,
  }
}

/** The figures of a loop floor. */
export function figuresOfLoop(loop: LoopFigures): SideFigures {
  const { completed, seconds } = loop
  return {
    completed,
    seconds,
    rate: completed / seconds,
    errors: { non2xx: 0, timeouts: 0, resets: 0, incomplete: 0 },
    latency: null,
    histogram: null,
    cpuUsPerRequest: microsecondsPerTurn(loop.cpuMs, completed),
    serverShare: coreShare(loop.cpuMs, seconds),
    generatorShare: null,
    foreignShare: coreShare(loop.foreignCpuMs, seconds),
    rssBytes: loop.rssBytes,
    poll: null,
    stream: null,
  }
}

/** All failures of one side, the light caller's included. */
export function errorTotal(side: SideFigures): number {
  const { non2xx, timeouts, resets, incomplete } = side.errors
  return non2xx + timeouts + resets + incomplete + (side.poll?.errors ?? 0)
}

function microsecondsPerTurn(cpuMs: number | null, turns: number): number | null {
  return cpuMs === null || turns === 0 ? null : (cpuMs * 1000) / turns
}

function coreShare(cpuMs: number | null, seconds: number): number | null {
  return cpuMs === null ? null : cpuMs / 1000 / seconds
}
