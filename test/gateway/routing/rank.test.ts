import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { planFor, serviceTierFor } from '../../../src/gateway/routing/plan.js'
import {
  openBreakerOf,
  type RoutingStateParts,
  recordServedCall,
  routingState,
} from '../../support/providers/routing.js'
import { CALLER, catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const CATALOG = catalogOf(
  {
    'm/one': [
      { slug: 'a', serviceTiers: new Set(['default']) },
      { slug: 'b', serviceTiers: new Set(['default', 'priority']) },
      { slug: 'c', serviceTiers: new Set(['default', 'ultrafast']) },
    ],
    'm/three': [{ slug: 'a' }, { slug: 'b' }, { slug: 'c' }],
    'm/two': [{ slug: 'dear', prices: { ...PRICES, prompt: 4e9, completion: 2e9 } }, { slug: 'cheap' }],
  },
  () => new ScriptedProvider(),
)
const [a, b, c] = CATALOG.model('m/one')!.endpoints as [ModelEndpoint, ModelEndpoint, ModelEndpoint]

function slugs(more: Partial<ChatRequest>, at: RoutingStateParts = routingState(new FakeClock())): string[] {
  const request: ChatRequest = { model: 'm/one', messages: [{ role: 'user', content: 'x' }], ...more }
  return planFor(CATALOG, request, CALLER, producesText, at).endpoints.map(({ provider }) => provider.slug)
}

test('ultrafast prefers who has it, then priority, then the others', async (t) => {
  t.same(slugs({ service_tier: 'ultrafast' }), ['c', 'b', 'a'])
})

const UNKNOWN = { ...a, serviceTiers: null }

const TIERS = [
  ['fast', b, 'priority'],
  ['fast', UNKNOWN, 'priority'],
  ['ultrafast', c, 'ultrafast'],
  ['ultrafast', b, 'priority'],
  ['ultrafast', a, 'default'],
  ['ultrafast', UNKNOWN, 'priority'],
  ['flex', UNKNOWN, 'flex'],
  ['flex', a, 'flex'],
  ['default', a, 'default'],
  [null, a, undefined],
  [undefined, a, undefined],
] as const

for (const [asked, endpoint, expected] of TIERS) {
  const tiers = endpoint.serviceTiers === null ? 'unknown tiers' : [...endpoint.serviceTiers].join(' and ')
  test(`asked for ${asked}, an endpoint with ${tiers} is asked for ${expected}`, async (t) => {
    t.equal(serviceTierFor(asked, endpoint), expected)
  })
}

test('sorted by latency: the fastest first, whoever is not measured before them', async (t) => {
  const at = routingState(new FakeClock())
  recordServedCall(at.health, a, 300)
  recordServedCall(at.health, b, 100)
  t.same(slugs({ provider: { sort: 'latency' } }, at), ['c', 'b', 'a'])
  recordServedCall(at.health, c, 200)
  t.same(slugs({ provider: { sort: { by: 'latency' } } }, at), ['b', 'c', 'a'])
})

test('sorted by throughput: the most tokens per second first', async (t) => {
  const at = routingState(new FakeClock())
  recordServedCall(at.health, a, 1, 10)
  recordServedCall(at.health, b, 1, 100)
  recordServedCall(at.health, c, 1, 50)
  t.same(slugs({ provider: { sort: 'throughput' } }, at), ['b', 'c', 'a'])
})

test('who is known to be too slow stands behind, but is not excluded', async (t) => {
  const at = routingState(new FakeClock())
  recordServedCall(at.health, a, 3000)
  recordServedCall(at.health, b, 1, 10)
  t.same(slugs({ provider: { preferred_max_latency: 2 } }, at), ['b', 'c', 'a'])
  t.same(slugs({ provider: { preferred_min_throughput: { p50: 20 } } }, at), ['a', 'c', 'b'])
  t.same(slugs({ provider: { preferred_max_latency: { p90: 4 } } }, at), ['a', 'b', 'c'])
})

test('who is broken comes last, whatever else is asked', async (t) => {
  const at = routingState(new FakeClock())
  openBreakerOf(at.health, a)
  t.same(slugs({ provider: { order: ['a'] } }, at), ['b', 'c', 'a'])
  t.same(slugs({ session_id: 's' }, at).at(-1), 'a')
})

test('half the price gets four times the calls', async (t) => {
  const at = routingState(new FakeClock(), Math.random)
  let cheap = 0
  for (let call = 0; call < 5000; call++) if (slugs({ model: 'm/two' }, at)[0] === 'cheap') cheap++
  t.ok(cheap > 3800 && cheap < 4200, `${cheap} of 5000, 4000 expected`)
})

test('a session goes to one endpoint, another organization’s session of that name perhaps to another', async (t) => {
  const at = routingState(new FakeClock(), Math.random)
  const firsts = new Set<string>()
  for (let call = 0; call < 50; call++) firsts.add(slugs({ session_id: 'same' }, at)[0]!)
  t.equal(firsts.size, 1)
})

// Sessions and an endpoint that is being tried again: without calls of its own sessions nothing might ever try it.

const [a3, b3] = CATALOG.model('m/three')!.endpoints as [ModelEndpoint, ModelEndpoint]
const LONGER_THAN_A_PAUSE_MS = 2_000

function firstFor(session: string, at: RoutingStateParts): string {
  return slugs({ model: 'm/three', session_id: session }, at)[0]!
}

/** Names of sessions that live at the first endpoint. */
function atHome(): string[] {
  const names = Array.from({ length: 60 }, (_, at) => `session ${at}`)
  return names.filter((name) => firstFor(name, routingState(new FakeClock())) === 'a')
}

test('new sessions of an endpoint that is being tried again try it; while it is shut they do not', async (t) => {
  const clock = new FakeClock()
  const at = routingState(clock)
  const [early, late] = atHome() as [string, string]
  openBreakerOf(at.health, a3)
  t.not(firstFor(early, at), 'a')
  clock.advance(LONGER_THAN_A_PAUSE_MS)
  t.equal(at.health.of(a3).state(at.health.now()), 'half-open')
  t.equal(firstFor(late, at), 'a')
  t.not(firstFor(early, at), 'a', 'who has moved stays where it is')
})

test('no session moves to an endpoint that is being tried', async (t) => {
  const clock = new FakeClock()
  const at = routingState(clock)
  const home = atHome()
  openBreakerOf(at.health, b3)
  clock.advance(LONGER_THAN_A_PAUSE_MS)
  openBreakerOf(at.health, a3)
  t.equal(at.health.of(b3).state(at.health.now()), 'half-open')
  t.ok(home.length > 5)
  for (const name of home) t.equal(firstFor(name, at), 'c')
})
