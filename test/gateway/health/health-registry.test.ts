import { test } from 'tap'
import { DecayingHistogram, UptimeRecord } from '../../../src/gateway/health/endpoint-health.js'
import { HealthRegistry, REFUSED } from '../../../src/gateway/health/health-registry.js'
import type { ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import { openBreakerOf, recordFailedCall, recordServedCall } from '../../support/providers/routing.js'
import { catalogOf, failure, ScriptedProvider } from '../../support/providers/scripted-provider.js'
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
        broadcast: (update) => registries[1 - at]!.applyPeerUpdate(update, at === 0),
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
  t.equal(second.tryAcquire(ENDPOINT), REFUSED)
  clock.advance(1000)
  const probe = first.tryAcquire(ENDPOINT)
  t.not(probe, REFUSED, 'whoever opened it probes')
  t.equal(second.tryAcquire(ENDPOINT), REFUSED)
  first.recordAnswer(ENDPOINT, probe, 5)
  t.not(second.tryAcquire(ENDPOINT), REFUSED)
})

test('a slow probe of one process keeps the other from probing, until it has told how it ended', async (t) => {
  const { clock, first, second } = opened(1000)
  const probe = first.tryAcquire(ENDPOINT)
  clock.advance(30_000)
  t.equal(second.tryAcquire(ENDPOINT), REFUSED, 'one call at a time, over both')
  first.recordFailure(ENDPOINT, probe, failure('provider-timeout', 'maybe-processed', 0))
  clock.advance(2000)
  t.equal(second.tryAcquire(ENDPOINT), REFUSED)
  t.not(first.tryAcquire(ENDPOINT), REFUSED)
})

test('a probe that its caller leaves is followed by another one, soon here and later there', async (t) => {
  const { clock, first, second } = opened(1000)
  first.recordAbort(ENDPOINT, first.tryAcquire(ENDPOINT), false)
  t.equal(second.tryAcquire(ENDPOINT), REFUSED)
  clock.advance(3000)
  t.not(second.tryAcquire(ENDPOINT), REFUSED, 'the first has no calls')
  t.equal(first.tryAcquire(ENDPOINT), REFUSED, 'and knows that the second tries')
})

test('a probe that meets a limit closes the breaker: whoever says that it is busy is there', async (t) => {
  const { first, second } = opened(1000)
  first.recordFailure(ENDPOINT, first.tryAcquire(ENDPOINT), failure('rate-limited', 'refused', 429))
  for (const health of [first, second]) t.not(health.tryAcquire(ENDPOINT), REFUSED)
})

test('a breaker whose process has died is probed by another one later', async (t) => {
  const { clock, second } = opened(2999)
  t.equal(second.tryAcquire(ENDPOINT), REFUSED)
  clock.advance(1)
  t.not(second.tryAcquire(ENDPOINT), REFUSED)
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
      const permit = health.tryAcquire(ENDPOINT)
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
    first.recordFailure(ENDPOINT, first.tryAcquire(ENDPOINT), asked)
  }
  for (const health of [first, second]) {
    t.equal(health.of(ENDPOINT).state(health.now()), 'cooling')
    t.not(health.tryAcquire(ENDPOINT), REFUSED)
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
    health.recordFailure(ENDPOINT, health.tryAcquire(ENDPOINT), asked)
    clock.advance(1)
  }
  t.ok(told >= 2 && told <= 5, `${told} times`)
})

test('uptime counts a call once: one that broke off has failed, one that its caller left has not', async (t) => {
  const clock = new FakeClock()
  const health = alone(clock)
  const begun = (): number => {
    const permit = health.tryAcquire(ENDPOINT)
    health.recordAnswer(ENDPOINT, permit, 5)
    return permit
  }
  health.recordFailure(ENDPOINT, begun(), failure('provider-failed', 'maybe-processed', 200))
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 0)
  health.recordAbort(ENDPOINT, begun(), true)
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 50)
  health.recordAbort(ENDPOINT, health.tryAcquire(ENDPOINT), false)
  t.equal(health.of(ENDPOINT).uptime.percent(health.now(), 5), 50, 'who left before an answer says nothing')
})

test('what is known of endpoints that are gone is forgotten; the others keep theirs', async (t) => {
  const health = alone()
  openBreakerOf(health, ENDPOINT)
  health.keepOnly(new Set([ENDPOINT.key]))
  t.equal(health.tryAcquire(ENDPOINT), REFUSED)
  health.keepOnly(new Set())
  t.not(health.tryAcquire(ENDPOINT), REFUSED)
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
