/** Arrivals = completed + aborted + in flight, in every snapshot, over two workers, whatever callers do. */
import { test } from 'tap'
import { isAlive } from '../../../bench/harness/machine/proc.js'
import type { OperationSummary, RunSummary } from '../../../src/lab/run-summary.js'
import { httpClient } from '../../support/clients/http-client.js'
import { connectRaw } from '../../support/clients/raw-http.js'
import {
  type LabServer,
  startLab,
  withoutLateness,
  withoutUnplanned,
} from '../../support/servers/lab-server.js'
import { eventually } from '../../support/timing/eventually.js'

interface Load {
  readonly done: Promise<Tally>
  stop(): void
}

interface Tally {
  answered: number
  left: number
}

const PATHS = [
  '/api/v1/items/1',
  '/api/v1/items?limit=5',
  '/api/v1/health',
  '/api/v1/nothing',
  '/api/v1/search?q=a',
]

/** Callers that read, callers that wait for reports, and callers that leave in the middle of one. */
function mixedLoad(server: LabServer): Load {
  let going = true
  const tally: Tally = { answered: 0, left: 0 }
  const client = httpClient(server.url, 8)
  const readers = Array.from({ length: 6 }, async (_, i) => {
    for (let n = i; going; n++) {
      await client.get(PATHS[n % PATHS.length]!)
      tally.answered++
    }
  })
  const reporters = Array.from({ length: 2 }, async () => {
    while (going) {
      await client.get('/api/v1/report')
      tally.answered++
    }
  })
  const leavers = Array.from({ length: 3 }, async () => {
    while (going) {
      const connection = await connectRaw(server.port)
      // It would be answered long after the caller has left, however slow the machine is.
      await connection.send({ target: '/api/v1/report', headers: [['X-Lab-Fault', 'delay=20000']] })
      await new Promise((resolve) => setTimeout(resolve, 100))
      connection.reset()
      tally.left++
    }
  })
  const done = Promise.all([...readers, ...reporters, ...leavers]).then(() => {
    client.close()
    return tally
  })
  return { done, stop: () => (going = false) }
}

function addsUp(summary: RunSummary): boolean {
  const sum = (of: (operation: OperationSummary) => number): number =>
    Object.values(summary.operations).reduce((total, operation) => total + of(operation), 0)
  const each = ({ arrivals, completed, aborted, inFlight, statuses, service }: OperationSummary): boolean =>
    arrivals === completed + aborted + inFlight &&
    completed === service.count &&
    completed === Object.values(statuses).reduce((total, n) => total + n, 0)
  return (
    each(summary.total) &&
    Object.values(summary.operations).every(each) &&
    summary.total.arrivals === sum(({ arrivals }) => arrivals) &&
    summary.total.inFlight === sum(({ inFlight }) => inFlight)
  )
}

test('every snapshot of a mixed run with aborts adds up, and the last one is what the callers did', async (t) => {
  const server = await startLab(t, { SLUICE_SEED_ITEMS: '200' })
  const id = await server.begin({ measureS: 3 })
  const load = mixedLoad(server)
  let snapshots = 0
  for (const until = performance.now() + 3_000; performance.now() < until || snapshots <= 10; snapshots++) {
    const window = ['measure', 'all', '0..1', '1..3'][snapshots % 4]
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}?window=${window}`)
    if (!addsUp(json)) t.fail(`${window}: ${JSON.stringify(json.total)}`)
  }
  t.ok(snapshots > 10, `${snapshots} snapshots`)
  load.stop()
  const { answered, left } = await load.done
  await server.stop(id)
  const all = await eventually(async () => {
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}?window=all`)
    return json.total.inFlight === 0 && (json as RunSummary)
  })
  t.ok(addsUp(all))
  t.same(withoutUnplanned(all.stalls), [])
  t.same(withoutLateness(all.marks), [])
  t.equal(all.total.completed, answered)
  // A reset can overtake its request: then nothing has arrived.
  t.ok(all.total.aborted <= left && all.total.aborted > left / 2, `${all.total.aborted} of ${left} aborted`)
  t.ok(left > 10 && answered > 100, `${answered} answered, ${left} left`)
  t.ok(all.operations.unmatched!.statuses[404]! > 0)
  const inner = (await server.ask('GET', `/lab/v1/runs/${id}?window=measure`)).json as RunSummary
  t.ok(inner.total.arrivals < all.total.arrivals, 'what came after the measurement is not in it')
  const [a, b] = await Promise.all(
    ['0..1', '1..3'].map(
      async (w) => (await server.ask('GET', `/lab/v1/runs/${id}?window=${w}`)).json as RunSummary,
    ),
  )
  t.equal(a!.total.arrivals + b!.total.arrivals, inner.total.arrivals)
})

test('a worker that dies takes its counts with it: the run says so, and what is left adds up', async (t) => {
  const server = await startLab(t, { SLUICE_LOG_LEVEL: 'silent' })
  const id = await server.begin()
  // The kernel deals connections out by chance: of so few as eight a worker may get none.
  const client = httpClient(server.url, 32)
  await Promise.all(Array.from({ length: 400 }, () => client.get('/api/v1/items/1')))
  client.close()
  // A worker that is kept from its core does not answer a glance.
  await eventually(async () => (await server.ask('GET', `/lab/v1/runs/${id}`)).json.total.arrivals === 400)
  const [victim] = server.process.children()
  process.kill(victim!, 'SIGKILL')
  await eventually(() => !isAlive(victim!))
  const marked: RunSummary = await eventually(async () => {
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}`)
    const isLost = (mark: string) =>
      /^worker [01] died during the run: what it had counted is lost$/.test(mark)
    return json.marks.some(isLost) && json
  })
  t.ok(marked.total.arrivals < 400)
  t.ok(addsUp(marked))
  await eventually(() => server.process.children().length === 2)
  const after: RunSummary = await eventually(async () => {
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}`)
    return json.workers.length === 2 && json.stale === undefined && json
  })
  const again = httpClient(server.url, 8)
  await Promise.all(Array.from({ length: 400 }, () => again.get('/api/v1/items/1')))
  again.close()
  const end = await server.stop(id)
  t.equal(end.total.arrivals, after.total.arrivals + 400, 'the new worker counts for the run as well')
  t.ok(addsUp(end))
  t.ok(end.marks.some((mark) => / late$/.test(mark)))
})

test('gaps are those between all arrivals, whichever workers they met', async (t) => {
  const server = await startLab(t)
  const id = await server.begin()
  const connections = await Promise.all(Array.from({ length: 8 }, () => connectRaw(server.port)))
  const begun = performance.now()
  for (let i = 0; i < 100; i++) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + i * 10 - performance.now())))
    await connections[i % 8]!.send({ target: '/api/v1/health' })
    await connections[i % 8]!.read()
  }
  for (const connection of connections) connection.destroy()
  const { total, environment } = await server.stop(id)
  t.equal(environment.gapsAcross, 'all arrivals')
  t.equal(total.gap.count, 99)
  const length = Number(BigInt(total.lastArrivalNs!) - BigInt(total.firstArrivalNs!)) / 1e6
  t.ok(Math.abs(total.gap.mean * 99 - length) < 0.1, `${total.gap.mean * 99} of ${length} ms`)
})
