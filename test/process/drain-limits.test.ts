import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { holdUpload } from '../support/clients/held-upload.js'
import { getOnce, httpClient } from '../support/clients/http-client.js'
import { inFlight } from '../support/clients/in-flight.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

/** Two signals closer than this are one; what src/process/supervisor.ts says. */
const SAME_SIGNAL_MS = 300

const ONE = { SLUICE_WORKERS: '1' }

test('a call that does not end is cut at the drain deadline, and the exit code is still 0', async (t) => {
  const { server, port, url } = await serve(t, { ...ONE, SLUICE_DRAIN_DEADLINE_MS: '500' })
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
  const { server } = await serve(t, { SLUICE_WORKERS: '2', SLUICE_DRAIN_DEADLINE_MS: '100' })
  const children = server.children()
  process.kill(children[0]!, 'SIGSTOP')
  t.match(await server.stop(), { code: 1 })
  t.notOk(children.some(isAlive))
  t.ok(server.log.some(({ msg, level }) => level >= 40 && /did not leave/.test(msg)))
})

test('a second signal ends everything at once with exit code 1', async (t) => {
  const { server, port, url } = await serve(t, { SLUICE_WORKERS: '2' })
  const held = await holdUpload(t, port)
  await eventually(async () => {
    const { text } = await getOnce(url, '/metrics')
    return /sluice_requests_in_flight\{worker="\d",operation="create_item"\} 1/.test(text)
  })
  const children = server.children()
  server.signal('SIGTERM')
  // The server counts from when it hears of the signal, which on a busy machine is later than when it was sent.
  await eventually(() => server.log.some(({ msg }) => msg === 'draining'))
  const heard = performance.now()
  await eventually(() => performance.now() - heard > SAME_SIGNAL_MS + 100)
  t.ok(isAlive(server.pid), 'the first signal waits for what is in flight')
  server.signal('SIGTERM')
  const second = performance.now()
  t.match(await server.exited(), { code: 1, signal: null })
  t.ok(performance.now() - second < 3000, 'at once')
  await held.closed
  await eventually(() => !children.some(isAlive))
  t.match(server.log.at(-1), { msg: 'second signal: ending at once' })
})

test('a signal while items are being seeded does not wait for all of them', async (t) => {
  const env = { ...ONE, SLUICE_SEED_ITEMS: '10000000', SLUICE_DRAIN_DEADLINE_MS: '10000' }
  const server = ServerProcess.start(t, { env })
  const data = join(server.folder, 'data', 'data.mdb')
  await eventually(() => statSync(data, { throwIfNoEntry: false })?.size, 20_000)
  const empty = statSync(data).size
  await eventually(() => statSync(data).size > empty + 1_000_000)
  const begun = performance.now()
  t.match(await server.stop(), { code: 0 })
  const took = performance.now() - begun
  t.ok(took < 5000, `${took.toFixed(0)} ms, of a drain deadline of 10 s`)
})
