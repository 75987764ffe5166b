/** What a worker says of itself while the operator watches: of the time since it was asked before. */
import {
  type EventLoopUtilization,
  type IntervalHistogram,
  monitorEventLoopDelay,
  performance,
} from 'node:perf_hooks'
import type { Histogram } from '../../base/histogram.js'
import type { LiveBreaker, WorkerReport } from './live-report.js'

/** Ten times between two questions. */
const PROBE_MS = 50
const NS_PER_MS = 1e6

interface FigureSources {
  readonly uptimeS: () => number
  readonly connections: () => number
  readonly requests: () => number
  /** Since the start, by class of status. */
  readonly answers: () => readonly number[]
  readonly pool: () => WorkerReport['pool']
  readonly breakers: () => readonly LiveBreaker[]
}

export class WorkerFigures {
  readonly #sources: FigureSources
  /** A probe that runs only while somebody watches. */
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: PROBE_MS })
  #utilization: EventLoopUtilization = performance.eventLoopUtilization()
  #cpu = process.cpuUsage()
  #readAt = 0
  #answers: readonly number[] = []

  constructor(sources: FigureSources) {
    this.#sources = sources
  }

  begin(): void {
    this.#delay.reset()
    this.#delay.enable()
    this.#remember()
  }

  end(): void {
    this.#delay.disable()
  }

  /** @param overhead what the server's own time was meanwhile */
  read(overhead: Histogram): WorkerReport {
    const { uptimeS, connections, requests, answers, pool, breakers } = this.#sources
    const { user, system } = process.cpuUsage(this.#cpu)
    const elapsedMs = performance.now() - this.#readAt
    const before = this.#answers
    const { utilization } = performance.eventLoopUtilization(this.#utilization)
    const lag = this.#lag()
    this.#remember()
    return {
      pid: process.pid,
      uptimeS: uptimeS(),
      connections: connections(),
      requests: requests(),
      answers: answers().map((n, at) => n - before[at]!),
      loop: { utilization, lag },
      pool: pool(),
      rss: process.memoryUsage.rss(),
      cpu: elapsedMs > 0 ? (user + system) / 1000 / elapsedMs : 0,
      overheadMs: overhead.snapshot(),
      breakers: breakers(),
    }
  }

  #remember(): void {
    this.#utilization = performance.eventLoopUtilization()
    this.#cpu = process.cpuUsage()
    this.#readAt = performance.now()
    this.#answers = this.#sources.answers()
    this.#delay.reset()
  }

  /** How late the probe fired: it reports the whole interval between two firings. */
  #lag(): WorkerReport['loop']['lag'] {
    if (this.#delay.count === 0) return { p50: 0, p99: 0, max: 0 }
    const late = (ns: number): number => Math.max(0, ns / NS_PER_MS - PROBE_MS)
    return {
      p50: late(this.#delay.percentile(50)),
      p99: late(this.#delay.percentile(99)),
      max: late(this.#delay.max),
    }
  }
}
