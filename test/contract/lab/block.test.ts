/** The loop of one worker is blocked: the control listener is not. */
// Runs alone: it measures how long answers take.
import { test } from 'tap'
import type { RunStall, RunSummary } from '../../../src/lab/run-summary.js'
import { httpClient } from '../../support/clients/http-client.js'
import { startLab } from '../../support/servers/lab-server.js'
import { eventually } from '../../support/timing/eventually.js'

/** Until it has begun, on a machine that is not very slow. */
const BEFORE_BLOCK_MS = 300

test('a block of 2 s on one worker does not hold up the control listener', async (t) => {
  const server = await startLab(t)
  const id = await server.begin({ measureS: 30 })
  const client = httpClient(server.url, 8)
  await Promise.all(Array.from({ length: 100 }, () => client.get('/api/v1/health')))
  client.close()
  // A worker that is kept from its core does not answer a glance.
  await eventually(async () => {
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}`)
    return json.total.arrivals === 100 && json.stale === undefined
  })
  const begun = performance.now()
  await server.fault({ kind: 'block', worker: 1, forMs: 2_000, afterMs: 50 })
  const asked = [
    '/lab/v1/clock',
    '/lab/v1/runs',
    `/lab/v1/runs/${id}`,
    `/lab/v1/runs/${id}?window=all`,
    `/lab/v1/runs/${id}/series`,
    `/lab/v1/runs/${id}/histogram`,
    '/lab/v1/faults',
    '/lab/v1/metrics',
  ]
  const waits: number[] = []
  let stale = 0
  for (let i = 0; performance.now() - begun < 2_050; i++) {
    const path = asked[i % asked.length]!
    const asking = performance.now() - begun
    const { status, ms, json } = await server.ask('GET', path)
    t.equal(status, 200)
    if (asking > BEFORE_BLOCK_MS) waits.push(ms)
    if (json?.stale?.includes(1)) stale++
    if (json?.total !== undefined && json.total.arrivals !== 100 && path.endsWith(id))
      t.fail('counts were lost')
  }
  t.ok(stale > 0, 'what is told for the blocked worker says that it is old')
  // A machine that is busy with other things makes anybody late; an answer that waited for the blocked worker would
  // come when the block ends, and that on three of four questions.
  waits.sort((a, b) => a - b)
  const at = (share: number): number => waits[Math.floor(share * waits.length)]!
  t.comment(
    `${waits.length} answers: p50 ${at(0.5).toFixed(1)}, p95 ${at(0.95).toFixed(1)}, max ${waits.at(-1)!.toFixed(1)} ms`,
  )
  t.ok(at(0.5) < 500, `half of them took ${at(0.5).toFixed(1)} ms or less`)
  const summary: RunSummary = await eventually(async () => {
    const { json } = await server.ask('GET', `/lab/v1/runs/${id}`)
    return json.stalls.some(({ kind }: RunStall) => kind === 'block') && json
  })
  const [stall, ...others] = summary.stalls.filter(({ kind }) => kind === 'block')
  t.match(stall, { worker: 1, arrivalsDuring: 0 })
  t.same(others, [], 'and no other worker is blocked')
  const length = Number(BigInt(stall!.endNs) - BigInt(stall!.startNs)) / 1e6
  t.ok(length >= 2_000, `${length} ms`)
  const blocked = summary.workers[1]!
  t.ok(blocked.lag.max > 1_900, `lag ${blocked.lag.max} ms`)
  t.equal((await server.stop(id)).stale, undefined)
})
