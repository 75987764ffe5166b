import { test } from 'tap'
import { Breaker } from '../../../src/gateway/health/breaker.js'

/** Fails until it opens; says how many failures that took. */
function open(breaker: Breaker, now: number): number {
  for (let failures = 1; failures <= 100; failures++) {
    breaker.enter(now)
    if (breaker.failed(now, 0, 0)) return failures
  }
  return Number.POSITIVE_INFINITY
}

test('it opens after five failures in a row, and refuses from then on', async (t) => {
  const breaker = new Breaker()
  t.equal(open(breaker, 0), 5)
  t.equal(breaker.state(0), 'open')
  t.notOk(breaker.enter(999))
})

test('it opens when half of at least twenty calls of the window fail, however mixed', async (t) => {
  const breaker = new Breaker()
  let opened = 0
  for (let call = 1; call <= 40 && opened === 0; call++) {
    if (call % 2 === 1) breaker.succeeded(call)
    else if (breaker.failed(call, 0, 0)) opened = call
  }
  t.equal(opened, 20)
})

test('failures of an earlier window are forgotten', async (t) => {
  const breaker = new Breaker()
  for (let call = 0; call < 9; call++) {
    breaker.failed(call, 0, 0)
    breaker.succeeded(call)
  }
  t.notOk(breaker.failed(20_000, 0, 0), 'the window has passed')
})

test('after its pause one call at a time tries; its success closes', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  t.equal(breaker.state(1000), 'half-open')
  t.ok(breaker.enter(1000))
  t.notOk(breaker.enter(1000), 'one at a time')
  t.ok(breaker.succeeded(1010), 'says that it has closed')
  t.ok(breaker.enter(1011))
  t.ok(breaker.enter(1011))
})

test('each failed probe doubles the pause, up to a minute', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  let now = 0
  const pauses: number[] = []
  for (let probe = 0; probe < 8; probe++) {
    const pause = breaker.waitMs(now)
    pauses.push(pause)
    now += pause
    t.ok(breaker.enter(now))
    t.ok(breaker.failed(now, 0, 0))
  }
  t.same(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

test('a failure of a call that began before it opened changes nothing', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  t.notOk(breaker.failed(10, 0, 0))
  t.equal(breaker.waitMs(10), 990)
})

test('a wish of the provider is the least pause', async (t) => {
  const breaker = new Breaker()
  for (let failures = 0; failures < 5; failures++) breaker.failed(0, 0, 7000)
  t.equal(breaker.waitMs(0), 7000)
})

test('a probe that says nothing leaves its place to the next', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  t.ok(breaker.enter(1000))
  breaker.abandoned()
  t.ok(breaker.enter(1000))
})

test('of two that opened it the one that yields leaves the probing to the other', async (t) => {
  const [keeps, yields] = [new Breaker(), new Breaker()]
  open(keeps, 0)
  open(yields, 0)
  keeps.openedElsewhere(0, 3000, false)
  yields.openedElsewhere(0, 3000, true)
  t.ok(keeps.enter(1000))
  t.notOk(yields.enter(1000))
  t.ok(yields.enter(3000), 'the other seems to be gone')
})
