import { test } from 'tap'
import { probePort } from '../../../src/process/port-probe.js'
import { serveMetrics } from '../../../src/telemetry/prometheus/metrics-server.js'
import { workerSnapshot } from '../../support/models/worker-snapshot.js'

const snapshots = async () => ({ workers: [workerSnapshot(0), workerSnapshot(1)], fleet: null })

test('without an address of its own there is no server', async (t) => {
  t.equal(await serveMetrics('on', snapshots), null)
  t.equal(await serveMetrics('off', snapshots), null)
})

for (const host of ['127.0.0.1', '[::1]']) {
  test(`metrics are served on ${host} and nothing else is`, async (t) => {
    const port = await probePort(host.replace(/[[\]]/g, ''), 0)
    const server = await serveMetrics(`${host}:${port}`, snapshots)
    t.after(() => server?.close())
    const base = `http://${host}:${port}`
    const reply = await fetch(`${base}/metrics`, { headers: { connection: 'close' } })
    t.equal(reply.status, 200)
    t.match(reply.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
    t.match(await reply.text(), /sluice_connections\{worker="1"\} 3/)
    t.equal((await fetch(`${base}/metrics`, { method: 'HEAD' })).status, 200)
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/api/v1/items'],
      ['POST', '/metrics'],
    ] as const) {
      t.equal((await fetch(base + path, { method })).status, 404, `${method} ${path}`)
    }
  })
}

test('an address that is taken is told in one sentence', async (t) => {
  const port = await probePort('127.0.0.1', 0)
  const server = await serveMetrics(`127.0.0.1:${port}`, snapshots)
  t.after(() => server?.close())
  await t.rejects(serveMetrics(`127.0.0.1:${port}`, snapshots), {
    message: new RegExp(`^cannot serve metrics on 127\\.0\\.0\\.1:${port}: `),
  })
})

test('snapshots that cannot be had do not leave a caller waiting', async (t) => {
  const port = await probePort('127.0.0.1', 0)
  const server = await serveMetrics(`127.0.0.1:${port}`, async () => ({ workers: [], fleet: null }))
  t.after(() => server?.close())
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  t.equal(reply.status, 200)
  t.match(await reply.text(), '# TYPE')
})
