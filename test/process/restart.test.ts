import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { getOnce } from '../support/clients/http-client.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

interface Identity {
  readonly worker: number
  readonly pid: number
}

async function whoAnswers(url: string): Promise<Identity> {
  return (await getOnce(url, '/api/v1/stats')).json
}

/** Process ids by index, once every worker was met. A call that a dying worker takes along is made again. */
async function everyWorker(url: string, count: number): Promise<Map<number, number>> {
  const met = new Map<number, number>()
  await eventually(async () => {
    const { worker, pid } = await whoAnswers(url)
    if (isAlive(pid)) met.set(worker, pid)
    return met.size === count
  })
  return met
}

test('a worker that is killed comes back with its index, and the others serve on meanwhile', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '3', SLUICE_SEED_ITEMS: '1' })
  const before = await everyWorker(url, 3)
  t.same(
    [...before.values()].sort((a, b) => a - b),
    server.children(),
  )
  process.kill(before.get(1)!, 'SIGKILL')
  await eventually(() => !isAlive(before.get(1)!))
  t.ok(await eventually(() => whoAnswers(url)), 'somebody answers')
  await eventually(() => server.children().length === 3)
  const after = await everyWorker(url, 3)
  t.equal(after.get(0), before.get(0))
  t.equal(after.get(2), before.get(2))
  t.not(after.get(1), before.get(1))
  const died = server.logged('a worker died')
  t.match(died, [{ level: 50, worker: 1, how: 'SIGKILL', process: 'supervisor' }])
  t.equal(server.stdout.split('sluice listening').length, 2, 'readiness is not said again')
})

test('all workers may be killed at once', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '2' })
  const before = server.children()
  for (const pid of before) process.kill(pid, 'SIGKILL')
  await eventually(() => before.every((pid) => !isAlive(pid)))
  const after = await everyWorker(url, 2)
  t.same([...after.keys()].sort(), [0, 1])
  t.notOk([...after.values()].some((pid) => before.includes(pid)))
})

test('what a killed worker had acknowledged is there, and ids go on', async (t) => {
  const server = ServerProcess.start(t, { env: { SLUICE_WORKERS: '1' } })
  const client = await server.client()
  const made = await client.write('POST', '/api/v1/items', { name: 'kept' })
  t.match(made.json, { id: 1 })
  const [pid = 0] = server.children()
  process.kill(pid, 'SIGKILL')
  await eventually(() => !isAlive(pid))
  const { text } = await eventually(() => client.get('/api/v1/items/1'))
  t.equal(text, made.text)
  t.match((await client.write('POST', '/api/v1/items', { name: 'next' })).json, { id: 2 })
})

test('a worker that is told to end drains, and another one takes its place', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '1', SLUICE_REPORT_DELAYS: 'constant 3000' })
  const [pid = 0] = server.children()
  const client = await server.client()
  const report = client.get('/api/v1/report')
  await eventually(async () => {
    const { json } = await client.get('/api/v1/stats')
    return (json as { operations: { report: { in_flight: number } } }).operations.report.in_flight === 1
  })
  process.kill(pid, 'SIGTERM')
  t.equal((await report).status, 200, 'what was in flight was finished')
  await eventually(() => !isAlive(pid))
  const after = await everyWorker(url, 1)
  t.not(after.get(0), pid)
  t.match(server.logged('a worker died'), [{ how: 'exit code 0' }])
})

test('an interrupt that reaches only a worker does not end it: the supervisor decides', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '1' })
  const before = server.children()
  for (const pid of before) process.kill(pid, 'SIGINT')
  for (let i = 0; i < 20; i++) t.match(await whoAnswers(url), { pid: before[0] })
  t.same(server.children(), before)
})
