import { test } from 'tap'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { faultOf, Leaver, occupied, poolOf, run } from '../support/peers/pool-deeds.js'
import { Watched } from '../support/peers/pool-task.js'
import { eventually } from '../support/timing/eventually.js'

test('a task whose caller leaves while it waits is dropped at once and makes room', async (t) => {
  const { pool } = await occupied(t, 10)
  const caller = new Leaver()
  const job = new Watched('answer')
  const dropped = run(pool, job, { cost: 10, leaver: caller })
  t.match(await faultOf(run(pool, new Watched('answer'))), { kind: 'unavailable' }, 'full')
  caller.leave()
  t.match(await faultOf(dropped), { kind: 'unavailable', detail: /left before/ })
  t.match(pool.snapshot(), { queue: 0, queuedCost: 0, dropped: 1 })
  run(pool, new Watched('answer'), { cost: 10 }).catch(() => {})
  t.match(pool.snapshot(), { queue: 1, queuedCost: 10 }, 'another one is let in')
  t.equal(job.runs, 0)
})

test('a task whose caller leaves while it stands in the queue of a thread never runs', async (t) => {
  const pool = poolOf(t, 1)
  const first = new Watched('hold')
  const second = new Watched('answer')
  const caller = new Leaver()
  const answered = run(pool, first)
  await eventually(() => first.runs === 1)
  const dropped = run(pool, second, { leaver: caller })
  t.equal(pool.snapshot().queue, 0, 'the thread has both')
  caller.leave()
  first.release()
  t.match(await faultOf(dropped), { kind: 'unavailable', detail: /left before/ })
  await answered
  t.equal(second.runs, 0)
  t.match(pool.snapshot(), { completed: 1, dropped: 1 })
})

test('of tasks that share a message only those are dropped whose callers have left', async (t) => {
  const { pool, held } = await occupied(t)
  const callers = Array.from({ length: 6 }, () => new Leaver())
  const jobs = callers.map(() => new Watched('answer'))
  const outcomes = Promise.allSettled(jobs.map((job, i) => run(pool, job, { leaver: callers[i]! })))
  held[0]!.release()
  await eventually(() => pool.snapshot().queue === 0)
  t.ok(
    jobs.every(({ runs }) => runs === 0),
    'they stand behind the second task that holds',
  )
  for (const i of [0, 3, 5]) callers[i]!.leave()
  held[1]!.release()
  t.same(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.same(
    jobs.map(({ runs }) => runs),
    [0, 1, 1, 0, 1, 0],
  )
  t.match(pool.snapshot(), { completed: 5, dropped: 3, queue: 0, queuedCost: 0 })
})

test('the flag of a caller who left does not touch the next task', async (t) => {
  const pool = poolOf(t, 1)
  for (let i = 0; i < 10; i++) {
    const caller = new Leaver()
    const first = new Watched('hold')
    const answered = run(pool, first)
    const dropped = run(pool, new Watched('answer'), { leaver: caller })
    await eventually(() => first.runs === 1)
    caller.leave()
    first.release()
    await Promise.all([answered, faultOf(dropped)])
  }
  await Promise.all(Array.from({ length: 10 }, () => run(pool, new Watched('answer'))))
  t.match(pool.snapshot(), { completed: 20, dropped: 10, queue: 0, queuedCost: 0 })
})

test('a task that runs is left alone when its caller leaves', async (t) => {
  const pool = poolOf(t, 1)
  const caller = new Leaver()
  const job = new Watched('hold')
  const answered = run(pool, job, { leaver: caller })
  await eventually(() => job.runs === 1)
  caller.leave()
  job.release()
  await t.resolves(answered)
  t.match(pool.snapshot(), { completed: 1, dropped: 0 })
})

test('a task whose caller has gone already is dropped', async (t) => {
  const pool = poolOf(t, 1)
  const caller = new Leaver()
  caller.leave()
  const job = new Watched('answer')
  t.match(await faultOf(run(pool, job, { leaver: caller })), { kind: 'unavailable' })
  await run(pool, new Watched('answer'))
  t.equal(job.runs, 0)
  t.match(pool.snapshot(), { completed: 1, dropped: 1, queue: 0, queuedCost: 0 })
})

test('a caller who leaves after the answer changes no figure', async (t) => {
  const pool = poolOf(t, 1)
  const caller = new Leaver()
  await run(pool, new Watched('answer'), { cost: 5, leaver: caller })
  caller.leave()
  t.match(pool.snapshot(), { completed: 1, dropped: 0, queue: 0, queuedCost: 0 })
})

test('a pool may be closed at any moment of the start of its threads', async (t) => {
  // An end amid the linking of modules is fatal to the process, so that this test would not be there to fail.
  for (let ms = 0; ms < 60; ms += 1.5) {
    const pool = new CpuPool({ threads: 2, maxQueuedCost: 1000 })
    const begun = performance.now()
    await eventually(() => performance.now() - begun >= ms)
    await pool.close()
  }
  t.pass()
})
