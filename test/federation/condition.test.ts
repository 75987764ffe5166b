import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { type Cancellation, NEVER_ABORTED } from '../../src/base/cancellation.js'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import { ConditionEvaluator, type ConditionPool } from '../../src/federation/condition.js'
import type { ConditionClaims, ConditionOutcome } from '../../workers/tasks.js'
import type { Lifetime } from '../support/data/temp-folder.js'
import { faultOf, Leaver } from '../support/peers/pool-deeds.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const TASKS = fileURLToPath(new URL('../../workers/condition-thread.js', import.meta.url))
const DEADLINE_MS = 1000
const ORGANIZATION = 'org-1'
const CLAIMS: ConditionClaims = { subject: 'repo:octo/app', audience: ['sluice'], scopes: [], token_type: '' }
const NOT_MET: ConditionOutcome = { met: false, failure: null }

function evaluatorInPool(t: Lifetime): ConditionEvaluator {
  const pool = new CpuPool({ threads: 1, maxQueuedCost: 1_000_000, filename: TASKS })
  t.after(() => pool.close())
  return new ConditionEvaluator(pool, { clock: systemClock, deadlineMs: 60_000 })
}

/** A pool that does what a test says, and remembers what was asked, by whom and at what price. */
class ScriptedPool implements ConditionPool {
  readonly callers: Cancellation[] = []
  readonly costs: number[] = []
  readonly texts: string[] = []
  readonly #run: () => Promise<never>

  constructor(run: () => Promise<never>) {
    this.#run = run
  }

  run(
    _task: string,
    input: { readonly text: string },
    { cost, cancellation }: Parameters<ConditionPool['run']>[2],
  ): Promise<never> {
    this.texts.push(input.text)
    this.costs.push(cost)
    this.callers.push(cancellation)
    return this.#run()
  }
}

const scripted = (run: () => Promise<unknown>) => {
  const clock = new FakeClock()
  const pool = new ScriptedPool(run as () => Promise<never>)
  return { clock, pool, conditions: new ConditionEvaluator(pool, { clock, deadlineMs: DEADLINE_MS }) }
}

/** A pool in which every condition comes to one outcome. */
const answering = (value: ConditionOutcome = { met: true, failure: null }) =>
  scripted(async () => ({ value }))

test('a condition is checked and evaluated in a thread of the pool', async (t) => {
  const conditions = evaluatorInPool(t)
  const caller = new Leaver()
  const text = 'subject.startsWith("repo:octo/") && "sluice" in audience'
  t.equal(await conditions.check(text, ORGANIZATION, caller), null)
  t.same(await conditions.check('subject.matches(".*")', ORGANIZATION, caller), {
    reason: 'matches() is not available in a condition',
    position: 0,
  })
  t.same(await conditions.evaluate(text, CLAIMS, ORGANIZATION, caller), { met: true, failure: null })
  t.same(await conditions.evaluate(text, { ...CLAIMS, subject: 'repo:other' }, ORGANIZATION, caller), NOT_MET)
})

test('a condition that errs is false, and tells the reason', async (t) => {
  const conditions = evaluatorInPool(t)
  t.same(await conditions.evaluate('audience[7] == "x"', CLAIMS, ORGANIZATION, new Leaver()), {
    met: false,
    failure: 'index_out_of_bounds',
  })
  t.same(await conditions.evaluate('subject == "x"', CLAIMS, ORGANIZATION, new Leaver()), NOT_MET)
})

test('a saved text that would be refused today is false', async (t) => {
  t.match(await evaluatorInPool(t).evaluate('subject.matches("")', CLAIMS, ORGANIZATION, new Leaver()), {
    met: false,
  })
})

test('what a late condition comes to is not known, the pool is told to drop it, and the next time it is asked again', async (t) => {
  const { clock, pool, conditions } = scripted(() => new Promise(() => {}))
  const late = faultOf(conditions.evaluate('true', CLAIMS, ORGANIZATION, new Leaver()) as Promise<unknown>)
  let dropped = 0
  pool.callers[0]!.onAbort(() => dropped++)
  clock.advance(DEADLINE_MS - 1)
  t.equal(dropped, 0)
  clock.advance(1)
  t.match(await late, { kind: 'unavailable', retryAfter: 1 })
  t.equal(dropped, 1)
  void conditions.evaluate('true', CLAIMS, ORGANIZATION, new Leaver())
  t.equal(pool.texts.length, 2)
})

test('the caller who leaves takes the task along', async (t) => {
  const { pool, conditions } = scripted(() => new Promise(() => {}))
  const caller = new Leaver()
  void conditions.evaluate('true', CLAIMS, ORGANIZATION, caller)
  let dropped = 0
  pool.callers[0]!.onAbort(() => dropped++)
  caller.leave()
  t.equal(dropped, 1)
})

test('a full pool and a task whose thread died decide nothing, leave no timer and are not remembered', async (t) => {
  const full = new Fault('unavailable', { retryAfter: 2 })
  const throwing = (): never => {
    throw full
  }
  for (const run of [() => Promise.reject(full), throwing]) {
    const { clock, pool, conditions } = scripted(run)
    for (const times of [1, 2]) {
      t.equal(
        await faultOf(conditions.evaluate('true', CLAIMS, ORGANIZATION, new Leaver()) as Promise<unknown>),
        full,
      )
      t.equal(pool.texts.length, times)
    }
    t.equal(clock.pending, 0)
    t.equal(await faultOf(conditions.check('true', ORGANIZATION, new Leaver())), full)
  }
  const { clock, pool, conditions } = scripted(() => Promise.reject(new Fault('internal')))
  for (const times of [1, 2]) {
    const broken = conditions.evaluate('true', CLAIMS, ORGANIZATION, new Leaver()) as Promise<unknown>
    t.match(await faultOf(broken), { kind: 'unavailable', retryAfter: 1 })
    t.equal(pool.texts.length, times)
  }
  t.equal(clock.pending, 0)
})

test('a longer text costs more to check, an endless one no more than the longest', async (t) => {
  const { pool, conditions } = scripted(() => Promise.reject(new Fault('internal')))
  for (const length of [10, 2000, 4000, 1_000_000]) {
    await conditions.check('a'.repeat(length), ORGANIZATION, new Leaver()).catch(() => {})
  }
  const [short, long, longest, endless] = pool.costs
  t.ok(short! < long! && long! < longest!)
  t.equal(longest, endless)
})

for (const value of [
  { met: true, failure: null },
  { met: false, failure: 'no such overload' },
]) {
  test(`the same condition about the same claims is asked once: ${value.failure ?? 'met'}`, async (t) => {
    const { clock, pool, conditions } = answering(value)
    const first = conditions.evaluate('x', CLAIMS, ORGANIZATION, NEVER_ABORTED)
    t.ok(first instanceof Promise)
    t.equal(await first, value)
    t.equal(
      conditions.evaluate('x', CLAIMS, ORGANIZATION, NEVER_ABORTED),
      value,
      'at once, without a promise',
    )
    t.equal(pool.texts.length, 1)
    t.equal(clock.pending, 0)
  })
}

test('anything else is another question', async (t) => {
  const { pool, conditions } = answering()
  await conditions.evaluate('x', CLAIMS, ORGANIZATION, NEVER_ABORTED)
  await conditions.evaluate('y', CLAIMS, ORGANIZATION, NEVER_ABORTED)
  for (const more of [
    { subject: 't' },
    { audience: ['ab'] },
    { audience: ['a'], scopes: ['b'] },
    { audience: [], scopes: ['a', 'b'] },
    { token_type: 'a' },
  ]) {
    await conditions.evaluate('x', { ...CLAIMS, ...more }, ORGANIZATION, NEVER_ABORTED)
  }
  t.equal(pool.texts.length, 7)
})

test('the oldest outcome goes when there are too many', async (t) => {
  const { pool, conditions } = answering()
  for (let n = 0; n <= 4096; n++) await conditions.evaluate(`${n}`, CLAIMS, ORGANIZATION, NEVER_ABORTED)
  t.equal(pool.texts.length, 4097)
  for (const text of ['4096', '1', '0']) await conditions.evaluate(text, CLAIMS, ORGANIZATION, NEVER_ABORTED)
  t.same(pool.texts.slice(4097), ['0'])
})

test('a check at the save is never remembered', async (t) => {
  const { pool, conditions } = scripted(async () => ({ value: { defect: null } }))
  for (const times of [1, 2]) {
    t.equal(await conditions.check('text', ORGANIZATION, NEVER_ABORTED), null)
    t.equal(pool.texts.length, times)
  }
})
