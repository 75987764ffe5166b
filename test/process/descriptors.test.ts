/** The limit of open files: what it leaves for connections, and what a server does when that is little. */
import { test } from 'tap'
import { connectionBudget } from '../../src/process/descriptors.js'
import { openFilesLimit } from '../../src/process/open-files.js'
import { connectRaw } from '../support/clients/raw-http.js'
import { ServerProcess } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

test('the limit of this process is read, and unknown where there is none', async (t) => {
  t.ok(openFilesLimit() > 0)
  const limits =
    'Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n'
  t.equal(
    openFilesLimit(() => limits),
    1024,
  )
  t.equal(
    openFilesLimit(() => 'Max open files            unlimited            unlimited            files\n'),
    Number.POSITIVE_INFINITY,
  )
  t.equal(
    openFilesLimit(() => {
      throw new Error('no such file')
    }),
    Number.POSITIVE_INFINITY,
  )
})

test('two thirds of what a worker does not need itself are for connections', async (t) => {
  t.equal(connectionBudget('auto', 1024, 2, 1), 648)
  t.equal(connectionBudget('auto', Number.POSITIVE_INFINITY, 2, 1), 10_000_000)
  t.equal(connectionBudget(100, 1024, 2, 1), 100)
  t.throws(() => connectionBudget(1_000, 1024, 2, 1), {
    name: 'InvalidConfigError',
    message: /1000 connections/,
  })
  t.throws(() => connectionBudget('auto', 64, 2, 1), { name: 'InvalidConfigError', message: /ulimit -n/ })
  t.throws(
    () => connectionBudget('auto', 400, 128, 1),
    { name: 'InvalidConfigError' },
    'the supervisor needs some, too',
  )
})

for (const openFiles of [48, 64, 96]) {
  test(`a server that may open ${openFiles} files says what it needs, and ends with 2`, async (t) => {
    const server = ServerProcess.start(t, { openFiles, env: { SLUICE_WORKERS: '1' } })
    t.match(await server.exited(), { code: 2 })
    t.match(server.stderr, /^bad setting: ulimit -n: \d+ files may be open at once, and/)
    t.equal(server.stderr.trim().split('\n').length, 1, 'and nothing else')
  })
}

test('a crowd beyond the limit of open files is turned away, and those who have a connection are served', async (t) => {
  const server = ServerProcess.start(t, { openFiles: 128, env: { SLUICE_WORKERS: '1' } })
  const { port } = await server.ready()
  const health = { target: '/api/v1/health' }
  const first = await connectRaw(port)
  const crowd = await Promise.all(Array.from({ length: 400 }, () => connectRaw(port)))
  t.teardown(() => {
    for (const one of [first, ...crowd]) one.destroy()
  })
  await eventually(() => crowd.filter(({ ending }) => ending !== null).length > 200)
  // A worker that is late with a crowd sheds load for a moment.
  await eventually(async () => (await first.ask(health)).status === 200)
  for (const one of crowd) one.destroy()
  await eventually(async () => {
    const again = await connectRaw(port)
    t.teardown(() => again.destroy())
    return (await again.ask(health)).status === 200
  })
  const said = await eventually(() => server.logged('closed new connections: there are too many')[0])
  // The others are told a minute later.
  t.ok(Number(said.count) > 0)
})
