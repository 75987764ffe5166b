import fc from 'fast-check'
import { test } from 'tap'
import { Breaker, NO_PERMIT } from '../../../src/gateway/health/breaker.js'

/** A call that fails at once. */
function fail(breaker: Breaker, now: number, floorMs = 0): boolean {
  return breaker.recordFailure(breaker.tryAcquire(now), now, 0, floorMs)
}

/** A call that is answered at once. */
function serve(breaker: Breaker, now: number): boolean {
  const permit = breaker.tryAcquire(now)
  const closed = breaker.recordAnswer(permit)
  breaker.recordSuccess(permit, now)
  return closed
}

/** Fails until it opens; says how many failures that took. */
function open(breaker: Breaker, now: number): number {
  for (let failures = 1; failures <= 100; failures++) if (fail(breaker, now)) return failures
  return Number.POSITIVE_INFINITY
}

test('it opens after five failures in a row, and refuses from then on', async (t) => {
  const breaker = new Breaker()
  t.equal(open(breaker, 0), 5)
  t.equal(breaker.state(0), 'open')
  t.equal(breaker.tryAcquire(999), NO_PERMIT)
})

test('it opens when half of at least twenty calls of the window fail, however mixed', async (t) => {
  const breaker = new Breaker()
  let opened = 0
  for (let call = 1; call <= 40 && opened === 0; call++) {
    if (call % 2 === 1) serve(breaker, call)
    else if (fail(breaker, call)) opened = call
  }
  t.equal(opened, 20)
})

test('failures of an earlier window are forgotten', async (t) => {
  const breaker = new Breaker()
  for (let call = 0; call < 9; call++) {
    fail(breaker, call)
    serve(breaker, call)
  }
  t.notOk(fail(breaker, 20_000), 'the window has passed')
})

test('answers that all break off open it, although each had begun', async (t) => {
  const breaker = new Breaker()
  let opened = 0
  for (let call = 1; call <= 10 && opened === 0; call++) {
    const permit = breaker.tryAcquire(call)
    breaker.recordAnswer(permit)
    if (breaker.recordFailure(permit, call, 0, 0)) opened = call
  }
  t.equal(opened, 5)
})

test('after its pause one call at a time tries; its answer closes', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  t.equal(breaker.state(1000), 'half-open')
  const probe = breaker.tryAcquire(1000)
  t.not(probe, NO_PERMIT)
  t.ok(breaker.isProbe(probe))
  t.equal(breaker.tryAcquire(1000), NO_PERMIT, 'one at a time')
  t.ok(breaker.recordAnswer(probe), 'says that it has closed')
  t.not(breaker.tryAcquire(1011), NO_PERMIT)
  t.not(breaker.tryAcquire(1011), NO_PERMIT)
})

test('a probe whose answer breaks off later counts as a failure of the closed breaker', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  const probe = breaker.tryAcquire(1000)
  breaker.recordAnswer(probe)
  t.notOk(breaker.recordFailure(probe, 1001, 0, 0))
  for (let more = 0; more < 3; more++) t.notOk(fail(breaker, 1002))
  t.ok(fail(breaker, 1003), 'the fifth in a row')
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
    t.ok(fail(breaker, now))
  }
  t.same(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
})

/** What a call that began before the breaker opened may say in the end. */
const LATE = [
  ['fails', (breaker: Breaker, permit: number) => breaker.recordFailure(permit, 1001, 0, 0)],
  ['is answered', (breaker: Breaker, permit: number) => breaker.recordAnswer(permit)],
  ['is left by its caller', (breaker: Breaker, permit: number) => breaker.releaseProbe(permit)],
] as const

for (const [what, tell] of LATE) {
  test(`a call that began before it opened and ${what} changes nothing, also during a probe`, async (t) => {
    const breaker = new Breaker()
    const old = breaker.tryAcquire(0)
    open(breaker, 0)
    t.notOk(tell(breaker, old))
    t.equal(breaker.waitMs(10), 990)
    const probe = breaker.tryAcquire(1000)
    t.notOk(tell(breaker, old))
    t.equal(breaker.tryAcquire(1002), NO_PERMIT, 'the probe’s place is still taken')
    t.ok(breaker.recordAnswer(probe))
  })
}

test('what began before it opened says nothing against it when it has closed again', async (t) => {
  const breaker = new Breaker()
  const old = Array.from({ length: 50 }, () => breaker.tryAcquire(0))
  open(breaker, 0)
  serve(breaker, 1000)
  for (const permit of old) t.notOk(breaker.recordFailure(permit, 1001, 0, 0))
  t.equal(breaker.state(1001), 'closed')
})

test('a wish of the provider is the least pause', async (t) => {
  const breaker = new Breaker()
  for (let failures = 0; failures < 5; failures++) fail(breaker, 0, 7000)
  t.equal(breaker.waitMs(0), 7000)
})

test('a probe that says nothing leaves its place to the next', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  t.ok(breaker.releaseProbe(breaker.tryAcquire(1000)))
  t.ok(breaker.isProbe(breaker.tryAcquire(1000)))
})

test('a probe of which nothing is heard for two minutes blocks no longer, and has no say any more', async (t) => {
  const breaker = new Breaker()
  open(breaker, 0)
  const lost = breaker.tryAcquire(1000)
  t.equal(breaker.tryAcquire(120_999), NO_PERMIT)
  const next = breaker.tryAcquire(121_000)
  t.ok(breaker.isProbe(next))
  t.notOk(breaker.releaseProbe(lost))
  t.equal(breaker.tryAcquire(121_001), NO_PERMIT)
})

test('of two that opened it the one that yields leaves the probing to the other', async (t) => {
  const [keeps, yields] = [new Breaker(), new Breaker()]
  open(keeps, 0)
  open(yields, 0)
  keeps.openedByPeer(0, 3000, false)
  yields.openedByPeer(0, 3000, true)
  t.not(keeps.tryAcquire(1000), NO_PERMIT)
  t.equal(yields.tryAcquire(1000), NO_PERMIT)
  t.not(yields.tryAcquire(3000), NO_PERMIT, 'the other seems to be gone')
})

test('while another process tries it nobody else does, except who is already at it', async (t) => {
  const [waits, tries] = [new Breaker(), new Breaker()]
  for (const each of [waits, tries]) open(each, 0)
  const probe = tries.tryAcquire(1000)
  for (const each of [waits, tries]) each.probedByPeer(1000)
  t.equal(waits.tryAcquire(60_000), NO_PERMIT)
  t.equal(waits.waitMs(60_000), 0, 'it may be over any moment: nobody is told to wait for long')
  t.ok(tries.isProbe(probe))
  waits.closedByPeer()
  t.not(waits.tryAcquire(60_000), NO_PERMIT)
})

/** A call under way, as a model of the breaker's duties sees it. */
interface UnderWay {
  readonly permit: number
  readonly isProbe: boolean
}

test('whatever happens in whatever order: closed lets in, open does not, half-open lets one in', async (t) => {
  const step = fc.record({
    what: fc.constantFrom(
      'enter',
      'answered',
      'succeeded',
      'failed',
      'abandoned',
      'probing',
      'opened',
      'closed',
    ),
    which: fc.nat(20),
    ms: fc.integer({ min: 0, max: 3000 }),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const breaker = new Breaker()
      let calls: UnderWay[] = []
      let now = 0
      for (const { what, which, ms } of steps) {
        now += ms
        const before = breaker.state(now)
        if (what === 'enter') {
          const permit = breaker.tryAcquire(now)
          if (before === 'closed' && permit === NO_PERMIT) return false
          if (before === 'open' && permit !== NO_PERMIT) return false
          const isProbe = permit !== NO_PERMIT && breaker.isProbe(permit)
          if (isProbe !== (before === 'half-open' && permit !== NO_PERMIT)) return false
          if (permit !== NO_PERMIT) calls.push({ permit, isProbe })
        } else if (what === 'opened') breaker.openedByPeer(now, 100, which % 2 === 0)
        else if (what === 'probing') breaker.probedByPeer(now)
        else if (what === 'closed') breaker.closedByPeer()
        else {
          const call = calls[which % Math.max(1, calls.length)]
          if (call === undefined) continue
          const mayChange = breaker.isProbe(call.permit)
          if (what === 'answered' && breaker.recordAnswer(call.permit) !== mayChange) return false
          if (what === 'succeeded') breaker.recordSuccess(call.permit, now)
          if (
            what === 'failed' &&
            breaker.recordFailure(call.permit, now, 0, 0) &&
            before !== 'closed' &&
            !mayChange
          )
            return false
          if (what === 'abandoned' && breaker.releaseProbe(call.permit) !== mayChange) return false
          if (what !== 'answered') calls = calls.filter((each) => each !== call)
        }
        // Never two that try at a time, as far as this process has let them in.
        if (calls.filter(({ permit }) => breaker.isProbe(permit)).length > 1) return false
        if (breaker.waitMs(now) > 120_000) return false
      }
      return true
    }),
    { numRuns: 2000 },
  )
  t.pass()
})
