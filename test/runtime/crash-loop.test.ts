import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { isAlive, ServerProcess } from '../fixtures/server-process.js'
import { tempFolder } from '../fixtures/temp-folder.js'

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
  'that are ready and then end': 'setTimeout(() => process.exit(3), 600)',
}

for (const [about, how] of Object.entries(DEATHS)) {
  test(`workers ${about}, again and again, end the server with exit code 1 and a reason`, async (t) => {
    const folder = tempFolder(t)
    const NODE_OPTIONS = dyingWorkers(folder, how)
    const server = ServerProcess.start(t, {
      folder,
      env: { PORT: '0', SLUICE_WORKERS: '1', NODE_OPTIONS },
    })
    // Eight starts and the growing delays between them take a while where other tests want the cores.
    t.match(await server.exited(ALL_TRIES_MS), { code: 1, signal: null })
    const died = server.log.filter(({ msg }) => msg === 'a worker died')
    t.equal(died.length, 8, 'after eight tries')
    t.match(server.log.at(-1), { level: 60, msg: 'giving up', reason: /died 8 times in a row/ })
  })
}

test('a worker that cannot come back ends the server, and the others drain first', async (t) => {
  const folder = tempFolder(t)
  const flag = join(folder, 'flag')
  const NODE_OPTIONS = dyingWorkers(folder, `if (require('node:fs').existsSync('${flag}')) process.exit(3)`)
  const server = ServerProcess.start(t, { folder, env: { PORT: '0', SLUICE_WORKERS: '2', NODE_OPTIONS } })
  await server.ready()
  writeFileSync(flag, '')
  const [victim = 0, other = 0] = server.children()
  process.kill(victim, 'SIGKILL')
  t.match(await server.exited(ALL_TRIES_MS), { code: 1 })
  t.notOk(isAlive(other))
  t.match(
    server.log.find(({ msg }) => msg === 'giving up'),
    { reason: /8 times/ },
  )
})
