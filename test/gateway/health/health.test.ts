import { test } from 'tap'
import { bucketOf, DecayingHistogram } from '../../../src/gateway/health/decaying-histogram.js'
import { Health, type HealthNews } from '../../../src/gateway/health/health.js'
import { Uptime } from '../../../src/gateway/health/uptime.js'
import { FakeClock } from '../../fixtures/fake-clock.js'
import { catalogOf, failure, ScriptedProvider } from '../../fixtures/scripted-provider.js'

const ENDPOINT = catalogOf({ 'm/one': [{ slug: 'a' }] }, () => new ScriptedProvider()).models[0]!
  .endpoints[0]!

/** Two processes that tell each other everything at once. */
function pair(clock: FakeClock): [Health, Health] {
  const tell = (to: () => Health, yields: boolean) => (news: HealthNews) => to().hear(news, yields)
  const first: Health = new Health({ clock, random: () => 0, tell: tell(() => second, true) })
  const second: Health = new Health({ clock, random: () => 0, tell: tell(() => first, false) })
  return [first, second]
}

function breakIt(health: Health): void {
  for (let failures = 0; failures < 5; failures++) {
    health.enter(ENDPOINT)
    health.failed(ENDPOINT, failure('provider-failed', 'refused', 500))
  }
}

test('a breaker that opens in one process is open in the other, and closes with it', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  breakIt(first)
  t.notOk(second.enter(ENDPOINT))
  clock.advance(1000)
  t.ok(first.enter(ENDPOINT), 'whoever opened it probes')
  t.notOk(second.enter(ENDPOINT))
  first.answered(ENDPOINT, 5)
  t.ok(second.enter(ENDPOINT))
})

test('a breaker whose process has died is probed by another one later', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  breakIt(first)
  clock.advance(2999)
  t.notOk(second.enter(ENDPOINT))
  clock.advance(1)
  t.ok(second.enter(ENDPOINT))
})

const BLAMELESS = [
  ['the caller’s own mistake', failure('bad-request', 'refused', 400)],
  ['a request that is too large', failure('payload-too-large', 'refused', 413)],
  ['our own limit of connections', failure('unavailable', 'not-sent', 0)],
] as const

for (const [what, failed] of BLAMELESS) {
  test(`${what} never opens a breaker`, async (t) => {
    const health = new Health({ clock: new FakeClock(), random: () => 0, tell: null })
    for (let failures = 0; failures < 100; failures++) {
      t.ok(health.enter(ENDPOINT))
      health.failed(ENDPOINT, failed)
    }
  })
}

test('a rate limit cools an endpoint instead of opening its breaker', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  const limited = failure('rate-limited', 'refused', 429)
  const asked = { ...limited, fault: Object.assign(limited.fault, { retryAfter: 2 }) }
  for (let failures = 0; failures < 100; failures++) first.failed(ENDPOINT, asked)
  for (const health of [first, second]) {
    t.equal(health.of(ENDPOINT).state(health.now()), 'cooling')
    t.ok(health.enter(ENDPOINT))
  }
  clock.advance(2000)
  t.equal(second.of(ENDPOINT).state(second.now()), 'closed')
})

test('what one process measures the other knows a second later', async (t) => {
  const clock = new FakeClock()
  const [first, second] = pair(clock)
  for (let ms = 1; ms <= 100; ms++) first.answered(ENDPOINT, ms)
  first.generated(ENDPOINT, 50, 1000)
  first.failed(ENDPOINT, failure('provider-failed', 'refused', 500))
  t.equal(second.of(ENDPOINT).latencyMs(0.5, clock.monotonicMs()), null)
  clock.advance(1000)
  const now = clock.monotonicMs()
  for (const health of [first, second]) {
    t.ok(Math.abs(health.of(ENDPOINT).latencyMs(0.5, now)! - 50) < 5)
    t.ok(Math.abs(health.of(ENDPOINT).latencyMs(0.99, now)! - 99) < 9)
    t.ok(Math.abs(health.of(ENDPOINT).throughput(0.5, now)! - 50) < 5)
    t.equal(health.of(ENDPOINT).uptime(now, 5), 99.01)
  }
  clock.advance(5000)
  t.equal(clock.pending, 0, 'nothing is told while nothing happens')
})

test('a histogram forgets: after an hour of other values the old ones hardly count', async (t) => {
  const histogram = new DecayingHistogram(0)
  for (let call = 0; call < 1000; call++) histogram.record(bucketOf(10), 0)
  const later = 3_600_000
  for (let call = 0; call < 20; call++) histogram.record(bucketOf(1000), later)
  t.ok(histogram.quantile(0.5, later)! > 900)
  t.equal(histogram.quantile(0.5, later + 24 * 3_600_000), null, 'nothing of late is known')
})

test('uptime counts the minutes that are asked for, and forgets a day', async (t) => {
  const minute = 60_000
  const uptime = new Uptime()
  uptime.record(0, 0, 1)
  uptime.record(10 * minute, 3, 0)
  t.equal(uptime.percent(10 * minute, 5), 100)
  t.equal(uptime.percent(10 * minute, 30), 75)
  t.equal(uptime.percent(10 * minute + 1441 * minute, 1440), null)
})
