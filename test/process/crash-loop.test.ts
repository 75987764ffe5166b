import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const ALL_TRIES_MS = 90_000

/** A script that every Node process under the server loads first. It lets the supervisor and threads alone. */
function dyingWorkers(folder: string, how: string): string {
  const path = join(folder, 'die.cjs')
  const guard = "require('node:cluster').isWorker && require('node:worker_threads').isMainThread"
  writeFileSync(path, `if (${guard}) { ${how} }\n`)
  return `--require=${path}`
}

const DEATHS: Readonly<Record<string, string>> = {
  'that end before they listen': 'process.exit(3)',
  'that break before they listen': "throw new Error('broken at the start')",
}

for (const [about, how] of Object.entries(DEATHS)) {
  test(`workers ${about}, again and again, end a server that was never ready, with a reason`, async (t) => {
    const folder = tempFolder(t)
    const NODE_OPTIONS = dyingWorkers(folder, how)
    const server = ServerProcess.start(t, {
      folder,
      env: { SLUICE_WORKERS: '1', NODE_OPTIONS },
    })
    // Eight starts and the growing delays between them take a while where other tests want the cores.
    t.match(await server.exited(ALL_TRIES_MS), { code: 1, signal: null })
    const died = server.logged('a worker died')
    t.equal(died.length, 8, 'after eight tries')
    t.match(server.log.at(-1), { level: 60, msg: 'giving up', reason: /died 8 times in a row/ })
  })
}

/** One more than would have ended a group that never served. */
const MANY_DEATHS = 9

async function isHealthy(url: string): Promise<boolean> {
  const { status } = await fetch(`${url}/api/v1/health`, { headers: { Connection: 'close' } })
  return status === 200
}

function deaths(server: ServerProcess): number {
  return server.logged('a worker died').length
}

test('a worker that cannot come back ends nothing: the others serve on, and it returns when it can', async (t) => {
  const folder = tempFolder(t)
  const flag = join(folder, 'flag')
  const NODE_OPTIONS = dyingWorkers(folder, `if (require('node:fs').existsSync('${flag}')) process.exit(3)`)
  const { server, url } = await serve(t, { SLUICE_WORKERS: '2', NODE_OPTIONS }, folder)
  writeFileSync(flag, '')
  const [victim = 0, other = 0] = server.children()
  process.kill(victim, 'SIGKILL')
  await eventually(() => deaths(server) >= MANY_DEATHS, ALL_TRIES_MS)
  t.ok(isAlive(other))
  t.ok(await isHealthy(url))
  rmSync(flag)
  await eventually(() => server.children().length === 2 && server.children().every(isAlive), ALL_TRIES_MS)
  t.same(server.logged('giving up'), [])
})

test('a server that was ready is not ended by the deaths of all its workers', async (t) => {
  const folder = tempFolder(t)
  const flag = join(folder, 'flag')
  const how = `setInterval(() => { if (require('node:fs').existsSync('${flag}')) process.exit(3) }, 20)`
  const NODE_OPTIONS = dyingWorkers(folder, how)
  const { server, url } = await serve(t, { SLUICE_WORKERS: '1', NODE_OPTIONS }, folder)
  writeFileSync(flag, '')
  await eventually(() => deaths(server) >= MANY_DEATHS, ALL_TRIES_MS)
  t.ok(isAlive(server.pid))
  t.same(server.logged('giving up'), [])
  rmSync(flag)
  t.ok(await eventually(() => isHealthy(url), ALL_TRIES_MS), 'and it serves again')
})
