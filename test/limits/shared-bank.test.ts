import { test } from 'tap'
import { SharedBank } from '../../src/limits/shared-bank.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const RULE = { perMinute: 60, burst: 2 }

test('the supervisor answers for all workers', async (t) => {
  const asked: unknown[] = []
  const bank = new SharedBank(RULE, new FakeClock(), (...question) => asked.push(question) > 0)
  const [first, second] = [bank.take('a', 3), bank.take('b', 1)]
  t.strictSame(asked, [
    [0, 'a', 3],
    [1, 'b', 1],
  ])
  bank.answered(1, { granted: 1, emptyForMs: 0 })
  bank.answered(0, { granted: 0, emptyForMs: 7 })
  t.strictSame(await first, { granted: 0, emptyForMs: 7 })
  t.strictSame(await second, { granted: 1, emptyForMs: 0 })
})

test('one that is late, or not there, is stood in for by the worker’s own buckets', async (t) => {
  const clock = new FakeClock()
  const late = new SharedBank(RULE, clock, () => true)
  const answer = late.take('a', 5)
  clock.advance(500)
  t.strictSame(await answer, { granted: 2, emptyForMs: 1_000 })
  late.answered(0, { granted: 5, emptyForMs: 0 })
  t.equal(clock.pending, 0)
  const alone = new SharedBank(RULE, clock, () => false)
  t.equal((await alone.take('a', 1)).granted, 1)
  t.equal(clock.pending, 0)
})
