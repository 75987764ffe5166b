/** The counters of all workers in the Prometheus text format, version 0.0.4. Names follow its conventions. */
import { countValuesAtOrBelow } from '../../base/histogram.js'
import { inferenceText } from '../counters/inference-stats.js'
import type { OperationSnapshot } from '../counters/operation-stats.js'
import type { WorkerSnapshot } from '../counters/worker-stats.js'

/** Upper bounds in milliseconds, chosen so that both a cache hit and a slow report fall well inside. */
const BOUNDS_MS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
]

type Labels = Readonly<Record<string, string | number>>
type Sample = readonly [labels: Labels, value: number]

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** One family per metric; every sample carries the index of its worker. */
export function formatWorkerMetrics(workers: readonly WorkerSnapshot[]): string {
  const operations = workers.flatMap((w) =>
    w.operations.map((operation) => ({ worker: w.worker, operation })),
  )
  const perOperation = (of: (operation: OperationSnapshot) => number): Sample[] =>
    operations.map(({ worker, operation }) => [{ worker, operation: operation.name }, of(operation)])
  const perWorker = (of: (worker: WorkerSnapshot) => number): Sample[] =>
    workers.map((worker) => [{ worker: worker.worker }, of(worker)])
  const answers = operations.flatMap(({ worker, operation }) =>
    operation.statuses.map(([status, n]): Sample => [{ worker, operation: operation.name, status }, n]),
  )
  return [
    family(
      'sluice_requests_total',
      'counter',
      'Requests that arrived.',
      perOperation((o) => o.count),
    ),
    family('sluice_responses_total', 'counter', 'Answers, by status.', answers),
    family(
      'sluice_requests_aborted_total',
      'counter',
      'Callers that left early.',
      perOperation((o) => o.aborted),
    ),
    family(
      'sluice_requests_in_flight',
      'gauge',
      'Requests without an answer.',
      perOperation((o) => o.inFlight),
    ),
    family(
      'sluice_request_bytes_total',
      'counter',
      'Bytes of request bodies.',
      perOperation((o) => o.bytesIn),
    ),
    family(
      'sluice_response_bytes_total',
      'counter',
      'Bytes of response bodies.',
      perOperation((o) => o.bytesOut),
    ),
    serviceTime(operations),
    family(
      'sluice_connections',
      'gauge',
      'Open connections.',
      perWorker((w) => w.connections),
    ),
    family(
      'sluice_event_loop_utilization',
      'gauge',
      'Busy share, 0 to 1.',
      perWorker((w) => w.loop.utilization),
    ),
    family('sluice_event_loop_delay_seconds', 'gauge', 'How late a timer fires.', loopDelays(workers)),
    family(
      'sluice_pool_threads',
      'gauge',
      'Threads of the CPU pool.',
      perWorker((w) => w.pool.threads),
    ),
    family(
      'sluice_pool_queue',
      'gauge',
      'Tasks waiting for a thread.',
      perWorker((w) => w.pool.queue),
    ),
    family(
      'sluice_pool_queued_rounds',
      'gauge',
      'PBKDF2 rounds waiting.',
      perWorker((w) => w.pool.queuedCost),
    ),
    family(
      'sluice_pool_completed_total',
      'counter',
      'Tasks done.',
      perWorker((w) => w.pool.completed),
    ),
    family(
      'sluice_pool_rejected_total',
      'counter',
      'Tasks refused.',
      perWorker((w) => w.pool.rejected),
    ),
    family(
      'sluice_pool_dropped_total',
      'counter',
      'Tasks dropped unstarted.',
      perWorker((w) => w.pool.dropped),
    ),
    family(
      'sluice_upstream_sockets',
      'gauge',
      'Open sockets to providers.',
      perWorker((w) => w.upstream.sockets),
    ),
    family(
      'sluice_upstream_calls',
      'gauge',
      'Calls of providers under way.',
      perWorker((w) => w.upstream.calls),
    ),
    family('sluice_pool_busy_seconds_total', 'counter', 'Busy time of a thread.', threadTimes(workers)),
    family(
      'sluice_worker_uptime_seconds',
      'gauge',
      'Age of the worker.',
      perWorker((w) => w.uptimeS),
    ),
    family(
      'sluice_worker_cpu_seconds_total',
      'counter',
      'CPU time.',
      perWorker((w) => w.cpuSeconds),
    ),
    family(
      'sluice_worker_resident_bytes',
      'gauge',
      'Resident memory.',
      perWorker((w) => w.memory.rss),
    ),
    family(
      'sluice_worker_heap_bytes',
      'gauge',
      'Used JavaScript heap.',
      perWorker((w) => w.memory.heapUsed),
    ),
    inferenceText(workers),
  ].join('')
}

function loopDelays(workers: readonly WorkerSnapshot[]): Sample[] {
  return workers.flatMap(({ worker, loop }) =>
    Object.entries(loop.delayMs).map(([quantile, ms]): Sample => [{ worker, quantile }, ms / 1000]),
  )
}

function threadTimes(workers: readonly WorkerSnapshot[]): Sample[] {
  return workers.flatMap(({ worker, pool }) =>
    pool.rows.map((row): Sample => [{ worker, thread: row.thread }, row.busyMs / 1000]),
  )
}

function serviceTime(operations: readonly { worker: number; operation: OperationSnapshot }[]): string {
  const name = 'sluice_service_time_seconds'
  const lines = operations.flatMap(({ worker, operation }) => {
    const labels = { worker, operation: operation.name }
    const { count, sum } = operation.serviceMs
    const below = countValuesAtOrBelow(operation.serviceMs, BOUNDS_MS)
    const buckets = BOUNDS_MS.map((bound, i) =>
      line(`${name}_bucket`, { ...labels, le: bound / 1000 }, below[i]!),
    )
    return [
      ...buckets,
      line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
      line(`${name}_sum`, labels, sum / 1000),
      line(`${name}_count`, labels, count),
    ]
  })
  return (
    heading(name, 'histogram', 'From the parsed request to the last byte handed to the socket.') +
    lines.join('')
  )
}

function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
  return heading(name, type, help) + samples.map(([labels, value]) => line(name, labels, value)).join('')
}

function heading(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`)
  return `${name}{${pairs.join(',')}} ${value}\n`
}
