import { test } from 'tap'
import { DecayingHistogram, UptimeRecord } from '../../../src/gateway/health/endpoint-health.js'
import { type CallPermit, HealthRegistry, REFUSED } from '../../../src/gateway/health/health-registry.js'
import type { ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import { openBreakerOf, recordFailedCall, recordServedCall } from '../../support/providers/routing.js'
import { CALLER, catalogOf, failure, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const ENDPOINT = catalogOf({ 'm/one': [{ slug: 'a' }] }, () => new ScriptedProvider()).models[0]!
  .endpoints[0]!

/** One process that is alone. */
function alone(clock = new FakeClock()): HealthRegistry {
  return new HealthRegistry({ clock, random: () => 0, broadcast: null })
}

/** Two processes that tell each other everything at once. */
function pair(clock: FakeClock): [HealthRegistry, HealthRegistry] {
  const registries: HealthRegistry[] = [0, 1].map(
    (at) =>
      new HealthRegistry({
        clock,
        random: () => 0,
        broadcast: (update) =>
          registries[1 - at]!.applyPeerUpdate(update, at === 0 ? 'before-us' : 'after-us'),
      }),
  )
  return registries as [HealthRegistry, HealthRegistry]
}

/** Two of them, of which the first has opened the breaker so long ago. */
function opened(msAgo: number): { clock: FakeClock; first: HealthRegistry; second: HealthRegistry } {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  openBreakerOf(first, ENDPOINT)
  clock.advance(msAgo)
  return { clock, first, second }
}

function limited(retryAfter: number): ProviderFailure {
  const failed = failure('rate-limited', 'refused', 429)
  return { ...failed, fault: Object.assign(failed.fault, { retryAfter }) }
}

test('a breaker that opens in one process is open in the other, and closes with it', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  openBreakerOf(first, ENDPOINT)
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  clock.advance(1000)
  const probe = first.tryAcquire(ENDPOINT, CALLER.organizationId)
  t.not(probe, REFUSED, 'whoever opened it probes')
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  first.recordAnswer(ENDPOINT, probe, 5)
  t.not(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
})

test('a slow probe of one process keeps the other from probing, until it has told how it ended', async (t) => {
  const { clock, first, second } = opened(1000)
  const probe = first.tryAcquire(ENDPOINT, CALLER.organizationId)
  clock.advance(30_000)
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED, 'one call at a time, over both')
  first.recordFailure(ENDPOINT, probe, failure('provider-timeout', 'maybe-processed', 0))
  clock.advance(2000)
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  t.not(first.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
})

test('a probe that its caller leaves is followed by another one, soon here and later there', async (t) => {
  const { clock, first, second } = opened(1000)
  first.recordAbort(ENDPOINT, first.tryAcquire(ENDPOINT, CALLER.organizationId), false)
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  clock.advance(3000)
  t.not(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED, 'the first has no calls')
  t.equal(first.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED, 'and knows that the second tries')
})

test('a probe that meets a limit closes the breaker: whoever says that it is busy is there', async (t) => {
  const { first, second } = opened(1000)
  first.recordFailure(
    ENDPOINT,
    first.tryAcquire(ENDPOINT, CALLER.organizationId),
    failure('rate-limited', 'refused', 429),
  )
  for (const health of [first, second]) t.not(health.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
})

test('a breaker whose process has died is probed by another one later', async (t) => {
  const { clock, second } = opened(2999)
  t.equal(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  clock.advance(1)
  t.not(second.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
})

const BLAMELESS = [
  ['the caller’s own mistake', failure('bad-request', 'refused', 400)],
  ['a request that is too large', failure('payload-too-large', 'refused', 413)],
  ['our own limit of connections', failure('unavailable', 'not-sent', 0)],
] as const

for (const [what, failed] of BLAMELESS) {
  test(`${what} never opens a breaker`, async (t) => {
    const health = alone()
    for (let failures = 0; failures < 100; failures++) {
      const permit = health.tryAcquire(ENDPOINT, CALLER.organizationId)
      t.not(permit, REFUSED)
      health.recordFailure(ENDPOINT, permit, failed)
    }
  })
}

test('a rate limit cools an endpoint instead of opening its breaker', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  const asked = limited(2)
  for (let failures = 0; failures < 100; failures++) {
    first.recordFailure(ENDPOINT, first.tryAcquire(ENDPOINT, CALLER.organizationId), asked)
  }
  for (const health of [first, second]) {
    t.equal(health.of(ENDPOINT).state(health.now()), 'cooling')
    t.not(health.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  }
  clock.advance(2000)
  t.equal(second.of(ENDPOINT).state(second.now()), 'closed')
})

test('what one process measures the other knows a second later', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  for (let ms = 1; ms <= 100; ms++) recordServedCall(first, ENDPOINT, ms, 50)
  recordFailedCall(first, ENDPOINT)
  t.equal(second.of(ENDPOINT).latency.quantile(0.5, clock.monotonicMs()), null)
  clock.advance(1000)
  const now = clock.monotonicMs()
  for (const health of [first, second]) {
    t.ok(Math.abs(health.of(ENDPOINT).latency.quantile(0.5, now)! - 50) < 5)
    t.ok(Math.abs(health.of(ENDPOINT).latency.quantile(0.99, now)! - 99) < 9)
    t.ok(Math.abs(health.of(ENDPOINT).throughput.quantile(0.5, now)! - 50) < 5)
    t.equal(health.of(ENDPOINT).uptime.percent(now, 5), 99.01)
  }
  clock.advance(5000)
  t.equal(clock.pending, 0, 'nothing is told while nothing happens')
})

test('a limit that is met a thousand times in a second is told a few times', async (t) => {
  const clock = new FakeClock()
  let told = 0
  const health = new HealthRegistry({ clock, random: () => 0, broadcast: () => told++ })
  const asked = limited(1)
  for (let call = 0; call < 1000; call++) {
    health.recordFailure(ENDPOINT, health.tryAcquire(ENDPOINT, CALLER.organizationId), asked)
    clock.advance(1)
  }
  t.ok(told >= 2 && told <= 5, `${told} times`)
})

test('uptime counts a call once: one that broke off has failed, one that its caller left has not', async (t) => {
  const clock = new FakeClock()
  const health = alone(clock)
  const begun = (): CallPermit => {
    const permit = health.tryAcquire(ENDPOINT, CALLER.organizationId)
    health.recordAnswer(ENDPOINT, permit, 5)
    return permit
  }
  health.recordFailure(ENDPOINT, begun(), failure('provider-failed', 'maybe-processed', 200))
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 0)
  health.recordAbort(ENDPOINT, begun(), true)
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 50)
  health.recordAbort(ENDPOINT, health.tryAcquire(ENDPOINT, CALLER.organizationId), false)
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 50, 'who left before an answer says nothing')
})

test('what is known of endpoints that are gone is forgotten; the others keep theirs', async (t) => {
  const health = alone()
  openBreakerOf(health, ENDPOINT)
  health.keepOnly(new Set([ENDPOINT.key]))
  t.equal(health.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
  health.keepOnly(new Set())
  t.not(health.tryAcquire(ENDPOINT, CALLER.organizationId), REFUSED)
})

test('an answer of ten minutes is told from one of half a minute', async (t) => {
  const histogram = new DecayingHistogram(0)
  histogram.record(600_000, 0)
  t.ok(Math.abs(histogram.quantile(0.5, 0)! / 600_000 - 1) < 0.05)
})

test('a histogram forgets: after an hour of other values the old ones hardly count', async (t) => {
  const histogram = new DecayingHistogram(0)
  for (let call = 0; call < 1000; call++) histogram.record(10, 0)
  const later = 3_600_000
  for (let call = 0; call < 20; call++) histogram.record(1000, later)
  t.ok(histogram.quantile(0.5, later)! > 900)
  t.equal(histogram.quantile(0.5, later + 24 * 3_600_000), null, 'nothing of late is known')
})

test('uptime counts the minutes that are asked for, and forgets a day', async (t) => {
  const minute = 60_000
  const uptime = new UptimeRecord()
  uptime.record(0, 0, 1)
  uptime.record(10 * minute, 3, 0)
  t.equal(uptime.percent(10 * minute, 5), 100)
  t.equal(uptime.percent(10 * minute, 30), 75)
  t.equal(uptime.percent(10 * minute + 1441 * minute, 1440), null)
})

/** Enters and leaves no trace: whether a caller is let in. */
function isLetIn(health: HealthRegistry, caller: string): boolean {
  const permit = health.tryAcquire(ENDPOINT, caller)
  if (permit !== REFUSED) health.recordAbort(ENDPOINT, permit, false)
  return permit !== REFUSED
}

const PROVOKED = [
  ['answers of 500', failure('provider-failed', 'refused', 500)],
  ['timeouts', failure('provider-timeout', 'maybe-processed', 0)],
  ['broken answers', failure('provider-failed', 'maybe-processed', 200)],
] as const

for (const [what, failed] of PROVOKED) {
  test(`${what} of one caller shut that caller out, in every process, and nobody else`, async (t) => {
    const clock = new FakeClock()
    const [first, second] = pair(clock)
    for (let call = 0; call < 200; call++) {
      const permit = first.tryAcquire(ENDPOINT, 'org-bad')
      if (permit !== REFUSED) first.recordFailure(ENDPOINT, permit, failed)
      recordServedCall(first, ENDPOINT, 5, 0, 'org-good')
    }
    for (const health of [first, second]) {
      t.notOk(isLetIn(health, 'org-bad'))
      t.ok(isLetIn(health, 'org-good'))
      t.equal(health.of(ENDPOINT).state(clock.monotonicMs(), 'org-bad'), 'open')
      t.equal(health.of(ENDPOINT).state(clock.monotonicMs()), 'closed')
    }
    clock.advance(1000)
    recordServedCall(first, ENDPOINT, 5, 0, 'org-bad')
    for (const health of [first, second]) t.ok(isLetIn(health, 'org-bad'), 'answered again')
  })
}

test('a thousand failures of one caller and few of another open it for nobody else', async (t) => {
  const health = alone()
  const begun = Array.from({ length: 1000 }, () => health.tryAcquire(ENDPOINT, 'org-bad'))
  for (const permit of begun) health.recordFailure(ENDPOINT, permit, PROVOKED[0][1])
  for (let call = 0; call < 4; call++) recordFailedCall(health, ENDPOINT, 'org-unlucky')
  t.ok(isLetIn(health, 'org-good'))
})

test('failures of several callers open it for everybody: those of the one that has most are left out', async (t) => {
  const [first, second] = pair(new FakeClock())
  recordFailedCall(first, ENDPOINT, 'org-0')
  for (let call = 0; call < 4; call++) recordFailedCall(first, ENDPOINT, `org-${call}`)
  t.ok(isLetIn(first, 'org-good'), 'three without those of org-0')
  for (const caller of ['org-1', 'org-2']) recordFailedCall(first, ENDPOINT, caller)
  for (const health of [first, second]) t.notOk(isLetIn(health, 'org-good'))
})

test('of a window half must have failed without the caller that fails most', async (t) => {
  const health = alone()
  const serve = (): void => recordServedCall(health, ENDPOINT, 5, 0, 'org-good')
  const fail = (caller: string): void => {
    // Of calls that began before the caller's own breaker could open.
    health.recordFailure(ENDPOINT, { caller, shared: 1, own: 1 }, PROVOKED[0][1])
  }
  for (let round = 0; round < 200; round++) {
    fail('org-bad')
    serve()
    fail('org-bad')
  }
  t.ok(isLetIn(health, 'org-good'))
  for (let round = 0; round < 200; round++) {
    for (let caller = 0; caller < 4; caller++) fail(`org-${caller}`)
    serve()
  }
  t.notOk(isLetIn(health, 'org-good'))
})

test('connections that fail open it for everybody, whoever called', async (t) => {
  const [first, second] = pair(new FakeClock())
  openBreakerOf(first, ENDPOINT)
  for (const health of [first, second]) t.notOk(isLetIn(health, 'org-good'))
})

test('a simulated endpoint refuses connections for those who ask it to, and for nobody else', async (t) => {
  const health = alone()
  const simulated = { ...ENDPOINT, simulation: {} }
  openBreakerOf(health, simulated)
  t.equal(health.tryAcquire(simulated, CALLER.organizationId), REFUSED)
  t.not(health.tryAcquire(simulated, 'org-good'), REFUSED)
})

test('a caller that keeps failing is not the probe of the others, yet its answer opens the way for all', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  for (const caller of ['org-bad', 'org-worse'])
    for (let call = 0; call < 5; call++) recordFailedCall(first, ENDPOINT, caller)
  t.notOk(isLetIn(first, 'org-good'))
  clock.advance(1000)
  const probe = first.tryAcquire(ENDPOINT, 'org-bad')
  t.not(probe, REFUSED, 'it tries for itself')
  t.ok(isLetIn(first, 'org-good'), 'and takes nobody the place of a probe')
  first.recordFailure(ENDPOINT, probe, PROVOKED[0][1])
  t.ok(isLetIn(first, 'org-good'), 'nor is the pause of the others longer for it')
  t.notOk(isLetIn(first, 'org-bad'))
  clock.advance(2000)
  recordServedCall(first, ENDPOINT, 5, 0, 'org-bad')
  for (const health of [first, second]) t.not(health.tryAcquire(ENDPOINT, 'org-good'), REFUSED)
  t.not(first.tryAcquire(ENDPOINT, 'org-good'), REFUSED, 'more than one at a time')
})

test('a caller that goes on failing as the probe of all has a breaker of its own soon', async (t) => {
  const clock = new FakeClock()
  const health = alone(clock)
  openBreakerOf(health, ENDPOINT)
  let probes = 0
  for (let second = 0; second < 600; second++) {
    clock.advance(1000)
    const permit = health.tryAcquire(ENDPOINT, 'org-bad')
    if (permit === REFUSED) continue
    if (permit.shared !== 0) probes++
    health.recordFailure(ENDPOINT, permit, PROVOKED[0][1])
  }
  t.equal(probes, 5)
  t.ok(isLetIn(health, 'org-good'))
})

test('of many callers that fail the one that failed longest ago is forgotten', async (t) => {
  const health = alone()
  for (let call = 0; call < 5; call++) recordFailedCall(health, ENDPOINT, 'org-0')
  t.notOk(isLetIn(health, 'org-0'))
  for (let caller = 1; caller <= 64; caller++) {
    recordFailedCall(health, ENDPOINT, `org-${caller}`)
    for (let call = 0; call < 2; call++) recordServedCall(health, ENDPOINT, 5, 0, 'org-good')
  }
  t.equal(health.of(ENDPOINT).breakerOf('org-0'), undefined)
  t.ok(isLetIn(health, 'org-0'))
})

test('silence counts as latency, and a failure that came at once does not', async (t) => {
  const health = alone()
  const timeout = failure('provider-timeout', 'maybe-processed', 0)
  for (let calls = 0; calls < 20; calls++) {
    health.recordFailure(ENDPOINT, health.tryAcquire(ENDPOINT, CALLER.organizationId), timeout, 4_000)
    const reset = failure('provider-failed', 'maybe-processed', 0)
    health.recordFailure(ENDPOINT, health.tryAcquire(ENDPOINT, CALLER.organizationId), reset, 5)
  }
  const median = health.of(ENDPOINT).latency.quantile(0.5, health.now())!
  t.ok(Math.abs(median - 4_000) < 400, String(median))
})
