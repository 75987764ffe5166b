import { test } from 'tap'
import { NEVER_ABORTED } from '../../src/base/cancellation.js'
import type { ConditionClaims, ConditionEvaluator, ConditionOutcome } from '../../src/federation/condition.js'
import { cacheConditionOutcomes } from '../../src/federation/condition-memory.js'

const CLAIMS: ConditionClaims = { subject: 's', audience: ['a', 'b'], scopes: [], token_type: '' }

interface Bench {
  readonly conditions: ConditionEvaluator
  readonly asked: unknown[]
}

function bench(outcome: ConditionOutcome = { met: true, failure: null }, most = 10): Bench {
  const asked: unknown[] = []
  const explainCondition: ConditionEvaluator['explainCondition'] = async (text, claims) => {
    asked.push([text, claims])
    return outcome
  }
  const all: ConditionEvaluator = {
    explainCondition,
    evaluateCondition: async (text, claims, caller) => (await explainCondition(text, claims, caller)).met,
    checkCondition: async (text) => ({ reason: text, position: 0 }),
  }
  return { conditions: cacheConditionOutcomes(all, most), asked }
}

const ask = ({ conditions }: Bench, text: string, more: Partial<ConditionClaims> = {}): Promise<boolean> =>
  conditions.evaluateCondition(text, { ...CLAIMS, ...more }, NEVER_ABORTED)

test('the same condition about the same claims is asked once', async (t) => {
  const made = bench()
  t.same([await ask(made, 'x'), await ask(made, 'x')], [true, true])
  t.equal(made.asked.length, 1)
})

test('what is remembered is there at once, without a promise', async (t) => {
  const { conditions } = bench()
  const first = conditions.explainCondition('x', CLAIMS, NEVER_ABORTED)
  t.ok(first instanceof Promise)
  const outcome = await first
  t.equal(conditions.explainCondition('x', CLAIMS, NEVER_ABORTED), outcome)
})

test('anything else is another question', async (t) => {
  const made = bench()
  await ask(made, 'x')
  await ask(made, 'y')
  await ask(made, 'x', { subject: 't' })
  await ask(made, 'x', { audience: ['ab'] })
  await ask(made, 'x', { audience: ['a'], scopes: ['b'] })
  await ask(made, 'x', { audience: [], scopes: ['a', 'b'] })
  await ask(made, 'x', { token_type: 'a' })
  t.equal(made.asked.length, 7)
})

test('a condition that errs errs the next time too', async (t) => {
  const made = bench({ met: false, failure: 'no such overload' })
  t.same([await ask(made, 'x'), await ask(made, 'x')], [false, false])
  t.equal(made.asked.length, 1)
})

for (const failure of ['the condition ran late', 'the evaluation broke']) {
  test(`${failure}: that is not remembered`, async (t) => {
    const made = bench({ met: false, failure })
    await ask(made, 'x')
    await ask(made, 'x')
    t.equal(made.asked.length, 2)
  })
}

test('the oldest goes when there are too many', async (t) => {
  const made = bench(undefined, 2)
  for (const text of ['1', '2', '3', '3', '2', '1']) await ask(made, text)
  t.same(
    made.asked.map((each) => (each as [string])[0]),
    ['1', '2', '3', '1'],
  )
})

test('a check at the save is never remembered', async (t) => {
  const { conditions } = bench()
  t.match(await conditions.checkCondition('text', NEVER_ABORTED), { reason: 'text' })
})
