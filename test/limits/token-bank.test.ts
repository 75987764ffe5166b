import { test } from 'tap'
import { TokenBank } from '../../src/limits/token-bank.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const RULE = { perMinute: 600, burst: 100 }

test('a bucket gives its burst, then its rate', async (t) => {
  const clock = new FakeClock()
  const bank = new TokenBank(RULE, clock)
  t.strictSame(bank.take('a', 100), { granted: 100, emptyForMs: 0 })
  t.strictSame(bank.take('a', 1), { granted: 0, emptyForMs: 100 })
  clock.advance(50)
  t.strictSame(bank.take('a', 1), { granted: 0, emptyForMs: 50 })
  clock.advance(50)
  t.strictSame(bank.take('a', 1), { granted: 1, emptyForMs: 0 })
  clock.advance(60_000)
  t.equal(bank.take('a', 1_000).granted, 100, 'never more than the burst')
})

test('names do not share', async (t) => {
  const bank = new TokenBank(RULE, new FakeClock())
  bank.take('a', 100)
  t.equal(bank.take('b', 100).granted, 100)
})

test('who asks for a few gets some in advance, the fewer the less there are', async (t) => {
  const bank = new TokenBank(RULE, new FakeClock())
  t.equal(bank.take('a', 1).granted, 1 + 3)
  bank.take('a', 70)
  t.equal(bank.take('a', 1).granted, 1)
})

test('what is asked beyond what there is gives what there is, and says for how long that was all', async (t) => {
  const bank = new TokenBank({ perMinute: 60, burst: 3 }, new FakeClock())
  t.strictSame(bank.take('a', 5), { granted: 3, emptyForMs: 1_000 })
})

test('all that is ever granted stays within burst and rate', async (t) => {
  const clock = new FakeClock()
  const bank = new TokenBank(RULE, clock)
  let granted = 0
  for (let ms = 0; ms < 10_000; ms += 7) {
    clock.advance(7)
    granted += bank.take('a', 1 + (ms % 5)).granted
    t.ok(granted <= 100 + ((ms + 7) * 600) / 60_000 + 1e-6)
  }
  t.ok(granted >= 198, `${granted}`)
})

test('buckets are bounded: the one used longest ago goes', async (t) => {
  const bank = new TokenBank(RULE, new FakeClock())
  bank.take('first', 100)
  bank.take('second', 100)
  bank.take('first', 1)
  for (let n = 0; n < 99_999; n++) bank.take(`n${n}`, 1)
  t.equal(bank.size, 100_000)
  t.equal(bank.take('first', 1).granted, 0)
  t.equal(bank.take('second', 100).granted, 100)
})
