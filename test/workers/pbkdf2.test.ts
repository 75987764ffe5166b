import { pbkdf2Sync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { pbkdf2 } from '../../workers/pbkdf2.js'

const TASKS = fileURLToPath(new URL('../../workers/hash-thread.js', import.meta.url))

/** RFC 7914 section 11, the first 32 bytes of each. */
const VECTORS = [
  {
    input: { data: 'passwd', salt: 'salt', rounds: 1 },
    hash: '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc',
  },
  {
    input: { data: 'Password', salt: 'NaCl', rounds: 80_000 },
    hash: '4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56',
  },
]

test('the published vectors are met', async (t) => {
  for (const { input, hash } of VECTORS) {
    const outcome = pbkdf2(input)
    t.match(outcome, { ok: true, value: { hash } })
    t.ok(outcome.ok && outcome.value.elapsedMs > 0)
  }
})

test('data and salt count as their UTF-8 bytes, the empty text included', async () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.integer({ min: 1, max: 50 }),
      (data, salt, rounds) => {
        const outcome = pbkdf2({ data, salt, rounds })
        const wanted = pbkdf2Sync(Buffer.from(data), Buffer.from(salt), rounds, 32, 'sha256')
        return outcome.ok && outcome.value.hash === wanted.toString('hex')
      },
    ),
  )
})

test('more rounds take more time, and the time told is that of deriving', async (t) => {
  const timed = (rounds: number): number => {
    const begun = performance.now()
    const outcome = pbkdf2({ data: 'x', salt: 'y', rounds })
    const took = performance.now() - begun
    if (!outcome.ok) throw new Error(outcome.reason)
    t.ok(outcome.value.elapsedMs <= took)
    return outcome.value.elapsedMs
  }
  timed(1000)
  t.ok(timed(100_000) > timed(1000))
})

test('the threads of the pool run the same task', async (t) => {
  const pool = new CpuPool({ threads: 2, maxQueuedCost: 1_000_000, filename: TASKS })
  t.after(() => pool.close())
  for (const { input, hash } of VECTORS) {
    const { value, waitMs } = await pool.run('pbkdf2', input, {
      cost: input.rounds,
      caller: '',
      cancellation: NEVER_ABORTED,
    })
    t.equal(value.hash, hash)
    t.ok(waitMs >= 0)
  }
  const { completed, runMs } = pool.snapshot()
  t.equal(completed, 2)
  t.ok(runMs.sum > 0)
})
