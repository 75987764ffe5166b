import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { PoolSnapshot } from '../../../src/cpu-pool/pool.js'
import { WorkerStats } from '../../../src/telemetry/counters/worker-stats.js'
import { workerSnapshot } from '../../support/models/worker-snapshot.js'
import { eventually } from '../../support/timing/eventually.js'

const POOL: PoolSnapshot = workerSnapshot(0).pool

function createStats(t: Test): WorkerStats {
  const made = new WorkerStats({
    worker: 3,
    startedAt: 1_700_000_000,
    pool: () => POOL,
    upstream: () => ({ sockets: 4, calls: 1 }),
    connections: () => 5,
    inference: () => [],
    tools: () => [],
    statements: () => ({}),
  })
  t.after(() => made.stop())
  return made
}

test('an operation has one set of counters, whoever asks', async (t) => {
  const worker = createStats(t)
  t.equal(worker.operation('a'), worker.operation('a'))
  t.not(worker.operation('a'), worker.operation('b'))
  t.same(
    worker.snapshot().operations.map(({ name }) => name),
    ['a', 'b'],
    'in the order they were first asked for',
  )
})

test('calls in flight are those of all operations', async (t) => {
  const worker = createStats(t)
  t.equal(worker.inFlight(), 0)
  worker.operation('a').recordArrival()
  worker.operation('b').recordArrival()
  worker.operation('b').recordArrival()
  t.equal(worker.inFlight(), 3)
  worker.operation('b').recordSettled(1, 200, 0, 0, false)
  t.equal(worker.inFlight(), 2)
})

test('a snapshot says who, since when, and what the ports say', async (t) => {
  const worker = createStats(t)
  const told = worker.snapshot()
  t.match(told, { worker: 3, pid: process.pid, startedAt: 1_700_000_000, connections: 5, pool: POOL })
  t.ok(told.memory.rss > told.memory.heapUsed && told.memory.heapUsed > 0)
  t.ok(told.cpuSeconds > 0)
  t.ok(told.uptimeS >= 0 && told.uptimeS < 60)
  t.ok(told.loop.utilization >= 0 && told.loop.utilization <= 1)
})

test('a snapshot can travel between processes', async (t) => {
  const told = createStats(t).snapshot()
  t.strictSame(JSON.parse(JSON.stringify(told)), told)
})

test('a loop that is held shows in the delays, one that is free does not', async (t) => {
  const worker = createStats(t)
  // The probe reports a delay at the firing after it.
  const max = (): number => worker.snapshot().loop.delayMs.max
  await eventually(() => worker.snapshot().loop.delayMs.p50 >= 0 && worker.uptimeS() > 0.05)
  const until = performance.now() + 250
  while (performance.now() < until);
  await eventually(() => max() > 200)
  const { p50, p99 } = worker.snapshot().loop.delayMs
  t.ok(max() < 5000, `${max()} ms`)
  t.ok(p50 <= p99 && p99 <= max(), 'quantiles grow')
  t.ok(p50 < 200, 'most of the time the loop was free')
})

test('a new operation has counted nothing', async (t) => {
  t.strictSame(createStats(t).operation('read_item').snapshot(), {
    name: 'read_item',
    count: 0,
    inFlight: 0,
    aborted: 0,
    bytesIn: 0,
    bytesOut: 0,
    statuses: [],
    serviceMs: { count: 0, sum: 0, max: 0, buckets: [] },
  })
})

test('a snapshot stays as it was', async (t) => {
  const stats = createStats(t).operation('x')
  const before = stats.snapshot()
  stats.recordArrival()
  stats.recordSettled(1, 200, 1, 1, false)
  t.equal(before.count, 0)
  t.same(before.statuses, [])
})

const settled = fc.record({
  ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
  status: fc.integer({ min: 100, max: 599 }),
  bytesIn: fc.nat(),
  bytesOut: fc.nat(),
  aborted: fc.boolean(),
})

// A caller who left is no answer and its time no service time, but its bytes went over the wire all the same.
test('count is answers and aborts and what is in flight, after any history', async (t) => {
  const worker = createStats(t)
  let name = 0
  fc.assert(
    fc.property(fc.array(settled), fc.nat(20), (history, waiting) => {
      const stats = worker.operation(String(name++))
      for (let i = 0; i < waiting + history.length; i++) stats.recordArrival()
      for (const { ms, status, bytesIn, bytesOut, aborted } of history) {
        stats.recordSettled(ms, status, bytesIn, bytesOut, aborted)
      }
      const told = stats.snapshot()
      const answers = history.filter(({ aborted }) => !aborted)
      return (
        told.count === history.length + waiting &&
        told.inFlight === waiting &&
        told.aborted === history.length - answers.length &&
        told.serviceMs.count === answers.length &&
        told.bytesIn === history.reduce((sum, { bytesIn }) => sum + bytesIn, 0) &&
        told.bytesOut === history.reduce((sum, { bytesOut }) => sum + bytesOut, 0) &&
        told.statuses.reduce((sum, [, n]) => sum + n, 0) === answers.length &&
        told.statuses.every(([status, n]) => n === answers.filter((a) => a.status === status).length)
      )
    }),
  )
})
