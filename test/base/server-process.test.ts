import t from 'tap'
import { ServerNotReady, ServerProcess, type ServerProcessOptions } from '../../src/base/server-process.js'

const READY = 'sluice listening on http://127.0.0.1:4711 (workers: 2, pool threads: 1)'
const PATIENCE_MS = 20_000

/** A process that runs `script` and does not outlive the test. */
function start(
  lifetime: { after(end: () => unknown): unknown },
  script: string,
  options: Partial<ServerProcessOptions> = {},
): ServerProcess {
  const server = new ServerProcess([process.execPath, '-e', script], { cwd: process.cwd(), ...options })
  lifetime.after(async () => {
    server.signal('SIGKILL')
    await server.closed
  })
  return server
}

const STAYS = 'setInterval(() => {}, 1000)'

t.test('the ready line is read, also when it comes in pieces behind other lines', async (t) => {
  const [one, two] = [READY.slice(0, 30), READY.slice(30)]
  const write = `process.stdout.write('sluice made a key\\n${one}', () => process.stdout.write('${two}\\n'));${STAYS}`
  const server = start(t, write)
  t.same(await server.untilListening(PATIENCE_MS), {
    url: 'http://127.0.0.1:4711',
    scheme: 'http',
    host: '127.0.0.1',
    port: 4711,
    workers: 2,
    poolThreads: 1,
  })
  t.same(
    await server.untilListening(PATIENCE_MS),
    await server.untilListening(PATIENCE_MS),
    'it can be asked again',
  )
  t.notOk(server.hasExited)
})

t.test('a server that ends before it listens is told with its exit and its log', async (t) => {
  const server = start(t, "process.stderr.write('no such folder'); process.exitCode = 3")
  await t.rejects(
    server.untilListening(PATIENCE_MS),
    new ServerNotReady('ended with 3 before it listened: no such folder'),
  )
  t.same(await server.exited, { code: 3, signal: null })
  t.ok(server.hasExited)
})

t.test('a server that stays silent is waited for until the deadline, or until nobody wants it', async (t) => {
  const server = start(t, STAYS)
  await t.rejects(server.untilListening(20), new ServerNotReady('did not listen within 0.02 s'))
  const left = new AbortController()
  const waiting = server.untilListening(PATIENCE_MS, left.signal)
  left.abort()
  await t.rejects(waiting, new ServerNotReady('was not waited for'))
  await t.rejects(server.untilListening(PATIENCE_MS, left.signal), new ServerNotReady('was not waited for'))
})

t.test('a program that cannot be started is an exit without a code', async (t) => {
  const server = new ServerProcess(['/nonexistent/sluice'], { cwd: process.cwd() })
  await t.rejects(server.untilListening(PATIENCE_MS), { message: /^could not be started: .*ENOENT/ })
  t.same(await server.exited, { code: null, signal: null })
  t.ok(server.hasExited)
})

t.test('of a talkative server the last characters are kept', async (t) => {
  const server = start(t, "process.stderr.write('x'.repeat(5000) + 'the end')", { keptChars: 10 })
  await server.closed
  t.equal(server.stderr, 'xxxthe end')
})

t.test('a server that does not end when it is asked to is killed after the grace', async (t) => {
  const deaf = start(t, `process.on('SIGTERM', () => {}); console.log('${READY}'); ${STAYS}`)
  await deaf.untilListening(PATIENCE_MS)
  t.same(await deaf.stop(10), { code: null, signal: 'SIGKILL' })
  const good = start(t, `console.log('${READY}'); ${STAYS}`)
  await good.untilListening(PATIENCE_MS)
  t.same(await good.stop(PATIENCE_MS), { code: null, signal: 'SIGTERM' })
})
