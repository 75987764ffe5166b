import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { probePort } from '../../src/process/port-probe.js'
import { holdUpload } from '../support/clients/held-upload.js'
import { getOnce, httpClient } from '../support/clients/http-client.js'
import { inFlight } from '../support/clients/in-flight.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const ONE = { SLUICE_WORKERS: '1' }
/** Long enough to be seen under way on a machine that is busy. */
const SLOW = { ...ONE, SLUICE_REPORT_DELAYS: 'constant 3000' }

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  test(`${name} lets what is in flight finish, then ends with 0 and a free port`, async (t) => {
    const server = ServerProcess.start(t, { env: SLOW })
    const { port } = await server.ready()
    const client = await server.client()
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
    t.match(server.log, [{ msg: 'native server' }, { msg: 'draining', signal: name }])
  })
}

test('all workers drain, each with what it has', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '3' })
  const clients = Array.from({ length: 12 }, () => httpClient(url, 1))
  t.after(() => clients.forEach((client) => client.close()))
  for (const client of clients) await client.get('/api/v1/health')
  const reports = clients.map((client) => client.get('/api/v1/report'))
  // The calls are on connections that are open: one more answer on each shows that the report before was read.
  await eventually(async () => {
    const { text } = await getOnce(url, '/metrics')
    const counts = [...text.matchAll(/sluice_requests_total\{worker="\d",operation="report"\} (\d+)/g)]
    return counts.reduce((sum, [, n]) => sum + Number(n), 0) === 12
  })
  server.signal('SIGTERM')
  const statuses = (await Promise.all(reports)).map(({ status }) => status)
  t.same(new Set(statuses), new Set([200]))
  t.match(await server.exited(), { code: 0 })
})

test('nobody new gets in while the server drains, and who is in is told to leave', async (t) => {
  const { server, port } = await serve(t, { ...ONE, SLUICE_DRAIN_DEADLINE_MS: '5000' })
  const held = await holdUpload(t, port)
  const client = await server.client(1)
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
  const client = await server.client(1)
  await client.get('/api/v1/health')
  const begun = performance.now()
  t.match(await server.stop(), { code: 0 })
  t.ok(performance.now() - begun < 6000, 'well before the drain deadline of 10 s')
})

test('two signals in quick succession are one, as when npm passes on a Ctrl-C', async (t) => {
  const server = ServerProcess.start(t, { env: SLOW })
  const client = await server.client()
  const report = client.get('/api/v1/report')
  await inFlight(client, 'report', 1)
  for (const pid of server.children()) process.kill(pid, 'SIGINT')
  server.signal('SIGINT')
  server.signal('SIGINT')
  t.equal((await report).status, 200)
  t.match(await server.exited(), { code: 0 })
})

test('a signal during the start ends it with 0', async (t) => {
  const server = ServerProcess.start(t, { env: { SLUICE_WORKERS: '2' } })
  await eventually(() => server.children().length === 2)
  const children = server.children()
  t.match(await server.stop(), { code: 0 })
  t.notOk(children.some(isAlive))
})
