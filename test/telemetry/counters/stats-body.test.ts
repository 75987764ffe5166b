import { test } from 'tap'
import { formatStatsBody } from '../../../src/telemetry/counters/stats-body.js'
import { durations, operation, workerSnapshot } from '../../support/models/worker-snapshot.js'

// biome-ignore lint/suspicious/noExplicitAny: the body is checked member by member
function statsBody(...args: Parameters<typeof workerSnapshot>): any {
  return JSON.parse(JSON.stringify(formatStatsBody(workerSnapshot(...args))))
}

const QUANTILES = ['mean', 'p50', 'p90', 'p99', 'p99_9', 'max']

test('the body has every member the contract names', async (t) => {
  const told = statsBody(1)
  t.match(told, {
    worker: 1,
    pid: 4001,
    started_at: 1_700_000_000.25,
    uptime_s: 12.3457,
    connections: 3,
    event_loop: { utilization: 0.1235, delay_ms: { p50: 0.1, p99: 2, max: 7 } },
    memory: { rss: 1000, heap_used: 500, external: 100 },
  })
  t.strictSame(Object.keys(told.requests), ['total', 'in_flight', 'by_status', 'aborted'])
  t.strictSame(Object.keys(told.requests.by_status), ['2xx', '3xx', '4xx', '5xx'])
  for (const name of ['count', 'errors', 'in_flight', 'bytes_in', 'bytes_out', ...QUANTILES]) {
    t.type(told.operations.read_item[name], 'number', name)
  }
  t.match(told.pool, { threads: 2, queue: 1, completed: 3, rejected: 4 })
  for (const times of ['wait_ms', 'run_ms']) t.strictSame(Object.keys(told.pool[times]), QUANTILES, times)
})

test('requests are the sums over all operations', async (t) => {
  const { requests, operations } = statsBody(0, {
    operations: [
      operation('a', {
        count: 10,
        inFlight: 1,
        aborted: 2,
        statuses: [
          [200, 3],
          [201, 1],
          [304, 1],
          [404, 1],
          [503, 1],
        ],
      }),
      operation('b', { count: 4, inFlight: 2, aborted: 1, statuses: [[422, 1]] }),
      operation('idle', { count: 0, statuses: [], serviceMs: durations() }),
    ],
  })
  t.strictSame(requests, {
    total: 14,
    in_flight: 3,
    by_status: { '2xx': 4, '3xx': 1, '4xx': 2, '5xx': 1 },
    aborted: 3,
  })
  t.equal(operations.a.errors, 2, 'answers from 400 up')
  t.equal(operations.b.errors, 1)
  t.match(operations.idle, { count: 0, errors: 0, mean: 0, p50: 0, max: 0 })
})

test('times are those of the histogram, with four decimals', async (t) => {
  const { read_item } = statsBody(0, {
    operations: [operation('read_item', { serviceMs: durations(1, 1, 1, 100) })],
  }).operations
  t.equal(read_item.mean, 25.75)
  t.equal(read_item.max, 100)
  t.ok(read_item.p50 >= 1 && read_item.p50 <= 1 * (1 + 1 / 64))
  t.equal(read_item.p99, 100)
  for (const name of QUANTILES) t.equal(Number(read_item[name].toFixed(4)), read_item[name], name)
})

test('every pool thread has a row', async (t) => {
  t.strictSame(statsBody(0).pool.per_thread, [
    { thread: 11, tasks: 1, busy_ms: 2 },
    { thread: 12, tasks: 2, busy_ms: 10 },
  ])
})
