import { test } from 'tap'
import { faultOf, Leaver, occupied, poolOf, run } from '../support/peers/pool-deeds.js'
import { Watched } from '../support/peers/pool-task.js'
import { eventually } from '../support/timing/eventually.js'

/** Tasks of the lanes that have a thread to themselves. */
const OTHERS = ['check-condition', 'evaluate-condition', 'count-tokens'] as const

test('hashes that run and hashes that wait delay no condition and no count, and cost them no room', async (t) => {
  const { pool, held } = await occupied(t, 100)
  const waiting = run(pool, new Watched('answer'), { cost: 100 })
  t.match(
    await faultOf(run(pool, new Watched('answer'))),
    { kind: 'unavailable' },
    'the lane of hashes is full',
  )
  for (const task of OTHERS) {
    t.match(await run(pool, new Watched('answer'), { task, cost: 1000 }), { value: { hash: 'answer' } }, task)
  }
  t.match(pool.snapshot(), { threads: 3, queue: 1, queuedCost: 100, completed: 3, rejected: 1 })
  for (const job of held) job.release()
  await waiting
})

test('a count that runs delays no condition', async (t) => {
  const pool = poolOf(t, 1)
  const count = new Watched('hold')
  const counted = run(pool, count, { task: 'count-tokens' })
  await eventually(() => count.runs === 1)
  await t.resolves(run(pool, new Watched('answer'), { task: 'evaluate-condition' }))
  count.release()
  await counted
})

test('threads that nobody has needed yet are not there', async (t) => {
  const pool = poolOf(t, 2)
  t.match(pool.snapshot(), { threads: 0, rows: { length: 0 } })
  await run(pool, new Watched('answer'), { task: 'evaluate-condition' })
  t.match(pool.snapshot(), { threads: 1, rows: { length: 1 }, completed: 1 })
  await run(pool, new Watched('answer'))
  t.match(pool.snapshot(), { threads: 3, rows: { length: 3 }, completed: 2 })
})

test('a thread that dies takes no other lane along', async (t) => {
  const pool = poolOf(t, 1)
  const doomed = faultOf(run(pool, new Watched('exit-always'), { task: 'count-tokens' }))
  await t.resolves(run(pool, new Watched('answer')))
  t.match(await doomed, { kind: 'internal' })
  await t.resolves(run(pool, new Watched('answer'), { task: 'count-tokens' }))
})

test('who floods a lane makes nobody wait for all of it', async (t) => {
  const { pool, held } = await occupied(t, 1_000_000)
  const order: string[] = []
  const submit = async (caller: string, cost: number): Promise<void> => {
    await run(pool, new Watched('answer'), { caller, cost })
    order.push(caller)
  }
  const flood = Array.from({ length: 10 }, () => submit('flood', 50_000))
  const others = ['one', 'two', 'one', 'two'].map((caller) => submit(caller, 10_000))
  for (const job of held) job.release()
  await Promise.all([...flood, ...others])
  t.same(order.slice(0, 5).sort(), ['flood', 'one', 'one', 'two', 'two'])
})

test('turns are shares of work: much small work goes before the second large one', async (t) => {
  const { pool, held } = await occupied(t, 10_000_000)
  const order: string[] = []
  const submit = async (caller: string, cost: number): Promise<void> => {
    await run(pool, new Watched('answer'), { caller, cost })
    order.push(caller)
  }
  const large = Array.from({ length: 3 }, () => submit('large', 200_000))
  const small = Array.from({ length: 20 }, () => submit('small', 8000))
  for (const job of held) job.release()
  await Promise.all([...large, ...small])
  t.same(order.slice(1, 21), Array(20).fill('small'))
})

test('in a full lane who has less takes the place of the newest of who has most', async (t) => {
  const { pool, held } = await occupied(t, 100)
  const flood = Array.from({ length: 10 }, () =>
    run(pool, new Watched('answer'), { caller: 'flood', cost: 10 }),
  )
  const outcomes = Promise.allSettled(flood)
  t.match(await faultOf(run(pool, new Watched('answer'), { caller: 'flood' })), { kind: 'unavailable' })
  const other = run(pool, new Watched('answer'), { caller: 'other', cost: 15 })
  t.match(await faultOf(flood[9]!), { kind: 'unavailable', retryAfter: Number })
  t.match(await faultOf(flood[8]!), { kind: 'unavailable' })
  t.match(pool.snapshot(), { queue: 9, queuedCost: 95, rejected: 3 })
  const tooMuch = run(pool, new Watched('answer'), { caller: 'other', cost: 36 })
  t.match(await faultOf(tooMuch), { kind: 'unavailable' }, 'more than half of it')
  for (const job of held) job.release()
  await other
  const kinds = (await outcomes).map(({ status }) => status)
  t.same(kinds, [...Array(8).fill('fulfilled'), 'rejected', 'rejected'])
})

test('one whose work was displaced may leave afterwards, and no figure changes', async (t) => {
  const { pool, held } = await occupied(t, 10)
  const leaver = new Leaver()
  const displaced = faultOf(run(pool, new Watched('answer'), { caller: 'flood', cost: 10, leaver }))
  const other = run(pool, new Watched('answer'), { caller: 'other', cost: 5 })
  await displaced
  leaver.leave()
  t.match(pool.snapshot(), { queue: 1, queuedCost: 5, rejected: 1, dropped: 0 })
  for (const job of held) job.release()
  await other
})

test('a caller who waits alone gets turn after turn, whatever its work costs', async (t) => {
  const { pool, held } = await occupied(t)
  const large = run(pool, new Watched('answer'), { cost: 50_000_000 })
  for (const job of held) job.release()
  await t.resolves(large)
  await t.resolves(run(pool, new Watched('answer')))
})
