import { Histogram } from '../../../src/base/histogram.js'
import type { OperationSnapshot } from '../../../src/telemetry/counters/operation-stats.js'
import type { WorkerSnapshot } from '../../../src/telemetry/counters/worker-stats.js'

/** A histogram's snapshot of these durations in milliseconds. */
export function durations(...values: number[]): OperationSnapshot['serviceMs'] {
  const histogram = new Histogram()
  for (const value of values) histogram.record(value)
  return histogram.snapshot()
}

/** An operation that answered `serviceMs.length` calls with 200, unless said otherwise. */
export function operation(name: string, more: Partial<OperationSnapshot> = {}): OperationSnapshot {
  return {
    name,
    count: 2,
    inFlight: 0,
    aborted: 0,
    bytesIn: 10,
    bytesOut: 20,
    statuses: [[200, 2]],
    serviceMs: durations(1, 3),
    ...more,
  }
}

/** What a worker of some age would report. */
export function workerSnapshot(worker: number, more: Partial<WorkerSnapshot> = {}): WorkerSnapshot {
  return {
    worker,
    pid: 4000 + worker,
    startedAt: 1_700_000_000.25,
    uptimeS: 12.345_678,
    connections: 3,
    operations: [operation('read_item')],
    loop: { utilization: 0.123_456, delayMs: { p50: 0.1, p99: 2, max: 7 } },
    pool: {
      threads: 2,
      queue: 1,
      queuedCost: 5000,
      completed: 3,
      rejected: 4,
      dropped: 5,
      waitMs: durations(0.5),
      runMs: durations(2, 4, 6),
      rows: [
        { thread: 11, tasks: 1, busyMs: 2 },
        { thread: 12, tasks: 2, busyMs: 10 },
      ],
    },
    upstream: { sockets: 6, calls: 2 },
    inference: [],
    tools: [],
    statements: {},
    memory: { rss: 1000, heapUsed: 500, external: 100 },
    cpuSeconds: 1.5,
    ...more,
  }
}
