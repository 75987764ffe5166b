import { test } from 'tap'
import type { RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { explainRouting } from '../../../src/gateway/routing/explain.js'
import type { RoutingState } from '../../../src/gateway/routing/plan.js'
import { openBreakerOf, recordServedCall, routingState } from '../../support/providers/routing.js'
import { CALLER, catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const provider = new ScriptedProvider()
const CATALOG = catalogOf(
  {
    'm/one': [
      { slug: 'dear', prices: { ...PRICES, prompt: 9e9 } },
      { slug: 'cheap', upstreamModel: 'theirs' },
      { slug: 'keeper', collectsData: true },
    ],
  },
  () => provider,
)

const explain = (
  request: Partial<RoutedRequest> = {},
  at: RoutingState = routingState(new FakeClock()),
  catalog = CATALOG,
) => explainRouting(catalog, { model: 'm/one', ...request }, CALLER, producesText, at)

test('every endpoint is told, with its place and the reasons for it, and nobody is called', async (t) => {
  const at = routingState(new FakeClock())
  const [dear] = CATALOG.models[0]!.endpoints
  openBreakerOf(at.health, dear!)
  recordServedCall(at.health, CATALOG.models[0]!.endpoints[1]!, 100)
  t.match(explain({ provider: { data_collection: 'deny' }, service_tier: 'fast' }, at), {
    requested: 'm/one',
    total: 3,
    endpoints: [
      {
        position: 1,
        slug: 'cheap',
        upstream_model: 'theirs',
        state: 'closed',
        price: 3,
        latency_ms: Number,
        tokens_per_second: null,
        service_tier: 'priority',
        why: ['weight by price: 1'],
      },
      { position: 2, slug: 'dear', state: 'open', why: ['its breaker is open', /^weight by price: 0\.\d+$/] },
    ],
    excluded: [{ slug: 'keeper', why: 'collects data' }],
  })
  t.equal(provider.calls.length, 0)
})

test('a model with a single endpoint is explained as well', async (t) => {
  const single = catalogOf({ 'm/two': [{ slug: 'a' }] }, () => provider)
  const told = explain({ model: 'm/two' }, undefined, single)
  t.equal(told.endpoints.length, 1)
  t.equal(told.endpoints[0]!.position, 1)
})

test('a session says that it stays', async (t) => {
  const told = explain({ session_id: 's' })
  t.same(told.endpoints[0]!.why, ['the session stays with it'])
})

test('who asks why does not move a session, and is told where it would go', async (t) => {
  const at = routingState(new FakeClock())
  const ask = (state: RoutingState = at): string => explain({ session_id: 's' }, state).endpoints[0]!.slug
  const home = ask()
  openBreakerOf(at.health, CATALOG.models[0]!.endpoints.find(({ provider: { slug } }) => slug === home)!)
  t.not(ask(), home)
  const fresh = routingState(new FakeClock())
  t.equal(ask({ ...fresh, sessions: at.sessions }), home, 'it is at home again as soon as that is well')
})

test('the caller’s order and a wanted tier are among the reasons', async (t) => {
  const endpoints = [{ slug: 'a', serviceTiers: new Set(['ultrafast']) }, { slug: 'b' }]
  const catalog = catalogOf({ 'm/one': endpoints }, () => provider)
  const told = explain({ service_tier: 'ultrafast', provider: { order: ['b'] } }, undefined, catalog)
  t.same(
    told.endpoints.map(({ slug, why }) => [slug, why]),
    [
      ['b', ['place 1 of provider.order']],
      ['a', ['not in provider.order', 'has the tier ultrafast']],
    ],
  )
})

test('wishes are told by name, with what was measured', async (t) => {
  const at = routingState(new FakeClock())
  recordServedCall(at.health, CATALOG.models[0]!.endpoints[0]!, 3000)
  const told = explain({ provider: { sort: 'latency', preferred_max_latency: 1 } }, at)
  t.match(told.endpoints.at(-1), {
    slug: 'dear',
    why: ['slower than preferred_max_latency', /^median latency in ms: \d+/],
  })
  t.match(told.endpoints[0]!.why, ['median latency in ms: not measured'])
})
