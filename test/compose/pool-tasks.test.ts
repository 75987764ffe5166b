import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { pooledTokenCounter } from '../../src/compose/pool-tasks.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'

/** Six words of six tokens; by its length alone it would be guessed at seven. */
const TEXT = 'one two three four five six'

const NOBODY = { caller: '', cancellation: NEVER_ABORTED }

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

test('large texts fill the lane of counts, and a full lane leaves guesses by length and fails nobody', async (t) => {
  const pool = poolOf(1_000_000)
  t.after(() => pool.close())
  const count = pooledTokenCounter(pool)
  const large = 'word '.repeat(400_000)
  const more = Array.from({ length: 6 }, () => count([large]))
  t.same(await count([TEXT, '', 'one']), [7, 0, 1], 'guessed')
  t.ok(pool.snapshot().rejected > 0)
  const counts = new Set((await Promise.all(more)).map(([tokens]) => tokens))
  t.same([...counts].sort(), [400_001, 500_000], 'some were counted, others guessed')
})

test('texts are counted however many hashes wait', async (t) => {
  const pool = poolOf(200_000)
  t.after(() => pool.close())
  const hash = async () =>
    pool.run('pbkdf2', { data: 'x', salt: 'y', rounds: 200_000 }, { cost: 200_000, ...NOBODY })
  const hashes = Promise.allSettled(Array.from({ length: 8 }, hash))
  t.same(await pooledTokenCounter(pool)([TEXT, '', 'one']), [6, 0, 1])
  await hashes
})

test('a pool that has been closed leaves a guess as well', async (t) => {
  const pool = poolOf(1000)
  await pool.close()
  t.same(await pooledTokenCounter(pool)([TEXT]), [7])
})
