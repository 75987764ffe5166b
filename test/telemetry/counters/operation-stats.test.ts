import fc from 'fast-check'
import { test } from 'tap'
import type { OperationStats } from '../../../src/telemetry/counters/operation-stats.js'
import { WorkerStats } from '../../../src/telemetry/counters/worker-stats.js'
import { workerSnapshot } from '../../support/models/worker-snapshot.js'

/** The counters as a worker hands them out. */
function operationStats(name: string): OperationStats {
  const { pool } = workerSnapshot(0)
  const worker = new WorkerStats({
    worker: 0,
    startedAt: 0,
    pool: () => pool,
    upstream: () => ({ sockets: 0, calls: 0 }),
    connections: () => 0,
    inference: () => [],
  })
  worker.stop()
  return worker.operation(name)
}

test('a new operation has counted nothing', async (t) => {
  t.strictSame(operationStats('read_item').snapshot(), {
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

test('what arrived is in flight until it is settled', async (t) => {
  const stats = operationStats('x')
  stats.recordArrival()
  stats.recordArrival()
  t.match(stats.snapshot(), { count: 2, inFlight: 2 })
  stats.recordSettled(1.5, 200, 10, 20, false)
  t.match(stats.snapshot(), { count: 2, inFlight: 1, bytesIn: 10, bytesOut: 20, statuses: [[200, 1]] })
})

test('a caller who left is counted as aborted, not as an answer, and its time is not a service time', async (t) => {
  const stats = operationStats('x')
  stats.recordArrival()
  stats.recordSettled(5000, 0, 3, 0, true)
  stats.recordArrival()
  stats.recordSettled(5000, 200, 3, 100, true)
  const { aborted, statuses, serviceMs, inFlight, bytesIn, bytesOut } = stats.snapshot()
  t.equal(aborted, 2)
  t.same(statuses, [])
  t.equal(serviceMs.count, 0)
  t.equal(inFlight, 0)
  t.same([bytesIn, bytesOut], [6, 100], 'its bytes went over the wire all the same')
})

test('a snapshot stays as it was', async (t) => {
  const stats = operationStats('x')
  const before = stats.snapshot()
  stats.recordArrival()
  stats.recordSettled(1, 200, 1, 1, false)
  t.equal(before.count, 0)
  t.same(before.statuses, [])
})

interface SettledCall {
  readonly ms: number
  readonly status: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly aborted: boolean
}

const settled: fc.Arbitrary<SettledCall> = fc.record({
  ms: fc.double({ min: 0, max: 1e6, noNaN: true }),
  status: fc.integer({ min: 100, max: 599 }),
  bytesIn: fc.nat(),
  bytesOut: fc.nat(),
  aborted: fc.boolean(),
})

test('count is answers and aborts and what is in flight, after any history', async () => {
  fc.assert(
    fc.property(fc.array(settled), fc.nat(20), (history, waiting) => {
      const stats = operationStats('x')
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
