import {
  type EventLoopUtilization,
  type IntervalHistogram,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks'
import type { PoolSnapshot } from '../../cpu-pool/pool.js'
import type { InferenceSnapshot } from './inference-stats.js'
import { type InFlightTotal, type OperationSnapshot, OperationStats } from './operation-stats.js'
import type { ToolSnapshot } from './tool-stats.js'

interface UpstreamSnapshot {
  /** Open sockets to providers, idle ones included. */
  readonly sockets: number
  /** Calls of providers under way. */
  readonly calls: number
}

/** All counters of one worker at one moment. */
export interface WorkerSnapshot {
  readonly worker: number
  readonly pid: number
  /** Unix time in seconds. */
  readonly startedAt: number
  readonly uptimeS: number
  readonly connections: number
  readonly operations: readonly OperationSnapshot[]
  readonly loop: {
    /** Share of time the loop was busy since the worker started, 0..1. */
    readonly utilization: number
    /** How late a 10 ms timer fired, milliseconds. */
    readonly delayMs: { readonly p50: number; readonly p99: number; readonly max: number }
  }
  readonly pool: PoolSnapshot
  readonly upstream: UpstreamSnapshot
  readonly inference: readonly InferenceSnapshot[]
  readonly tools: readonly ToolSnapshot[]
  /** Statements to a database that machines share, by what they were for. */
  readonly statements: Readonly<Record<string, number>>
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly external: number }
  readonly cpuSeconds: number
}

/** Who the worker is, and where a snapshot gets what others count. */
type WorkerStatsOptions = Pick<WorkerSnapshot, 'worker' | 'startedAt'> & {
  readonly [K in
    | 'pool'
    | 'upstream'
    | 'inference'
    | 'tools'
    | 'statements'
    | 'connections']: () => WorkerSnapshot[K]
}

const LOOP_PROBE_MS = 10
const NS_PER_MS = 1e6

/** Keeps the statistics of one worker. */
export class WorkerStats {
  readonly #options: WorkerStatsOptions
  readonly #operations = new Map<string, OperationStats>()
  readonly #load: InFlightTotal = { inFlight: 0 }
  readonly #delay: IntervalHistogram
  readonly #startUtilization: EventLoopUtilization
  readonly #startedMs = performance.now()

  constructor(options: WorkerStatsOptions) {
    this.#options = options
    this.#delay = monitorEventLoopDelay({ resolution: LOOP_PROBE_MS })
    this.#delay.enable()
    this.#startUtilization = performance.eventLoopUtilization()
  }

  /** The counters of an operation; made at the first call with a name. */
  operation(name: string): OperationStats {
    let stats = this.#operations.get(name)
    if (stats === undefined) {
      stats = new OperationStats(name, this.#load)
      this.#operations.set(name, stats)
    }
    return stats
  }

  /** Calls without an answer, over all operations. */
  inFlight(): number {
    return this.#load.inFlight
  }

  /** Answers since the start, over all operations, by class: `[1xx, …, 5xx]`. */
  answersByClass(): number[] {
    const answers = [0, 0, 0, 0, 0]
    for (const operation of this.#operations.values()) operation.addClasses(answers)
    return answers
  }

  uptimeS(): number {
    return (performance.now() - this.#startedMs) / 1000
  }

  stop(): void {
    this.#delay.disable()
  }

  snapshot(): WorkerSnapshot {
    const { worker, startedAt, pool, upstream, inference, tools, statements, connections } = this.#options
    const memory = process.memoryUsage()
    const cpu = process.cpuUsage()
    return {
      worker,
      pid: process.pid,
      startedAt,
      uptimeS: this.uptimeS(),
      connections: connections(),
      operations: [...this.#operations.values()].map((operation) => operation.snapshot()),
      loop: {
        utilization: performance.eventLoopUtilization(this.#startUtilization).utilization,
        delayMs: this.#delayMs(),
      },
      pool: pool(),
      upstream: upstream(),
      inference: inference(),
      tools: tools(),
      statements: statements(),
      memory: { rss: memory.rss, heapUsed: memory.heapUsed, external: memory.external },
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
    }
  }

  /** The probe reports the whole interval between two firings; what exceeds its period is the delay. */
  #delayMs(): { p50: number; p99: number; max: number } {
    if (this.#delay.count === 0) return { p50: 0, p99: 0, max: 0 }
    const late = (ns: number): number => Math.max(0, ns / NS_PER_MS - LOOP_PROBE_MS)
    return {
      p50: late(this.#delay.percentile(50)),
      p99: late(this.#delay.percentile(99)),
      max: late(this.#delay.max),
    }
  }
}
