import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { probePort } from '../../src/process/port-probe.js'
import { holdUpload } from '../support/clients/held-upload.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

/** Before the drain deadline, for which nobody waits who has no supervisor. */
const LEAVE_WITHIN_MS = 8_000

test('workers whose supervisor was killed leave by themselves and free the port', async (t) => {
  const { server, port } = await serve(t, { SLUICE_WORKERS: '3' })
  const client = await server.client(4)
  await Promise.all(Array.from({ length: 4 }, () => client.get('/api/v1/health')))
  const children = server.children()
  t.equal(children.length, 3)
  server.signal('SIGKILL')
  const begun = performance.now()
  await eventually(() => !children.some(isAlive))
  t.equal(await eventually(() => probePort('127.0.0.1', port)), port)
  const took = performance.now() - begun
  t.ok(took < LEAVE_WITHIN_MS, `${took.toFixed(0)} ms`)
  t.match(await server.exited(), { code: null, signal: 'SIGKILL' })
})

test('orphans finish short calls and do not wait for long ones', async (t) => {
  const { server, port } = await serve(t, { SLUICE_WORKERS: '1', SLUICE_REPORT_DELAYS: 'constant 800' })
  const client = await server.client()
  const held = await holdUpload(t, port)
  // Asked for once more where it was there before anybody had looked.
  const { report } = await eventually(async () => {
    const asked = client.get('/api/v1/report')
    const { json } = await client.get('/api/v1/stats')
    const { operations } = json as { operations: Record<string, { in_flight: number }> }
    const isUnderWay = operations.report?.in_flight === 1 && operations.create_item?.in_flight === 1
    if (!isUnderWay) await asked
    return isUnderWay && { report: asked }
  })
  const children = server.children()
  server.signal('SIGKILL')
  const begun = performance.now()
  t.equal((await report).status, 200)
  await held.closed
  await eventually(() => !children.some(isAlive))
  const took = performance.now() - begun
  t.ok(took < LEAVE_WITHIN_MS, `${took.toFixed(0)} ms`)
})

test('a new server can take the place of one that was killed as a whole', async (t) => {
  const { server: first, port } = await serve(t, { SLUICE_WORKERS: '2' })
  const children = first.children()
  first.signal('SIGKILL')
  await eventually(() => !children.some(isAlive))
  await eventually(() => probePort('127.0.0.1', port))
  const second = ServerProcess.start(t, {
    folder: first.folder,
    env: { PORT: String(port), SLUICE_WORKERS: '2' },
  })
  t.equal((await second.ready()).port, port)
})
