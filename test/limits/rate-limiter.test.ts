import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { RateLimiter } from '../../src/limits/rate-limiter.js'
import { type Bank, type Grant, TokenBank } from '../../src/limits/token-bank.js'
import { FakeClock } from '../support/timing/fake-clock.js'

/** A bank whose answers wait for the test. */
class HeldBank implements Bank {
  readonly asked: { name: string; wanted: number; answer: (grant: Grant) => void }[] = []

  take(name: string, wanted: number): Promise<Grant> {
    return new Promise((answer) => this.asked.push({ name, wanted, answer }))
  }
}

/** Whether a call came through; the seconds to wait when it did not. */
async function outcome(admit: () => Promise<void> | null): Promise<'admitted' | number> {
  try {
    await admit()
    return 'admitted'
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'rate-limited') throw error
    return error.retryAfter!
  }
}

test('calls that come while the bank is asked are one question', async (t) => {
  const bank = new HeldBank()
  const limiter = new RateLimiter(bank, new FakeClock())
  const calls = Array.from({ length: 5 }, () => outcome(() => limiter.admit('a')))
  t.strictSame(
    bank.asked.map(({ wanted }) => wanted),
    [1],
  )
  bank.asked[0]!.answer({ granted: 2, emptyForMs: 0 })
  t.strictSame(await Promise.all(calls.slice(0, 2)), ['admitted', 'admitted'])
  t.equal(bank.asked[1]?.wanted, 3)
  bank.asked[1]!.answer({ granted: 1, emptyForMs: 2_500 })
  t.strictSame(await Promise.all(calls.slice(2)), ['admitted', 3, 3])
})

test('tokens in hand let calls through at once, for a tenth of a second', async (t) => {
  const bank = new HeldBank()
  const clock = new FakeClock()
  const limiter = new RateLimiter(bank, clock)
  const first = outcome(() => limiter.admit('a'))
  bank.asked[0]!.answer({ granted: 4, emptyForMs: 0 })
  t.equal(await first, 'admitted')
  t.equal(limiter.admit('a'), null)
  clock.advance(99)
  t.equal(limiter.admit('a'), null)
  clock.advance(1)
  t.not(limiter.admit('a'), null, 'the last one has gone stale')
  t.equal(bank.asked.length, 2)
})

test('an empty bucket is not asked again before it can have a token', async (t) => {
  const bank = new HeldBank()
  const clock = new FakeClock()
  const limiter = new RateLimiter(bank, clock)
  const first = outcome(() => limiter.admit('a'))
  bank.asked[0]!.answer({ granted: 0, emptyForMs: 800 })
  t.equal(await first, 1)
  clock.advance(799)
  t.equal(await outcome(() => limiter.admit('a')), 1)
  t.equal(bank.asked.length, 1)
  void outcome(() => limiter.admit('b'))
  t.equal(bank.asked.length, 2, 'another name is another bucket')
  clock.advance(1)
  void outcome(() => limiter.admit('a'))
  t.equal(bank.asked.length, 3)
})

test('a slow refill is told as it is and asked for again after a second', async (t) => {
  const bank = new HeldBank()
  const clock = new FakeClock()
  const limiter = new RateLimiter(bank, clock)
  const first = outcome(() => limiter.admit('a'))
  bank.asked[0]!.answer({ granted: 0, emptyForMs: 60_000 })
  t.equal(await first, 60)
  clock.advance(999)
  t.equal(await outcome(() => limiter.admit('a')), 60)
  clock.advance(1)
  void outcome(() => limiter.admit('a'))
  t.equal(bank.asked.length, 2)
})

test('several limiters at one bank stay within its rule, whichever of them the calls meet', async (t) => {
  const clock = new FakeClock()
  const bank = new TokenBank({ perMinute: 600, burst: 100 }, clock)
  const limiters = [new RateLimiter(bank, clock), new RateLimiter(bank, clock)]
  const calls = Array.from({ length: 400 }, (_, n) =>
    outcome(() => limiters[n % 7 === 0 ? 1 : 0]!.admit('a')),
  )
  const admitted = (await Promise.all(calls)).filter((each) => each === 'admitted').length
  t.ok(admitted <= 100 && admitted >= 97, `${admitted}`)
  let later = 0
  for (let ms = 0; ms < 20_000; ms += 20) {
    clock.advance(20)
    if ((await outcome(() => limiters[ms % 3 === 0 ? 1 : 0]!.admit('a'))) === 'admitted') later++
  }
  t.ok(later <= 201 && later >= 190, `${later} in 20 s`)
})
