/** contract/practice 5 and 6: the counters, and what counts as what. */
import { connect } from 'node:net'
import { test } from 'tap'
import { holdUpload } from '../../support/clients/held-upload.js'
import { httpClient } from '../../support/clients/http-client.js'
import { connectRaw, request } from '../../support/clients/raw-http.js'
import { type SentRequest, sent } from '../../support/clients/sent-requests.js'
import {
  clientPerWorker,
  type StatsBody,
  statsPerWorker,
  total,
  workerNumber,
} from '../../support/clients/worker-connections.js'
import { words } from '../../support/data/words.js'
import { practiceServer } from '../../support/servers/practice-server.js'
import { eventually } from '../../support/timing/eventually.js'

const { server, client } = await practiceServer({}, 16)

const OPERATIONS = words(
  'health stats list_items create_item read_item update_item delete_item search_items hash report',
)
const TIMES = ['mean', 'p50', 'p90', 'p99', 'p99_9', 'max'] as const

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Asserts that the named members exist and satisfy a rule; others may stand beside them. */
function members(
  t: { ok: (value: unknown, about: string) => unknown },
  body: Record<string, unknown>,
  names: readonly string[],
  right: (value: unknown) => boolean,
  about: string,
): void {
  for (const name of names) t.ok(right(body[name]), `${about}.${name}: ${JSON.stringify(body[name])}`)
}

test('the stats of each worker have the contracted shape', async (t) => {
  for (const [place, stats] of (await statsPerWorker(server.baseUrl)).entries()) {
    const body = stats as unknown as Record<string, Record<string, Record<string, unknown>>>
    t.equal(stats.worker, workerNumber(place))
    members(t, body, ['pid'], isCount, 'stats')
    members(t, body, ['started_at', 'uptime_s'], isTime, 'stats')
    t.ok(Math.abs(Number(body.started_at) + Number(body.uptime_s) - Date.now() / 1000) < 30, 'Unix seconds')
    members(t, body.requests!, ['total', 'in_flight', 'aborted'], isCount, 'requests')
    members(t, body.requests!.by_status!, ['2xx', '3xx', '4xx', '5xx'], isCount, 'by_status')
    t.strictSame(
      OPERATIONS.filter((name) => body.operations![name] === undefined),
      [],
      'one entry per operation',
    )
    for (const [name, operation] of Object.entries(body.operations!)) {
      members(t, operation, ['count', 'errors', 'in_flight', 'bytes_in', 'bytes_out'], isCount, name)
      members(t, operation, TIMES, isTime, name)
    }
    members(
      t,
      body.event_loop!,
      ['utilization'],
      (value) => isTime(value) && Number(value) <= 1,
      'event_loop',
    )
    members(t, body.event_loop!.delay_ms!, ['p50', 'p99', 'max'], isTime, 'delay_ms')
    members(t, body.pool!, ['threads', 'queue', 'completed', 'rejected'], isCount, 'pool')
    members(t, body.pool!.wait_ms!, ['p50', 'p99', 'max'], isTime, 'wait_ms')
    members(t, body.pool!.run_ms!, ['p50', 'p99', 'max'], isTime, 'run_ms')
    const threads = body.pool!.per_thread as unknown as Record<string, unknown>[]
    t.equal(threads.length, Number(body.pool!.threads), 'one row per pool thread')
    for (const row of threads) {
      members(t, row, ['tasks'], isCount, 'thread')
      members(t, row, ['busy_ms'], isTime, 'thread')
    }
    members(t, body.memory!, ['rss', 'heap_used', 'external'], isCount, 'memory')
  }
})

test('stats are never kept by a cache', async (t) => {
  t.equal((await client.get('/api/v1/stats')).headers['cache-control'], 'no-store')
})

/** Item 1 exists, item 2 to 31 are made by the test itself. */
const SENT: readonly SentRequest[] = [
  sent('health', 200, 'GET /api/v1/health', 37),
  sent('health', 200, 'HEAD /api/v1/health', 5),
  sent('list_items', 200, 'GET /api/v1/items?limit=3', 41),
  sent('list_items', 422, 'GET /api/v1/items?limit=0', 13),
  sent('create_item', 201, 'POST /api/v1/items', 30, '{"name":"é"}'),
  sent('create_item', 422, 'POST /api/v1/items', 11, '{"name":""}'),
  sent('create_item', 413, 'POST /api/v1/items', 3, ' '.repeat(65_537)),
  sent('read_item', 200, 'GET /api/v1/items/1', 53),
  sent('read_item', 404, 'GET /api/v1/items/0', 17),
  sent('read_item', 422, 'GET /api/v1/items/x', 7),
  sent('update_item', 200, 'PUT /api/v1/items/1', 19, '{"name":"n"}'),
  sent('update_item', 404, 'PUT /api/v1/items/0', 5, '{"name":"n"}'),
  sent('delete_item', 404, 'DELETE /api/v1/items/-1', 9),
  sent('search_items', 200, 'GET /api/v1/search?q=n', 23),
  sent('search_items', 422, 'GET /api/v1/search', 2),
  sent('hash', 200, 'POST /api/v1/hash', 29, '{"data":"x","rounds":1}'),
  sent('hash', 422, 'POST /api/v1/hash', 4, 'null'),
  sent('report', 200, 'GET /api/v1/report?items=1', 12),
  sent('unmatched', 404, 'GET /api/v1/nope', 21),
  sent('unmatched', 404, 'POST /nothing', 6, '{}'),
  sent('unmatched', 405, 'PATCH /api/v1/items', 8),
]

/** What was sent to one operation and how it ended. */
interface Ends {
  readonly statuses: Map<number, number>
  /** Bytes of bodies that were read. */
  bytesIn: number
  /** Bytes of bodies that were refused for their size. */
  bytesRefused: number
  bytesOut: number
}

test('after N requests over all workers the counts of the workers sum to N, by operation and status', async (t) => {
  const { server: fresh } = await practiceServer({}, 1, t)
  const clients = await clientPerWorker(fresh.baseUrl)
  await clients[0]!.write('POST', '/api/v1/items', { name: 'n' })
  const before = await statsPerWorker(fresh.baseUrl)
  const expected = new Map<string, Ends>()
  const wrong: string[] = []
  const crowd = [...clients, httpClient(fresh.baseUrl, 16)]
  const calls = SENT.flatMap((sent) =>
    Array.from({ length: sent.times }, (_, i) => ({ sent, by: crowd[i % 3]! })),
  )
  await Promise.all(
    calls.map(async ({ sent: { operation, status, times: _, ...request }, by }) => {
      const reply = await by.send(request)
      if (reply.status !== status) wrong.push(`${request.method} ${request.path}: ${reply.status}`)
      const ends = expected.get(operation) ?? {
        statuses: new Map(),
        bytesIn: 0,
        bytesRefused: 0,
        bytesOut: 0,
      }
      expected.set(operation, ends)
      ends.statuses.set(status, (ends.statuses.get(status) ?? 0) + 1)
      ends[status === 413 ? 'bytesRefused' : 'bytesIn'] += Buffer.byteLength(request.body ?? '')
      ends.bytesOut += reply.body.length
    }),
  )
  t.strictSame(wrong, [], 'every call ended as expected')
  const seen = await statsPerWorker(fresh.baseUrl)
  for (const [operation, { statuses, ...bytes }] of expected) {
    const grown = (of: Parameters<typeof total>[2]): number =>
      total(seen, operation, of) - total(before, operation, of)
    const met = {
      count: grown(({ count }) => count),
      errors: grown(({ errors }) => errors),
      inFlight: grown(({ in_flight }) => in_flight),
      bytesOut: grown(({ bytes_out }) => bytes_out),
      statuses: [...statuses].map(([status]) => [status, grown((body) => body.by_status[status] ?? 0)]),
    }
    const sum = (right: (status: number) => boolean): number =>
      [...statuses].reduce((sum, [status, n]) => sum + (right(status) ? n : 0), 0)
    const wanted = {
      count: sum(() => true),
      errors: sum((status) => status >= 400),
      inFlight: 0,
      bytesOut: bytes.bytesOut,
      statuses: [...statuses],
    }
    t.strictSame(met, wanted, operation)
    const bytesIn = grown((body) => body.bytes_in)
    const most = bytes.bytesIn + bytes.bytesRefused
    t.ok(
      bytesIn >= bytes.bytesIn && bytesIn <= most,
      `bytes in of ${operation}: ${bytesIn}, ${most} were sent`,
    )
  }
  checkTotals(t, before, seen, calls.length)
  for (const each of crowd) each.close()
})

/** The totals over operations; `sent` calls lie in between. Looks at the stats are left out. */
function checkTotals(
  t: { equal: (found: unknown, wanted: unknown, about: string) => unknown },
  before: readonly StatsBody[],
  seen: readonly StatsBody[],
  sent: number,
): void {
  const grown = (of: (stats: StatsBody) => number): number =>
    seen.reduce((sum, stats) => sum + of(stats), 0) - before.reduce((sum, stats) => sum + of(stats), 0)
  const arrived = grown(({ requests, operations }) => requests.total - operations.stats!.count)
  t.equal(arrived, sent, 'requests.total, 404 and 405 included')
  const looks = ({ operations }: StatsBody): number => operations.stats!.by_status[200] ?? 0
  const answered = grown((stats) =>
    Object.values(stats.requests.by_status).reduce((sum, n) => sum + n, -looks(stats)),
  )
  t.equal(answered, sent, 'by_status')
  t.equal(
    grown(({ requests }) => requests.aborted),
    0,
    'nobody left',
  )
  for (const { requests } of seen) t.equal(requests.in_flight, 1, 'in flight is the look itself')
}

test('service times are ordered, and a report takes what it says', async (t) => {
  await Promise.all(Array.from({ length: 40 }, () => client.get('/api/v1/report')))
  for (const { operations } of await statsPerWorker(server.baseUrl)) {
    for (const [name, body] of Object.entries(operations)) {
      const times = [body.p50, body.p90, body.p99, body.p99_9, body.max]
      t.strictSame(
        times,
        times.toSorted((a, b) => a - b),
        `${name}: ${times.join()}`,
      )
      t.ok(body.mean <= body.max, name)
    }
    const report = operations.report!
    if (report.count > 0)
      t.ok(report.p50 >= 95 && report.max < 10_000, `report: ${report.p50} to ${report.max} ms`)
  }
})

const LEAVERS = 10

/** Waits until as many calls of the operation have arrived and none is in flight; returns what has changed. */
async function onceAllHaveEnded(
  operation: string,
  before: readonly StatsBody[],
  { baseUrl } = server,
): Promise<Record<string, number>> {
  const seen = await eventually(async () => {
    const stats = await statsPerWorker(baseUrl)
    const arrived =
      total(stats, operation, ({ count }) => count) - total(before, operation, ({ count }) => count)
    return arrived === LEAVERS && total(stats, operation, (body) => body.in_flight) === 0 ? stats : null
  })
  const grown = (of: Parameters<typeof total>[2]): number =>
    total(seen, operation, of) - total(before, operation, of)
  const aborted = (stats: readonly StatsBody[]): number =>
    stats.reduce((sum, { requests }) => sum + requests.aborted, 0)
  return {
    aborted: grown((body) => body.aborted),
    answered: grown(({ by_status }) => Object.values(by_status).reduce((sum, n) => sum + n, 0)),
    errors: grown((body) => body.errors),
    abortedOfAll: aborted(seen) - aborted(before),
  }
}

const ALL_LEFT = { aborted: LEAVERS, answered: 0, errors: 0, abortedOfAll: LEAVERS }

test('a caller that leaves before its body is complete counts as aborted, and not as an answer', async (t) => {
  const before = await statsPerWorker(server.baseUrl)
  const items = (await client.get('/api/v1/items?limit=100')).text
  const uploads = await Promise.all(Array.from({ length: LEAVERS }, () => holdUpload(t, server.port)))
  await eventually(async () => {
    const stats = await statsPerWorker(server.baseUrl)
    return total(stats, 'create_item', (body) => body.in_flight) === LEAVERS
  })
  for (const { socket } of uploads) socket.destroy()
  t.strictSame(await onceAllHaveEnded('create_item', before), ALL_LEFT)
  t.equal((await client.get('/api/v1/items?limit=100')).text, items, 'and changes nothing')
})

test('a caller that leaves while it waits for its answer counts as aborted, and not as an answer', async (t) => {
  // So late that who leaves does so before, on a machine that is busy as well.
  const { server: slow } = await practiceServer({ env: { SLUICE_REPORT_DELAYS: 'constant 3000' } }, 1, t)
  const before = await statsPerWorker(slow.baseUrl)
  for (let i = 0; i < LEAVERS; i++) {
    const socket = connect(slow.port, '127.0.0.1')
    socket.end('GET /api/v1/report HTTP/1.1\r\nHost: sluice\r\n\r\n')
    socket.resume()
  }
  t.strictSame(await onceAllHaveEnded('report', before, slow), ALL_LEFT)
})

test('the pool counts what it has done', async (t) => {
  const before = await statsPerWorker(server.baseUrl)
  await Promise.all(
    Array.from({ length: 30 }, () => client.write('POST', '/api/v1/hash', { data: 'x', rounds: 5 })),
  )
  const seen = await statsPerWorker(server.baseUrl)
  const done = (stats: readonly StatsBody[]): number => stats.reduce((n, { pool }) => n + pool.completed, 0)
  t.equal(done(seen) - done(before), 30)
  for (const { pool } of seen) {
    t.equal(
      pool.per_thread.reduce((sum, { tasks }) => sum + tasks, 0),
      pool.completed,
      'the tasks of the threads',
    )
  }
  t.ok(seen.every(({ pool }) => pool.queue === 0 && pool.rejected === 0))
})

test('requests sent ahead share one text, and who has an answer finds its call counted', async (t) => {
  const connection = await connectRaw(server.port)
  t.teardown(() => connection.destroy())
  const ask = { target: '/api/v1/stats' }
  await connection.send(Buffer.concat(Array.from({ length: 20 }, () => request(ask))))
  const bodies: string[] = []
  for (let i = 0; i < 20; i++) bodies.push((await connection.read()).text)
  t.equal(new Set(bodies).size, 1, 'none of them could know of another')
  const later: StatsBody = JSON.parse((await connection.ask(ask)).text)
  const before: StatsBody = JSON.parse(bodies[0]!)
  t.ok(later.operations.stats!.count >= before.operations.stats!.count + 20)
})
