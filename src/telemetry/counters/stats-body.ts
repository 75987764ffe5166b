import { Histogram, type HistogramSnapshot, type QuantileSummary } from '../../base/histogram.js'
import type { PoolSnapshot } from '../../cpu-pool/pool.js'
import type { OperationSnapshot } from './operation-stats.js'
import type { WorkerSnapshot } from './worker-stats.js'

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** The body of `GET /api/v1/stats` (contract/practice 5): counters of one worker. Times in milliseconds. */
export function formatStatsBody(snapshot: WorkerSnapshot): Record<string, unknown> {
  const { operations } = snapshot
  return {
    worker: snapshot.worker,
    pid: snapshot.pid,
    started_at: snapshot.startedAt,
    uptime_s: roundToFourDecimals(snapshot.uptimeS),
    requests: {
      total: sumOf(operations, (operation) => operation.count),
      in_flight: sumOf(operations, (operation) => operation.inFlight),
      by_status: countByStatusClass(operations),
      aborted: sumOf(operations, (operation) => operation.aborted),
    },
    operations: Object.fromEntries(
      operations.map((operation) => [operation.name, formatOperation(operation)]),
    ),
    event_loop: {
      utilization: roundToFourDecimals(snapshot.loop.utilization),
      delay_ms: roundAll(snapshot.loop.delayMs),
    },
    pool: formatPool(snapshot.pool),
    memory: {
      rss: snapshot.memory.rss,
      heap_used: snapshot.memory.heapUsed,
      external: snapshot.memory.external,
    },
    connections: snapshot.connections,
  }
}

function formatOperation(operation: OperationSnapshot): Record<string, unknown> {
  return {
    count: operation.count,
    errors: sumOf(operation.statuses, ([status, answers]) => (status >= 400 ? answers : 0)),
    in_flight: operation.inFlight,
    aborted: operation.aborted,
    bytes_in: operation.bytesIn,
    bytes_out: operation.bytesOut,
    ...roundedQuantiles(operation.serviceMs),
    by_status: Object.fromEntries(operation.statuses.map(([status, answers]) => [String(status), answers])),
  }
}

function formatPool(pool: PoolSnapshot): Record<string, unknown> {
  return {
    threads: pool.threads,
    queue: pool.queue,
    queued_rounds: pool.queuedCost,
    completed: pool.completed,
    rejected: pool.rejected,
    dropped: pool.dropped,
    wait_ms: roundedQuantiles(pool.waitMs),
    run_ms: roundedQuantiles(pool.runMs),
    per_thread: pool.rows.map((row) => ({
      thread: row.thread,
      tasks: row.tasks,
      busy_ms: roundToFourDecimals(row.busyMs),
    })),
  }
}

function countByStatusClass(operations: readonly OperationSnapshot[]): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(CLASSES.slice(1).map((name) => [name, 0]))
  for (const { statuses } of operations) {
    for (const [status, answers] of statuses) {
      const name = CLASSES[Math.floor(status / 100) - 1]
      if (name !== undefined) counts[name] = (counts[name] ?? 0) + answers
    }
  }
  return counts
}

function roundedQuantiles(snapshot: HistogramSnapshot): QuantileSummary {
  return roundAll(new Histogram().merge(snapshot).quantiles())
}

function roundAll<T extends object>(values: T): T {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, roundToFourDecimals(value)]),
  ) as T
}

/** Four decimals: a tenth of a microsecond where the unit is a millisecond. */
function roundToFourDecimals(value: number): number {
  return Math.round(value * 1e4) / 1e4
}

function sumOf<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}
