import { test } from 'tap'
import { faultOf, Leaver, poolOf, run } from '../support/peers/pool-deeds.js'
import { Watched } from '../support/peers/pool-task.js'
import { eventually } from '../support/timing/eventually.js'

/** Null, after a time that nothing should take. */
function deadline(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(resolve, ms, null).unref())
}

for (const deed of ['exit-once', 'throw-once'] as const) {
  test(`a task that ends in "${deed}" is tried once more and answered`, async (t) => {
    const pool = poolOf(t, 1)
    const job = new Watched(deed)
    t.match(await run(pool, job), { value: { hash: 'answer' } })
    t.equal(job.runs, 2)
    t.match(pool.snapshot(), { completed: 1, queue: 0, queuedCost: 0 })
  })
}

for (const deed of ['exit-always', 'throw-always'] as const) {
  test(`a task that ends in "${deed}" fails after the second try, and the pool goes on`, async (t) => {
    const pool = poolOf(t, 1)
    const job = new Watched(deed)
    t.match(await faultOf(run(pool, job)), { kind: 'internal', detail: /pbkdf2/ })
    t.equal(job.runs, 2)
    await t.resolves(run(pool, new Watched('answer')))
    t.match(pool.snapshot(), { completed: 1, queue: 0, queuedCost: 0 })
  })
}

test('what stood behind a task that took its thread along is answered by the next thread', async (t) => {
  const pool = poolOf(t, 1)
  const answers = await Promise.all([
    run(pool, new Watched('exit-once')),
    ...Array.from({ length: 5 }, () => run(pool, new Watched('answer'))),
  ])
  t.equal(answers.length, 6)
  t.match(pool.snapshot(), { completed: 6, queue: 0, queuedCost: 0 })
})

test('a task that always takes its thread along takes no other task along', async (t) => {
  const pool = poolOf(t, 1)
  const doomed = faultOf(run(pool, new Watched('exit-always')))
  const others = Promise.allSettled(Array.from({ length: 10 }, () => run(pool, new Watched('answer'))))
  t.match(await doomed, { kind: 'internal' })
  t.same(new Set((await others).map(({ status }) => status)), new Set(['fulfilled']))
})

test('a task whose caller leaves while its thread dies is not tried again', async (t) => {
  const pool = poolOf(t, 1)
  const first = new Watched('hold')
  const answered = run(pool, first)
  const caller = new Leaver()
  const doomed = new Watched('exit-always')
  const failed = faultOf(run(pool, doomed, { leaver: caller }))
  await eventually(() => first.runs === 1)
  first.release()
  await eventually(() => doomed.runs === 1)
  caller.leave()
  t.ok(['internal', 'unavailable'].includes((await failed).kind))
  await answered
  await run(pool, new Watched('answer'))
  t.match(pool.snapshot(), { queue: 0, queuedCost: 0 })
})

test('an outcome that is none is a failure of ours, with the reason for the log', async (t) => {
  const pool = poolOf(t, 1)
  const job = new Watched('refuse')
  t.match(await faultOf(run(pool, job)), { kind: 'internal', detail: /it would not/ })
  t.equal(job.runs, 1, 'not tried again')
})

test('closing ends the threads and everything that waits, and nobody is left without an answer', async (t) => {
  const pool = poolOf(t, 1)
  const held = new Watched('hold')
  const answers = [run(pool, held), ...Array.from({ length: 5 }, () => run(pool, new Watched('answer')))]
  const settled = Promise.allSettled(answers)
  await eventually(() => held.runs === 1)
  await pool.close()
  const outcomes = await Promise.race([settled, deadline(5000)])
  t.same(new Set(outcomes?.map(({ status }) => status)), new Set(['rejected']), 'all are told')
  const kinds = await Promise.all(answers.slice(1).map((answer) => faultOf(answer).then(({ kind }) => kind)))
  t.same(new Set(kinds), new Set(['unavailable']), 'what still waits is refused, it did not fail')
})
