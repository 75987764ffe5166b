import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { type Test, test } from 'tap'
import { probePort } from '../../src/process/port-probe.js'

async function listening(t: Test, host: string): Promise<{ server: Server; port: number }> {
  const server = createServer()
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => server.close())
  return { server, port: (server.address() as { port: number }).port }
}

test('for port 0 a free one is found', async (t) => {
  const port = await probePort('127.0.0.1', 0)
  t.ok(port > 1023 && port < 65_536, `${port}`)
  t.equal(await probePort('127.0.0.1', port), port, 'and it is free again afterwards')
})

test('a port that somebody holds is told in one sentence', async (t) => {
  const { port } = await listening(t, '127.0.0.1')
  await t.rejects(probePort('127.0.0.1', port), { message: `port ${port} on 127.0.0.1 is already in use` })
})

test('a port that somebody holds on all addresses is held on each', async (t) => {
  const { port } = await listening(t, '0.0.0.0')
  await t.rejects(probePort('127.0.0.1', port), { message: 'already in use' })
})

test('a port is free again when its holder has gone', async (t) => {
  const { server, port } = await listening(t, '127.0.0.1')
  server.close()
  await once(server, 'close')
  t.equal(await probePort('127.0.0.1', port), port)
})

test('an address that is not ours is told with its reason', async (t) => {
  await t.rejects(probePort('192.0.2.1', 0), { message: /^cannot listen on 192\.0\.2\.1:0: / })
  await t.rejects(probePort('no.such.host.invalid', 0), { message: /^cannot listen on no\.such\.host/ })
})
