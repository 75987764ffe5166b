import { Histogram, type HistogramSnapshot, type Quantiles } from '../../base/histogram.js'
import type { PoolSnapshot } from '../../cpu-pool/pool-snapshot.js'
import type { OperationSnapshot } from './operation-stats.js'
import type { WorkerSnapshot } from './worker-stats.js'

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** The body of `GET /api/v1/stats` (contract/practice 5): counters of one worker. Times in milliseconds. */
export function statsBody(snapshot: WorkerSnapshot): Record<string, unknown> {
  const { operations } = snapshot
  return {
    worker: snapshot.worker,
    pid: snapshot.pid,
    started_at: snapshot.startedAt,
    uptime_s: rounded(snapshot.uptimeS),
    requests: {
      total: sum(operations, (operation) => operation.count),
      in_flight: sum(operations, (operation) => operation.inFlight),
      by_status: byClass(operations),
      aborted: sum(operations, (operation) => operation.aborted),
    },
    operations: Object.fromEntries(operations.map((operation) => [operation.name, operationBody(operation)])),
    event_loop: {
      utilization: rounded(snapshot.loop.utilization),
      delay_ms: roundedAll(snapshot.loop.delayMs),
    },
    pool: poolBody(snapshot.pool),
    memory: {
      rss: snapshot.memory.rss,
      heap_used: snapshot.memory.heapUsed,
      external: snapshot.memory.external,
    },
    connections: snapshot.connections,
  }
}

function operationBody(operation: OperationSnapshot): Record<string, unknown> {
  return {
    count: operation.count,
    errors: sum(operation.statuses, ([status, answers]) => (status >= 400 ? answers : 0)),
    in_flight: operation.inFlight,
    aborted: operation.aborted,
    bytes_in: operation.bytesIn,
    bytes_out: operation.bytesOut,
    ...quantiles(operation.serviceMs),
    by_status: Object.fromEntries(operation.statuses.map(([status, answers]) => [String(status), answers])),
  }
}

function poolBody(pool: PoolSnapshot): Record<string, unknown> {
  return {
    threads: pool.threads,
    queue: pool.queue,
    queued_rounds: pool.queuedCost,
    completed: pool.completed,
    rejected: pool.rejected,
    dropped: pool.dropped,
    wait_ms: quantiles(pool.waitMs),
    run_ms: quantiles(pool.runMs),
    per_thread: pool.rows.map((row) => ({
      thread: row.thread,
      tasks: row.tasks,
      busy_ms: rounded(row.busyMs),
    })),
  }
}

function byClass(operations: readonly OperationSnapshot[]): Record<string, number> {
  const counts: Record<string, number> = Object.fromEntries(CLASSES.slice(1).map((name) => [name, 0]))
  for (const { statuses } of operations) {
    for (const [status, answers] of statuses) {
      const name = CLASSES[Math.floor(status / 100) - 1]
      if (name !== undefined) counts[name] = (counts[name] ?? 0) + answers
    }
  }
  return counts
}

function quantiles(snapshot: HistogramSnapshot): Quantiles {
  return roundedAll(new Histogram().merge(snapshot).quantiles())
}

function roundedAll<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, rounded(value)])) as T
}

/** Four decimals: a tenth of a microsecond where the unit is a millisecond. */
function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((total, value) => total + of(value), 0)
}
