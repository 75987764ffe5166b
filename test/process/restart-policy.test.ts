import fc from 'fast-check'
import { test } from 'tap'
import { RestartPolicy } from '../../src/process/restart-policy.js'

const CRASH_LOOP = 8

test('a worker that ran for a while comes back at once, however often', async (t) => {
  const policy = new RestartPolicy()
  for (let i = 0; i < 50; i++) t.same(policy.decideRestart(1000 + i), { restart: true, afterMs: 0 })
})

test('short runs are followed by growing delays, and eight in a row by the end where none has served', async (t) => {
  for (const readyForMs of [null, 0, 999.9]) {
    const policy = new RestartPolicy()
    const delays: unknown[] = []
    for (let i = 1; i < CRASH_LOOP; i++) {
      const decision = policy.decideRestart(readyForMs)
      delays.push(decision.restart && decision.afterMs)
    }
    t.same(delays, [0, 100, 200, 400, 800, 1000, 1000], `ready for ${readyForMs} ms`)
    t.match(policy.decideRestart(readyForMs), { restart: false, reason: /8 times in a row/ })
  }
})

test('a group that has served is never given up: the delay stays at a second', async (t) => {
  for (const readyForMs of [null, 0, 999.9]) {
    const policy = new RestartPolicy()
    policy.markServing()
    const delays: unknown[] = []
    for (let i = 0; i < 2000; i++) {
      const decision = policy.decideRestart(readyForMs)
      delays.push(decision.restart && decision.afterMs)
    }
    t.same(delays.slice(0, 8), [0, 100, 200, 400, 800, 1000, 1000, 1000], `ready for ${readyForMs} ms`)
    t.same(new Set(delays.slice(8)), new Set([1000]))
    t.same(policy.decideRestart(1000), { restart: true, afterMs: 0 }, 'a long run is forgiven here as well')
    t.same(policy.decideRestart(0), { restart: true, afterMs: 0 })
  }
})

test('deaths before the group has served count no more when it has', async (t) => {
  const policy = new RestartPolicy()
  for (let i = 1; i < CRASH_LOOP; i++) policy.decideRestart(null)
  policy.markServing()
  t.same(policy.decideRestart(0), { restart: true, afterMs: 1000 })
})

test('one long run forgives the short ones before it', async (t) => {
  const policy = new RestartPolicy()
  for (let round = 0; round < 5; round++) {
    for (let i = 1; i < CRASH_LOOP; i++) t.equal(policy.decideRestart(null).restart, true)
    t.same(policy.decideRestart(5000), { restart: true, afterMs: 0 })
  }
})

test('a group that never served is given up exactly when the last eight runs were short', async () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 3000 }))), (runs) => {
      const policy = new RestartPolicy()
      return runs.every((ms, i) => {
        const last = runs.slice(Math.max(0, i + 1 - CRASH_LOOP), i + 1)
        const over = last.length === CRASH_LOOP && last.every((run) => run === null || run < 1000)
        return policy.decideRestart(ms).restart === !over
      })
    }),
  )
})
