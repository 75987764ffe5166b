/** The counters of all workers as metrics. Names follow Prometheus's conventions; every sample carries its worker. */
import type { InferenceSnapshot } from '../counters/inference-stats.js'
import type { OperationSnapshot } from '../counters/operation-stats.js'
import type { ToolSnapshot } from '../counters/tool-stats.js'
import type { WorkerSnapshot } from '../counters/worker-stats.js'
import { formatMetricFamily, histogramSamples, type MetricSample } from './text-format.js'

/** Upper bounds in milliseconds, chosen so that both a cache hit and a slow report fall well inside. */
const SERVICE_BOUNDS_MS = [
  0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000,
]
const INFERENCE_BOUNDS_MS = [
  10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000,
]
const NANOS_PER_DOLLAR = 1e9

/** What one worker contributes to a family. */
type WorkerSamples = (worker: WorkerSnapshot) => readonly MetricSample[]
type MetricFamily = readonly [
  name: string,
  type: 'counter' | 'gauge' | 'histogram',
  help: string,
  samples: WorkerSamples,
]

function perWorker(figureOf: (worker: WorkerSnapshot) => number): WorkerSamples {
  return (snapshot) => [[{ worker: snapshot.worker }, figureOf(snapshot)]]
}

function perOperation(figureOf: (operation: OperationSnapshot) => number): WorkerSamples {
  return ({ worker, operations }) =>
    operations.map((operation) => [{ worker, operation: operation.name }, figureOf(operation)])
}

function perModel(
  samplesOf: (series: InferenceSnapshot, labels: Readonly<Record<string, string | number>>) => MetricSample[],
): WorkerSamples {
  return ({ worker, inference }) =>
    inference.flatMap((series) => {
      const { model, provider } = series
      return samplesOf(series, { worker, model, provider })
    })
}

function perTool(
  samplesOf: (series: ToolSnapshot, labels: Readonly<Record<string, string | number>>) => MetricSample[],
): WorkerSamples {
  return ({ worker, tools }) => tools.flatMap((series) => samplesOf(series, { worker, tool: series.tool }))
}

const FAMILIES: readonly MetricFamily[] = [
  ['sluice_requests_total', 'counter', 'Requests that arrived.', perOperation((o) => o.count)],
  [
    'sluice_responses_total',
    'counter',
    'Answers, by status.',
    ({ worker, operations }) =>
      operations.flatMap(({ name, statuses }) =>
        statuses.map(([status, n]): MetricSample => [{ worker, operation: name, status }, n]),
      ),
  ],
  ['sluice_requests_aborted_total', 'counter', 'Callers that left early.', perOperation((o) => o.aborted)],
  ['sluice_requests_in_flight', 'gauge', 'Requests without an answer.', perOperation((o) => o.inFlight)],
  ['sluice_request_bytes_total', 'counter', 'Bytes of request bodies.', perOperation((o) => o.bytesIn)],
  ['sluice_response_bytes_total', 'counter', 'Bytes of response bodies.', perOperation((o) => o.bytesOut)],
  [
    'sluice_service_time_seconds',
    'histogram',
    'From the parsed request to the last byte handed to the socket.',
    ({ worker, operations }) =>
      operations.flatMap(({ name, serviceMs }) =>
        histogramSamples({ worker, operation: name }, serviceMs, SERVICE_BOUNDS_MS),
      ),
  ],
  ['sluice_connections', 'gauge', 'Open connections.', perWorker((w) => w.connections)],
  ['sluice_event_loop_utilization', 'gauge', 'Busy share, 0 to 1.', perWorker((w) => w.loop.utilization)],
  [
    'sluice_event_loop_delay_seconds',
    'gauge',
    'How late a timer fires.',
    ({ worker, loop }) =>
      Object.entries(loop.delayMs).map(([quantile, ms]) => [{ worker, quantile }, ms / 1000]),
  ],
  ['sluice_pool_threads', 'gauge', 'Threads of the CPU pool.', perWorker((w) => w.pool.threads)],
  ['sluice_pool_queue', 'gauge', 'Tasks waiting for a thread.', perWorker((w) => w.pool.queue)],
  ['sluice_pool_queued_rounds', 'gauge', 'PBKDF2 rounds waiting.', perWorker((w) => w.pool.queuedCost)],
  ['sluice_pool_completed_total', 'counter', 'Tasks done.', perWorker((w) => w.pool.completed)],
  ['sluice_pool_rejected_total', 'counter', 'Tasks refused.', perWorker((w) => w.pool.rejected)],
  ['sluice_pool_dropped_total', 'counter', 'Tasks dropped unstarted.', perWorker((w) => w.pool.dropped)],
  ['sluice_upstream_sockets', 'gauge', 'Open sockets to providers.', perWorker((w) => w.upstream.sockets)],
  ['sluice_upstream_calls', 'gauge', 'Calls of providers under way.', perWorker((w) => w.upstream.calls)],
  [
    'sluice_pool_busy_seconds_total',
    'counter',
    'Busy time of a thread.',
    ({ worker, pool }) => pool.rows.map(({ thread, busyMs }) => [{ worker, thread }, busyMs / 1000]),
  ],
  ['sluice_worker_uptime_seconds', 'gauge', 'Age of the worker.', perWorker((w) => w.uptimeS)],
  ['sluice_worker_cpu_seconds_total', 'counter', 'CPU time.', perWorker((w) => w.cpuSeconds)],
  ['sluice_worker_resident_bytes', 'gauge', 'Resident memory.', perWorker((w) => w.memory.rss)],
  ['sluice_worker_heap_bytes', 'gauge', 'Used JavaScript heap.', perWorker((w) => w.memory.heapUsed)],
  [
    'sluice_inferences_total',
    'counter',
    'Inferences that are over, by outcome.',
    perModel(({ outcomes }, labels) =>
      Object.entries(outcomes).map(([outcome, count]) => [{ ...labels, outcome }, count]),
    ),
  ],
  [
    'sluice_inference_attempts_total',
    'counter',
    'Calls of providers, failed ones included.',
    perModel(({ attempts }, labels) => [[labels, attempts]]),
  ],
  [
    'sluice_inference_lost_attempts_total',
    'counter',
    'Calls of providers that came to nothing and may cost something there.',
    perModel(({ lostAttempts }, labels) => [[labels, lostAttempts]]),
  ],
  [
    'sluice_inference_lost_cost_dollars_total',
    'counter',
    'What they may cost upstream; nobody is charged for it.',
    perModel(({ lostCostNanos }, labels) => [[labels, lostCostNanos / NANOS_PER_DOLLAR]]),
  ],
  [
    'sluice_inference_tokens_total',
    'counter',
    'Tokens, by kind.',
    perModel(({ promptTokens, completionTokens }, labels) => [
      [{ ...labels, kind: 'prompt' }, promptTokens],
      [{ ...labels, kind: 'completion' }, completionTokens],
    ]),
  ],
  [
    'sluice_inference_cost_dollars_total',
    'counter',
    'What the answers cost.',
    perModel(({ costNanos }, labels) => [[labels, costNanos / NANOS_PER_DOLLAR]]),
  ],
  [
    'sluice_inference_duration_seconds',
    'histogram',
    'From the parsed request to the end.',
    perModel(({ durationMs }, labels) => histogramSamples(labels, durationMs, INFERENCE_BOUNDS_MS)),
  ],
  [
    'sluice_inference_first_event_seconds',
    'histogram',
    'From the parsed request to the first event.',
    perModel(({ firstMs }, labels) => histogramSamples(labels, firstMs, INFERENCE_BOUNDS_MS)),
  ],
  [
    'sluice_tool_calls_total',
    'counter',
    'Calls of server tools that are over.',
    perTool(({ calls }, labels) => [[labels, calls]]),
  ],
  [
    'sluice_tool_errors_total',
    'counter',
    'Calls of server tools whose result is an error.',
    perTool(({ errors }, labels) => [[labels, errors]]),
  ],
  [
    'sluice_tool_charged_dollars_total',
    'counter',
    'What callers were charged for them.',
    perTool(({ chargedNanos }, labels) => [[labels, chargedNanos / NANOS_PER_DOLLAR]]),
  ],
  [
    'sluice_tool_duration_seconds',
    'histogram',
    'Time of a call of a server tool.',
    perTool(({ durationMs }, labels) => histogramSamples(labels, durationMs, INFERENCE_BOUNDS_MS)),
  ],
]

/** The text of `/metrics`, one family per metric. */
export function formatWorkerMetrics(workers: readonly WorkerSnapshot[]): string {
  return FAMILIES.map(([name, type, help, samples]) =>
    formatMetricFamily(name, type, help, workers.flatMap(samples)),
  ).join('')
}
