import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'tap'
import { probePort } from '../../src/runtime/port-probe.js'
import { eventually } from '../fixtures/eventually.js'
import { holdUpload } from '../fixtures/held-upload.js'
import { type HttpClient, httpClient } from '../fixtures/http-client.js'
import { isAlive, ServerProcess } from '../fixtures/server-process.js'

/** Two signals closer than this are one; what src/runtime/supervisor.ts says. */
const SAME_SIGNAL_MS = 300

interface Stats {
  readonly requests: { readonly in_flight: number }
  readonly operations: { readonly [name: string]: { readonly in_flight: number } }
}

/** Resolves when so many calls of an operation are in flight. With one worker there is one to ask. */
async function inFlight(client: HttpClient, operation: string, count: number): Promise<void> {
  await eventually(async () => {
    const stats = (await client.get('/api/v1/stats')).json as Stats
    return stats.operations[operation]?.in_flight === count
  })
}

const ONE = { PORT: '0', SLUICE_WORKERS: '1' }

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  test(`${name} lets what is in flight finish, then ends with 0 and a free port`, async (t) => {
    const server = ServerProcess.start(t, { env: ONE })
    const { url, port } = await server.ready()
    const client = httpClient(url)
    t.after(() => client.close())
    const reports = Array.from({ length: 5 }, () => client.get('/api/v1/report'))
    await inFlight(client, 'report', 5)
    const children = server.children()
    server.signal(name)
    for (const { status, json } of await Promise.all(reports)) {
      t.equal(status, 200)
      t.match(json, { items: 10 })
    }
    t.match(await server.exited(), { code: 0, signal: null })
    t.notOk(children.some(isAlive))
    t.equal(await eventually(() => probePort('127.0.0.1', port)), port)
    t.match(server.log, [{ msg: 'draining', signal: name }])
  })
}

test('all workers drain, each with what it has', async (t) => {
  const server = ServerProcess.start(t, { env: { PORT: '0', SLUICE_WORKERS: '3' } })
  const { url } = await server.ready()
  const clients = Array.from({ length: 12 }, () => httpClient(url, 1))
  t.after(() => clients.forEach((client) => client.close()))
  for (const client of clients) await client.get('/api/v1/health')
  const reports = clients.map((client) => client.get('/api/v1/report'))
  // The calls are on connections that are open: one more answer on each shows that the report before was read.
  await eventually(async () => {
    const metrics = httpClient(url)
    const { text } = await metrics.get('/metrics')
    metrics.close()
    const counts = [...text.matchAll(/sluice_requests_total\{worker="\d",operation="report"\} (\d+)/g)]
    return counts.reduce((sum, [, n]) => sum + Number(n), 0) === 12
  })
  server.signal('SIGTERM')
  const statuses = (await Promise.all(reports)).map(({ status }) => status)
  t.same(new Set(statuses), new Set([200]))
  t.match(await server.exited(), { code: 0 })
})

test('nobody new gets in while the server drains, and who is in is told to leave', async (t) => {
  const server = ServerProcess.start(t, { env: { ...ONE, SLUICE_DRAIN_DEADLINE_MS: '5000' } })
  const { url, port } = await server.ready()
  const held = await holdUpload(t, port)
  const client = httpClient(url, 1)
  t.after(() => client.close())
  await inFlight(client, 'create_item', 1)
  server.signal('SIGTERM')
  await eventually(() => {
    const socket = connect(port, '127.0.0.1')
    return once(socket, 'connect').then(
      () => {
        socket.destroy()
        return false
      },
      () => true,
    )
  })
  const { status, headers, json } = await client.get('/api/v1/health')
  t.equal(status, 503)
  t.match(json, { status: 'draining' })
  t.equal(headers.connection, 'close')
  held.socket.destroy()
  t.match(await server.exited(), { code: 0 })
})

test('a connection that is open and idle does not hold up the end', async (t) => {
  const server = ServerProcess.start(t, { env: ONE })
  const { url } = await server.ready()
  const client = httpClient(url, 1)
  t.after(() => client.close())
  await client.get('/api/v1/health')
  const begun = performance.now()
  server.signal('SIGTERM')
  t.match(await server.exited(), { code: 0 })
  t.ok(performance.now() - begun < 6000, 'well before the drain deadline of 10 s')
})

test('a call that does not end is cut at the drain deadline, and the exit code is still 0', async (t) => {
  const server = ServerProcess.start(t, { env: { ...ONE, SLUICE_DRAIN_DEADLINE_MS: '500' } })
  const { port, url } = await server.ready()
  const client = httpClient(url, 1)
  const held = await holdUpload(t, port)
  await inFlight(client, 'create_item', 1)
  client.close()
  const begun = performance.now()
  server.signal('SIGTERM')
  await held.closed
  const took = performance.now() - begun
  t.ok(took >= 450, `not before the deadline: ${took} ms`)
  t.match(await server.exited(), { code: 0 })
  t.ok(performance.now() - begun < 6000)
})

test('a worker that is stuck is ended by force after the deadline, which is no clean end', async (t) => {
  const server = ServerProcess.start(t, {
    env: { PORT: '0', SLUICE_WORKERS: '2', SLUICE_DRAIN_DEADLINE_MS: '100' },
  })
  await server.ready()
  const children = server.children()
  process.kill(children[0]!, 'SIGSTOP')
  server.signal('SIGTERM')
  t.match(await server.exited(), { code: 1 })
  t.notOk(children.some(isAlive))
  t.ok(server.log.some(({ msg, level }) => level >= 40 && /did not leave/.test(msg)))
})

test('a second signal ends everything at once with exit code 1', async (t) => {
  const server = ServerProcess.start(t, { env: { PORT: '0', SLUICE_WORKERS: '2' } })
  const { port, url } = await server.ready()
  const held = await holdUpload(t, port)
  await eventually(async () => {
    const client = httpClient(url)
    const { text } = await client.get('/metrics')
    client.close()
    return /sluice_requests_in_flight\{worker="\d",operation="create_item"\} 1/.test(text)
  })
  const children = server.children()
  server.signal('SIGTERM')
  const first = performance.now()
  await eventually(() => performance.now() - first > SAME_SIGNAL_MS + 100)
  t.ok(isAlive(server.pid), 'the first signal waits for what is in flight')
  server.signal('SIGTERM')
  const second = performance.now()
  t.match(await server.exited(), { code: 1, signal: null })
  t.ok(performance.now() - second < 3000, 'at once')
  await held.closed
  await eventually(() => !children.some(isAlive))
  t.match(server.log.at(-1), { msg: 'second signal: ending at once' })
})

test('two signals in quick succession are one, as when npm passes on a Ctrl-C', async (t) => {
  const server = ServerProcess.start(t, { env: ONE })
  const { url } = await server.ready()
  const client = httpClient(url)
  t.after(() => client.close())
  const report = client.get('/api/v1/report')
  await inFlight(client, 'report', 1)
  for (const pid of server.children()) process.kill(pid, 'SIGINT')
  server.signal('SIGINT')
  server.signal('SIGINT')
  t.equal((await report).status, 200)
  t.match(await server.exited(), { code: 0 })
})

test('a signal during the start ends it with 0', async (t) => {
  const server = ServerProcess.start(t, { env: { PORT: '0', SLUICE_WORKERS: '2' } })
  await eventually(() => server.children().length === 2)
  const children = server.children()
  server.signal('SIGTERM')
  t.match(await server.exited(), { code: 0 })
  t.notOk(children.some(isAlive))
})

test('a signal while items are being seeded does not wait for all of them', async (t) => {
  const env = { ...ONE, SLUICE_SEED_ITEMS: '10000000', SLUICE_DRAIN_DEADLINE_MS: '10000' }
  const server = ServerProcess.start(t, { env })
  const data = join(server.folder, 'data', 'data.mdb')
  await eventually(() => statSync(data, { throwIfNoEntry: false })?.size, 20_000)
  const empty = statSync(data).size
  await eventually(() => statSync(data).size > empty + 1_000_000)
  const begun = performance.now()
  server.signal('SIGTERM')
  t.match(await server.exited(), { code: 0 })
  const took = performance.now() - begun
  t.ok(took < 5000, `${took.toFixed(0)} ms, of a drain deadline of 10 s`)
})
