import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { pooledTokenCounter } from '../../src/compose/pool-tasks.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'

/** Six words of six tokens; by its length alone it would be guessed at seven. */
const TEXT = 'one two three four five six'

function poolOf(maxQueuedCost: number): CpuPool {
  return new CpuPool({ threads: 1, maxQueuedCost })
}

test('texts are counted in the pool, in their order', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  t.same(await pooledTokenCounter(pool)([TEXT, '', 'one']), [6, 0, 1])
  t.same(await pooledTokenCounter(pool)([]), [])
  t.equal(pool.snapshot().completed, 2)
})

test('a full pool leaves a guess by length, and fails nobody', async (t) => {
  const pool = poolOf(1)
  t.after(() => pool.close())
  const job = async () => pool.run('pbkdf2', { data: 'x', salt: 'y', rounds: 50_000 }, 50_000, NEVER_ABORTED)
  const jobs = Array.from({ length: 8 }, job)
  t.same(await pooledTokenCounter(pool)([TEXT, '', 'one']), [7, 0, 1])
  t.ok(pool.snapshot().rejected > 0)
  await Promise.allSettled(jobs)
})

test('a pool that has been closed leaves a guess as well', async (t) => {
  const pool = poolOf(1000)
  await pool.close()
  t.same(await pooledTokenCounter(pool)([TEXT]), [7])
})

test('a large prompt takes the room of its size in the pool', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  const count = pooledTokenCounter(pool)
  const hold = pool.run('pbkdf2', { data: 'x', salt: 'y', rounds: 200_000 }, 200_000, NEVER_ABORTED)
  const more = Array.from({ length: 12 }, () => count(['word '.repeat(60_000)]))
  const counts = (await Promise.all(more)).map(([tokens]) => tokens)
  await hold
  const guess = 75_000
  t.ok(counts.includes(guess), 'some found the pool full and were guessed')
  t.ok(
    counts.some((tokens) => tokens !== guess),
    'others were counted',
  )
})
