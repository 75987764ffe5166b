import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { type HealthSettings, healthCommand } from '../../src/cli/health.js'
import { runSluice, ServerProcess } from '../support/servers/server-process.js'
import { type CommandRun, captureRun } from './run-command.js'

const runHealth = (settings: Partial<HealthSettings>, deadlineMs?: number): Promise<CommandRun> =>
  captureRun((print) =>
    healthCommand(
      [],
      async () => ({ host: '0.0.0.0', port: 0, tlsCert: '', ...settings }),
      print,
      deadlineMs,
    ),
  )

/** The port of a server that answers every request so; null never answers. */
async function listen(t: Test, status: number | null): Promise<number> {
  const server = createServer((_, answer) => {
    if (status !== null) answer.writeHead(status).end('…')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('a server that listens on every address is healthy, and one that has ended is not', async (t) => {
  const server = ServerProcess.start(t, { env: { HOST: '0.0.0.0', SLUICE_WORKERS: '1' } })
  const { port } = await server.ready()
  const env = { HOST: '0.0.0.0', PORT: String(port) }
  t.match(await runSluice(t, ['health'], { env }), { code: 0, stdout: 'healthy\n', stderr: '' })
  await server.stop()
  const ended = await runSluice(t, ['health'], { env })
  t.match(ended, { code: 1, stdout: '' })
  t.match(ended.stderr, `sluice: http://127.0.0.1:${port}/api/v1/health fails: connect ECONNREFUSED`)
})

test('any answer but 200, and none in time, is told with the address', async (t) => {
  const [sick, silent] = [await listen(t, 503), await listen(t, null)]
  t.match(await runHealth({ port: sick }), { code: 1, stderr: /:\d+\/api\/v1\/health answers 503\n$/ })
  t.match(await runHealth({ port: silent }, 50), { code: 1, stderr: /does not answer within 50 ms\n$/ })
})

test('a server with TLS is asked over TLS, and a port of 0 has no server', async (t) => {
  const plain = await listen(t, 200)
  t.match(await runHealth({ port: plain }), { code: 0 })
  const secure = await runHealth({ port: plain, tlsCert: 'cert.pem' })
  t.match(secure, { code: 1, stderr: /https:\/\/127\.0\.0\.1:\d+\/api\/v1\/health fails: / })
  t.match(await runHealth({}), { code: 1, stderr: /PORT is 0/ })
})

test('a bad setting is named, as with every command', async (t) => {
  const { code, stderr } = await runSluice(t, ['health'], { env: { PORT: 'none' } })
  t.equal(code, 2)
  t.match(stderr, 'bad setting: environment variable PORT: must be an integer')
})
