import { test } from 'tap'
import { HeldAnswers } from '../../../src/lab/faults/held-answers.js'

test('answers go on at their moment, not before, in the order they came', async (t) => {
  const held = new HeldAnswers()
  const order: number[] = []
  const until = performance.now() + 30
  const waits = [0, 1, 2].map((n) => held.wait(until).then(() => order.push(n)))
  t.equal(held.size, 3)
  await Promise.all(waits)
  t.ok(performance.now() >= until)
  t.same(order, [0, 1, 2])
  t.equal(held.size, 0)
})

test('one moment or all of them can be let go early', async (t) => {
  const held = new HeldAnswers()
  const far = performance.now() + 60_000
  const [first, second] = [held.wait(far), held.wait(far + 1)]
  held.release(far)
  await first
  t.equal(held.size, 1)
  held.release()
  await second
  t.equal(held.size, 0)
})

test('a moment that has passed is now', async (t) => {
  const held = new HeldAnswers()
  await held.wait(performance.now() - 1_000)
  t.equal(held.size, 0)
})
