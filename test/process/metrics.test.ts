import { test } from 'tap'
import { probePort } from '../../src/process/port-probe.js'
import { httpClient } from '../support/clients/http-client.js'
import { ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

/** Sum of all samples of a family that carry this label. */
function total(text: string, name: string, label: string): number {
  const samples = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return samples.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Indexes of the workers that are in the text. */
function workersIn(text: string): string[] {
  return [...new Set([...text.matchAll(/worker="(\d+)"/g)].map(([, index = '']) => index))].sort()
}

test('whichever worker is asked, the metrics are those of all, and they add up', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '3' })
  const callers = Array.from({ length: 10 }, () => httpClient(url, 1))
  t.after(() => callers.forEach((caller) => caller.close()))
  for (let round = 0; round < 10; round++) {
    await Promise.all(callers.map((caller) => caller.get('/api/v1/items/1')))
  }
  for (const caller of callers) {
    // A worker that is kept from its core for a second is left out.
    const text = await eventually(async () => {
      const reply = await caller.get('/metrics')
      return workersIn(reply.text).length === 3 && reply.text
    })
    t.same(workersIn(text), ['0', '1', '2'])
    t.equal(total(text, 'sluice_requests_total', 'operation="read_item"'), 100)
    t.equal(total(text, 'sluice_responses_total', 'status="404"'), 100)
    t.equal(total(text, 'sluice_service_time_seconds_count', 'operation="read_item"'), 100)
    t.equal(total(text, 'sluice_connections', 'worker'), 10)
  }
})

test('a worker that is stuck is left out, and does not hold up the figures of the others', async (t) => {
  const metricsPort = await probePort('127.0.0.1', 0)
  const env = { SLUICE_WORKERS: '2', SLUICE_METRICS: `127.0.0.1:${metricsPort}` }
  const { server } = await serve(t, env)
  const metrics = httpClient(`http://127.0.0.1:${metricsPort}`)
  t.after(() => metrics.close())
  await eventually(async () => workersIn((await metrics.get('/metrics')).text).join() === '0,1')
  const [stuck = 0] = server.children()
  process.kill(stuck, 'SIGSTOP')
  const begun = performance.now()
  const { text } = await metrics.get('/metrics')
  t.equal(workersIn(text).length, 1)
  t.ok(performance.now() - begun < 5000)
  process.kill(stuck, 'SIGCONT')
  await eventually(async () => workersIn((await metrics.get('/metrics')).text).length === 2)
})

test('a worker that was restarted counts from zero and stands once', async (t) => {
  const server = ServerProcess.start(t, { env: { SLUICE_WORKERS: '1' } })
  const client = await server.client()
  await client.get('/api/v1/items/1')
  const [pid = 0] = server.children()
  process.kill(pid, 'SIGKILL')
  await eventually(() => server.children().some((child) => child !== pid))
  const { text } = await eventually(() => client.get('/metrics'))
  t.same(workersIn(text), ['0'])
  t.equal(total(text, 'sluice_requests_total', 'operation="read_item"'), 0)
})
