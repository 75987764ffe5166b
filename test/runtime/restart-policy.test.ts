import fc from 'fast-check'
import { test } from 'tap'
import { RestartPolicy } from '../../src/runtime/restart-policy.js'

const CRASH_LOOP = 8

test('a worker that ran for a while comes back at once, however often', async (t) => {
  const policy = new RestartPolicy()
  for (let i = 0; i < 50; i++) t.same(policy.died(1000 + i), { restart: true, afterMs: 0 })
})

test('short runs are followed by growing delays, and eight in a row by the end', async (t) => {
  for (const readyForMs of [null, 0, 999.9]) {
    const policy = new RestartPolicy()
    const delays: unknown[] = []
    for (let i = 1; i < CRASH_LOOP; i++) {
      const decision = policy.died(readyForMs)
      delays.push(decision.restart && decision.afterMs)
    }
    t.same(delays, [0, 100, 200, 400, 800, 1000, 1000], `ready for ${readyForMs} ms`)
    t.match(policy.died(readyForMs), { restart: false, reason: /8 times in a row/ })
  }
})

test('one long run forgives the short ones before it', async (t) => {
  const policy = new RestartPolicy()
  for (let round = 0; round < 5; round++) {
    for (let i = 1; i < CRASH_LOOP; i++) t.equal(policy.died(null).restart, true)
    t.same(policy.died(5000), { restart: true, afterMs: 0 })
  }
})

test('it gives up exactly when the last eight runs were short', async () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 3000 }))), (runs) => {
      const policy = new RestartPolicy()
      return runs.every((ms, i) => {
        const last = runs.slice(Math.max(0, i + 1 - CRASH_LOOP), i + 1)
        const over = last.length === CRASH_LOOP && last.every((run) => run === null || run < 1000)
        return policy.died(ms).restart === !over
      })
    }),
  )
})
