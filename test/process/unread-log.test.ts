/** A server whose output nobody reads, or whose reader has gone. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, openSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { probePort } from '../../src/process/port-probe.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { KEYS, withEnvironment } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
/** Some 400 bytes of log each: a pipe holds 64 KB, a socket some 200. */
const CALLS = 1_200

interface Run {
  readonly child: ChildProcess
  readonly url: string
}

/** Starts the program with this standard error. Its standard output is a pipe that nobody has read yet. */
async function start(
  t: Test,
  command: string,
  stderr: number | 'pipe',
  folder = tempFolder(t),
): Promise<Run> {
  const port = await probePort('127.0.0.1', 0)
  const settings = { ...KEYS, PORT: String(port), SLUICE_WORKERS: '1', SLUICE_LOG_CALLS: 'all' }
  const [program = '', ...args] = withEnvironment(settings, [process.execPath, MAIN, command])
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', stderr], detached: true })
  t.after(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // All of it has ended by itself.
    }
  })
  return { child, url: `http://127.0.0.1:${port}` }
}

async function isHealthy({ url }: Run): Promise<boolean> {
  return (await fetch(`${url}/api/v1/health`, { headers: { Connection: 'close' } })).status === 200
}

/** Each call leaves a line in the log. */
async function chat({ url }: Run, calls: number): Promise<void> {
  for (let n = 0; n < calls; n++) {
    const response = await fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${KEYS.SLUICE_API_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: 'hello' }] }),
      signal: AbortSignal.timeout(20_000),
    })
    if (response.status !== 200) throw new Error(`call ${n}: ${await response.text()}`)
    await response.arrayBuffer()
  }
}

async function linesOf(log: Readable): Promise<{ readonly msg: string }[]> {
  let text = ''
  for await (const piece of log) text += String(piece)
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

async function startWithPipe(t: Test): Promise<Run & { readonly log: () => Readable }> {
  const folder = tempFolder(t)
  const path = join(folder, 'log')
  execFileSync('mkfifo', [path])
  const bothEnds = openSync(path, 'r+')
  const run = await start(t, 'serve', bothEnds, folder)
  return {
    ...run,
    log: () => {
      const stream = createReadStream(path)
      // Once it has its reader, the server is the only writer: it ends with the server.
      stream.on('open', () => closeSync(bothEnds))
      return stream
    },
  }
}

/** What Node calls a pipe is a socket on this system. */
async function startWithSocket(t: Test): Promise<Run & { readonly log: () => Readable }> {
  const run = await start(t, 'serve', 'pipe')
  return { ...run, log: () => run.child.stderr! }
}

for (const [kind, startUnread] of [
  ['pipe', startWithPipe],
  ['socket', startWithSocket],
] as const) {
  test(`a server whose standard error is a ${kind} that nobody reads serves on, and loses no line when it is read at the end`, async (t) => {
    const run = await startUnread(t)
    await eventually(() => isHealthy(run), 30_000)
    await chat(run, CALLS)
    t.ok(await isHealthy(run))
    const ended = once(run.child, 'exit')
    run.child.kill('SIGTERM')
    const lines = await linesOf(run.log())
    t.same(await ended, [0, null])
    t.equal(lines.filter(({ msg }) => msg === 'inference').length, CALLS)
    t.ok(lines.some(({ msg }) => msg === 'draining'))
  })
}

test('a server serves and drains when the readers of its output have gone', async (t) => {
  const run = await start(t, 'serve', 'pipe')
  run.child.stdout!.destroy()
  run.child.stderr!.destroy()
  await eventually(() => isHealthy(run), 30_000)
  await chat(run, 20)
  const ended = once(run.child, 'exit')
  run.child.kill('SIGTERM')
  t.same(await ended, [0, null])
})

for (const command of ['config-schema', 'openapi', 'help']) {
  test(`${command} says nothing when its reader has gone`, async (t) => {
    const { child } = await start(t, command, 'pipe')
    child.stdout!.destroy()
    const [exit, stderr] = await Promise.all([once(child, 'exit'), child.stderr!.toArray()])
    t.same(exit, [0, null])
    t.equal(stderr.join(''), '')
  })
}
