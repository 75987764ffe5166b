import { test } from 'tap'
import { faultOf, occupied, orderOf, poolOf, run } from '../support/peers/pool-deeds.js'
import { Watched } from '../support/peers/pool-task.js'
import { eventually } from '../support/timing/eventually.js'

test('a task is answered by a thread', async (t) => {
  const pool = poolOf(t, 1)
  const job = new Watched('answer')
  const { value, waitMs } = await run(pool, job)
  t.same(value, { hash: 'answer', elapsedMs: 0 })
  t.ok(waitMs >= 0)
  t.equal(job.runs, 1)
})

test('threads work side by side', async (t) => {
  const pool = poolOf(t, 3)
  const jobs = Array.from({ length: 3 }, () => new Watched('hold'))
  const answers = jobs.map((job) => run(pool, job))
  await eventually(() => jobs.every(({ runs }) => runs === 1))
  for (const job of jobs) job.release()
  await Promise.all(answers)
  t.equal(pool.snapshot().rows.length, 3)
})

test('what waits is bounded by its cost, not by its number', async (t) => {
  const { pool, held } = await occupied(t, 100)
  const waiting = [
    ...Array.from({ length: 50 }, () => run(pool, new Watched('answer'), { cost: 1 })),
    run(pool, new Watched('answer'), { cost: 50 }),
  ]
  t.match(pool.snapshot(), { queue: 51, queuedCost: 100, rejected: 0 })
  const refused = await faultOf(run(pool, new Watched('answer'), { cost: 1 }))
  t.equal(refused.kind, 'unavailable')
  t.match(pool.snapshot(), { queue: 51, queuedCost: 100, rejected: 1 })
  for (const job of held) job.release()
  await Promise.all(waiting)
  t.match(pool.snapshot(), { queue: 0, queuedCost: 0, completed: 53, rejected: 1 })
})

test('a refused task is told to come back in one, two or three seconds, not all at once', async (t) => {
  const { pool } = await occupied(t, 1)
  run(pool, new Watched('answer')).catch(() => {})
  const told = await Promise.all(Array.from({ length: 60 }, () => faultOf(run(pool, new Watched('answer')))))
  const seconds = new Set(told.map(({ retryAfter }) => retryAfter))
  t.same([...seconds].sort(), [1, 2, 3])
  t.equal(pool.snapshot().rejected, 60)
})

test('a full pool refuses in the same turn', async (t) => {
  const { pool } = await occupied(t, 1)
  run(pool, new Watched('answer')).catch(() => {})
  const submit = (): unknown => pool.run('pbkdf2', new Watched('answer').input, orderOf({}))
  t.throws(submit, { name: 'Fault', kind: 'unavailable' })
})

test('a task that costs more than may wait is taken when nothing else waits', async (t) => {
  const { pool, held } = await occupied(t, 10)
  const large = run(pool, new Watched('answer'), { cost: 1_000_000 })
  t.match(await faultOf(run(pool, new Watched('answer'))), { kind: 'unavailable' })
  for (const job of held) job.release()
  await t.resolves(large)
})

test('waiting tasks start in the order they came', async (t) => {
  const { pool, held } = await occupied(t)
  const order: number[] = []
  const jobs = Array.from({ length: 10 }, async (_, i) => {
    await run(pool, new Watched('answer'))
    order.push(i)
  })
  for (const job of held) job.release()
  await Promise.all(jobs)
  t.same(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('large tasks share nothing: each is answered as soon as it is done', async (t) => {
  const { pool, held } = await occupied(t, 1_000_000)
  const first = new Watched('answer')
  const second = new Watched('hold')
  const answered = run(pool, first, { cost: 100_000 })
  const holding = run(pool, second, { cost: 100_000 })
  t.after(() => second.release())
  held[0]!.release()
  // The first may be done, and the second taken, before anybody looks.
  await eventually(() => pool.snapshot().queue <= 1)
  held[1]!.release()
  await answered
  second.release()
  await holding
})

test('of two tasks that reach a starting thread together, the first is answered before the second begins', async (t) => {
  const pool = poolOf(t, 1, 1_000_000)
  const second = new Watched('hold')
  t.after(() => second.release())
  const answered = run(pool, new Watched('answer'), { cost: 100_000 })
  const holding = run(pool, second, { cost: 100_000 })
  await answered
  second.release()
  await holding
})

test('waiting and running times and the rows of the threads add up', async (t) => {
  const pool = poolOf(t, 2)
  const jobs = Array.from({ length: 30 }, () => new Watched('busy', 3))
  const results = await Promise.all(jobs.map((job) => run(pool, job)))
  const { completed, waitMs, runMs, rows, threads, queue } = pool.snapshot()
  t.equal(threads, 2)
  t.equal(queue, 0)
  t.equal(completed, 30)
  t.equal(waitMs.count, 30)
  t.equal(runMs.count, 30)
  t.equal(
    rows.reduce((sum, { tasks }) => sum + tasks, 0),
    30,
  )
  const busy = rows.reduce((sum, { busyMs }) => sum + busyMs, 0)
  t.ok(Math.abs(busy - runMs.sum) < 1e-6, `${busy} ms busy, ${runMs.sum} ms run`)
  t.ok(runMs.sum >= 90, `${runMs.sum} ms`)
  const waited = results.reduce((sum, result) => sum + result.waitMs, 0)
  t.ok(Math.abs(waited - waitMs.sum) < 1e-6)
  t.ok(waitMs.max >= 30, 'the last ones waited for the first ones')
})
