import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import type { Cancellation } from '../../src/base/cancellation.js'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { CpuPool } from '../../src/cpu-pool/pool.js'
import {
  type ConditionClaims,
  type ConditionEvaluator,
  type ConditionPool,
  createConditionEvaluator,
} from '../../src/federation/condition.js'
import type { Lifetime } from '../support/data/temp-folder.js'
import { faultOf, Leaver } from '../support/peers/pool-deeds.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const TASKS = fileURLToPath(new URL('../../workers/thread.js', import.meta.url))
const DEADLINE_MS = 1000
const CLAIMS: ConditionClaims = { subject: 'repo:octo/app', audience: ['sluice'], scopes: [], token_type: '' }

function inPool(t: Lifetime): ConditionEvaluator {
  const pool = new CpuPool({ threads: 1, maxQueuedCost: 1_000_000, filename: TASKS })
  t.after(() => pool.close())
  return createConditionEvaluator(pool, { clock: systemClock, deadlineMs: 60_000 })
}

/** A pool that does what a test says, and remembers who waits and at what price. */
class ScriptedPool implements ConditionPool {
  readonly callers: Cancellation[] = []
  readonly costs: number[] = []
  readonly #run: () => Promise<never>

  constructor(run: () => Promise<never>) {
    this.#run = run
  }

  run(_task: string, _input: object, cost: number, caller: Cancellation): Promise<never> {
    this.costs.push(cost)
    this.callers.push(caller)
    return this.#run()
  }
}

const scripted = (run: () => Promise<never>) => {
  const clock = new FakeClock()
  const pool = new ScriptedPool(run)
  return { clock, pool, port: createConditionEvaluator(pool, { clock, deadlineMs: DEADLINE_MS }) }
}

test('a condition is checked and evaluated in a thread of the pool', async (t) => {
  const port = inPool(t)
  const caller = new Leaver()
  const text = 'subject.startsWith("repo:octo/") && "sluice" in audience'
  t.equal(await port.checkCondition(text, caller), null)
  t.same(await port.checkCondition('subject.matches(".*")', caller), {
    reason: 'matches() is not available in a condition',
    position: 0,
  })
  t.equal(await port.evaluateCondition(text, CLAIMS, caller), true)
  t.equal(await port.evaluateCondition(text, { ...CLAIMS, subject: 'repo:other' }, caller), false)
})

test('a condition that errs is false, and the reason can be asked for', async (t) => {
  const port = inPool(t)
  const caller = new Leaver()
  t.equal(await port.evaluateCondition('audience[7] == "x"', CLAIMS, caller), false)
  t.same(await port.explainCondition('audience[7] == "x"', CLAIMS, caller), {
    met: false,
    failure: 'index_out_of_bounds',
  })
  t.same(await port.explainCondition('subject == "x"', CLAIMS, caller), { met: false, failure: null })
})

test('a saved text that would be refused today is false', async (t) => {
  const port = inPool(t)
  t.equal(await port.evaluateCondition('subject.matches("")', CLAIMS, new Leaver()), false)
})

test('a condition that runs late is false, and the pool is told to drop it', async (t) => {
  const { clock, pool, port } = scripted(() => new Promise(() => {}))
  const outcome = port.explainCondition('true', CLAIMS, new Leaver())
  let dropped = 0
  pool.callers[0]!.onAbort(() => dropped++)
  clock.advance(DEADLINE_MS - 1)
  t.equal(dropped, 0)
  clock.advance(1)
  t.same(await outcome, { met: false, failure: 'the condition ran late' })
  t.equal(dropped, 1)
})

test('the caller who leaves takes the task along', async (t) => {
  const { pool, port } = scripted(() => new Promise(() => {}))
  const caller = new Leaver()
  void port.evaluateCondition('true', CLAIMS, caller)
  let dropped = 0
  pool.callers[0]!.onAbort(() => dropped++)
  caller.leave()
  t.equal(dropped, 1)
})

test('no timer is left behind, whatever comes of it', async (t) => {
  const faults = [new Fault('unavailable'), new Fault('internal')]
  for (const fault of faults) {
    const { clock, port } = scripted(() => Promise.reject(fault))
    await port.evaluateCondition('true', CLAIMS, new Leaver()).catch(() => {})
    t.equal(clock.pending, 0)
  }
  const { clock, port } = scripted(() => {
    throw new Fault('unavailable')
  })
  await port.evaluateCondition('true', CLAIMS, new Leaver()).catch(() => {})
  t.equal(clock.pending, 0)
})

test('a full pool decides nothing', async (t) => {
  const full = new Fault('unavailable', { retryAfter: 2 })
  for (const run of [
    () => Promise.reject(full),
    () => {
      throw full
    },
  ]) {
    const { port } = scripted(run)
    t.equal(await faultOf(port.evaluateCondition('true', CLAIMS, new Leaver())), full)
    t.equal(await faultOf(port.checkCondition('true', new Leaver())), full)
  }
})

test('a task whose thread died is not met', async (t) => {
  const { port } = scripted(() => Promise.reject(new Fault('internal')))
  t.same(await port.explainCondition('true', CLAIMS, new Leaver()), {
    met: false,
    failure: 'the evaluation broke',
  })
})

test('a longer text costs more to check, an endless one no more than the longest', async (t) => {
  const { pool, port } = scripted(() => Promise.reject(new Fault('internal')))
  for (const length of [10, 2000, 4000, 1_000_000]) {
    await port.checkCondition('a'.repeat(length), new Leaver()).catch(() => {})
  }
  const [short, long, longest, endless] = pool.costs
  t.ok(short! < long! && long! < longest!)
  t.equal(longest, endless)
})
