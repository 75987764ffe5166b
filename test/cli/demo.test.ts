/** `sluice demo`, as a process: what it fills and does, and that it leaves nothing. */
import { readdirSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demoCommand } from '../../src/cli/demo.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { ServerProcess } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'
import { captureRun } from './run-command.js'

/** A start and some cycles of its traffic, on a machine that is busy. */
const LONG_MS = 90_000

function start(t: Test) {
  const folder = tempFolder(t)
  const demo = ServerProcess.start(t, { command: ['demo', '--port', '0'], env: { TMPDIR: folder } })
  const said = (pattern: RegExp): Promise<string> => eventually(() => pattern.exec(demo.stdout)?.[1], LONG_MS)
  return { demo, folder, said }
}

test('it fills an organization, makes calls of which some fail, and leaves nothing behind', async (t) => {
  const { demo, folder, said } = start(t)
  const api = await said(/^API +(http\S+)$/m)
  const key = await said(/^sign in with +(sk-\S+)$/m)
  const read = async (path: string): Promise<readonly unknown[]> => {
    const answer = await fetch(api + path, { headers: { Authorization: `Bearer ${key}` } })
    t.equal(answer.status, 200, path)
    return ((await answer.json()) as { data: readonly unknown[] }).data
  }
  const least = {
    '/keys': 6,
    '/workspaces': 3,
    '/members': 5,
    '/files': 2,
    '/scim-connections': 1,
    '/scim/group-mappings': 1,
    '/federation/issuers': 1,
    '/federation/policies': 2,
  }
  for (const [path, count] of Object.entries(least)) t.ok((await read(path)).length >= count, path)
  const trails = async (): Promise<string> =>
    JSON.stringify((await read('/federation/audit')).map((entry) => (entry as { trail: string }).trail))
  await eventually(async () => (await trails()).includes('refused'), LONG_MS)
  const metrics = async (): Promise<string> => await (await fetch(new URL('/metrics', api))).text()
  for (const status of ['200', '402', '429', '502'])
    await eventually(
      async () =>
        (await metrics()).match(new RegExp(`operation="chat_completions",status="${status}"} [1-9]`)),
      LONG_MS,
    )
  await eventually(
    async () => /operation="create_oauth_token",status="200"} [1-9]/.test(await metrics()),
    LONG_MS,
  )
  demo.signal('SIGTERM')
  t.match(await demo.exited(), { code: 0, signal: null })
  t.same(readdirSync(folder), [], 'the folder is gone')
  await t.rejects(fetch(`${api}/models`), 'nobody listens')
})

test('told to end before it is ready, it ends as well', async (t) => {
  const { demo, folder } = start(t)
  await eventually(() => readdirSync(folder).length > 0, LONG_MS)
  demo.signal('SIGINT')
  t.match(await demo.exited(), { code: 0, signal: null })
  t.same(readdirSync(folder), [])
})

test('a port that is none is a usage error', async (t) => {
  for (const port of ['x', '-1', '65536', '']) {
    const { code, stderr } = await captureRun((print) => demoCommand([`--port=${port}`], print))
    t.equal(code, 2, port)
    t.match(stderr, /--port must be a port from 0 to 65535/)
  }
})
