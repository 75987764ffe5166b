/** One server per folder. */
import { lstatSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { ownProcessIdentity } from '../../src/base/process-identity.js'
import { lockFolder } from '../../src/process/folder-lock.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice, ServerProcess, serve } from '../support/servers/server-process.js'

const ONE = { SLUICE_WORKERS: '1' }

test('a folder is taken once, and given back', async (t) => {
  const folder = join(tempFolder(t), 'a', 'b')
  const lock = lockFolder(folder)
  t.equal(lock.wasKilled, false)
  t.throws(() => lockFolder(folder), { message: /another server \(process \d+\) works in .*SLUICE_DATA_DIR/ })
  lock.release()
  t.same(readdirSync(folder), [])
  const again = lockFolder(folder)
  t.equal(again.wasKilled, false)
  again.release()
})

for (const [about, left] of [
  ['a process that has ended', '4194304.1'],
  ['an earlier process with the number of one that runs', `${process.pid}.1`],
] as const) {
  test(`what was left by ${about} is no obstacle`, async (t) => {
    const folder = tempFolder(t)
    symlinkSync(left, join(folder, 'server.lock'))
    const lock = lockFolder(folder)
    t.equal(lock.wasKilled, true)
    t.equal(readlinkSync(join(folder, 'server.lock')), ownProcessIdentity())
    lock.release()
    t.same(readdirSync(folder), [])
  })
}

test('a file in the place of the lock is no obstacle', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'server.lock'), 'text')
  const lock = lockFolder(folder)
  t.equal(lock.wasKilled, true)
  lock.release()
  t.same(readdirSync(folder), [])
})

test('a full disk has room for the lock', async (t) => {
  const folder = tempFolder(t)
  const lock = lockFolder(folder)
  t.equal(lstatSync(join(folder, 'server.lock')).blocks, 0)
  lock.release()
})

test('a lock that somebody else has taken meanwhile stays theirs', async (t) => {
  const folder = tempFolder(t)
  const lock = lockFolder(folder)
  rmSync(join(folder, 'server.lock'))
  symlinkSync('1.2', join(folder, 'server.lock'))
  lock.release()
  t.equal(readlinkSync(join(folder, 'server.lock')), '1.2')
})

test('a second server in a folder ends with a sentence, a command works beside the first, and kill -9 leaves no obstacle', async (t) => {
  const folder = tempFolder(t)
  const { server } = await serve(t, ONE, folder)
  const second = ServerProcess.start(t, { folder, env: ONE })
  t.match(await second.exited(), { code: 1 })
  t.match(second.stderr, `sluice: another server (process ${server.pid}) works in ${join(folder, 'data')}: `)
  t.match(await runSluice(t, ['keys', 'list'], { folder }), { code: 0 })
  server.signal('SIGKILL')
  await server.exited()
  const { server: third } = await serve(t, ONE, folder)
  t.match(await third.stop(), { code: 0 })
  t.notOk(readdirSync(join(folder, 'data')).some((name) => name.startsWith('server.lock')))
})

test('a folder is made with those above it, and where none can be made that is said', async (t) => {
  const folder = join(tempFolder(t), 'one', 'two')
  lockFolder(folder).release()
  t.same(readdirSync(folder), [])
  t.throws(() => lockFolder('/proc/nothing/data'), /cannot be used: ENOENT/)
})
