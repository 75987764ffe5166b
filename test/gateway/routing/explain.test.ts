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

/** A merge patch as a caller applies it (RFC 7396), written for this test alone. */
function applied(value: unknown, patch: object): object {
  const made: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {}
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) delete made[name]
    else
      made[name] = typeof change === 'object' && !Array.isArray(change) ? applied(made[name], change) : change
  }
  return made
}

const CHOICES = catalogOf(
  {
    'm/one': [
      { slug: 'dear', prices: { ...PRICES, prompt: 9e9 }, quantization: 'fp16' },
      {
        ...{ slug: 'cheap', quantization: 'int8', zeroDataRetention: true },
        supportedParameters: new Set(['tools', 'tool_choice', 'temperature']),
      },
      { slug: 'keeper', collectsData: true },
      { slug: 'plain', supportedParameters: new Set<string>() },
    ],
    'm/two': [{ slug: 'other' }, { slug: 'cheap', prices: { ...PRICES, prompt: 1 } }],
  },
  () => provider,
)

const TOOL = { type: 'function', function: { name: 'f', parameters: {} } }

const WISHES: readonly object[] = [
  {},
  { provider: { sort: 'price' } },
  { provider: { sort: 'latency' } },
  { provider: { order: ['keeper', 'cheap'] } },
  { provider: { only: ['dear'] } },
  { provider: { ignore: ['cheap', 'plain'] } },
  { provider: { data_collection: 'deny' } },
  { provider: { zdr: true, data_collection: 'deny' } },
  { provider: { quantizations: ['int8'] } },
  { provider: { max_price: { prompt: 2 } } },
  { provider: { allow_fallbacks: false, sort: 'price' } },
  { provider: { only: ['cheap'], quantizations: ['int8'], max_price: { prompt: 5 } } },
  { provider: { require_parameters: true }, ...{ messages: [], temperature: 1 } },
  { ...{ messages: [], tools: [TOOL], tool_choice: 'required' } },
  { model: 'm/one', models: ['m/two'] },
  { models: ['m/two', 'm/one'], provider: { sort: 'price' } },
  { models: ['m/two', 'm/one'], provider: { sort: { by: 'price', partition: 'none' } } },
]

test('what is said to change the place of an endpoint does so when the request is changed', async (t) => {
  const at = routingState(new FakeClock())
  let told = 0
  for (const wishes of WISHES) {
    const request = { model: 'm/one', ...wishes }
    const { endpoints, excluded } = explain(request, at, CHOICES)
    t.same(endpoints[0]!.would_change, [], 'the first has its place')
    for (const { tag, model, would_change } of endpoints) {
      for (const { says, request: patch } of would_change) {
        told++
        const [first] = explain(applied(request, patch), at, CHOICES).endpoints
        t.match(first, { tag, model, probability: null }, `${JSON.stringify(request)}: ${says}`)
      }
    }
    for (const { tag, model, why, would_change } of excluded) {
      t.equal(would_change.length, 1, `${JSON.stringify(request)} has ${tag} excluded: ${why}`)
      for (const { says, request: patch } of would_change) {
        told++
        const { endpoints: planned } = explain(applied(request, patch), at, CHOICES)
        const isThere = planned.some((each) => each.tag === tag && each.model === model)
        t.ok(isThere, `${JSON.stringify(request)}: ${says}`)
      }
    }
  }
  t.ok(told > 40)
})

test('a change is told in the words of the request, and as a merge patch on it', async (t) => {
  const request = { provider: { only: ['dear'], data_collection: 'deny', max_price: { prompt: 1 } } } as const
  const { excluded } = explain(
    { provider: { ...request.provider, only: ['dear', 'cheap'], max_price: { prompt: 9 } } },
    undefined,
    CHOICES,
  )
  t.match(excluded.find(({ slug }) => slug === 'keeper')!.would_change, [
    {
      says: 'provider.only names keeper, and provider.data_collection is allow',
      request: { provider: { only: ['dear', 'cheap', 'keeper'], data_collection: 'allow' } },
    },
  ])
})

test('a wish that leaves endpoints alike is not told, though their order in the configuration would do', async (t) => {
  const alike = catalogOf({ 'm/one': [{ slug: 'a' }, { slug: 'b' }] }, () => provider)
  const { endpoints } = explain({ provider: { order: ['b'] } }, undefined, alike)
  t.match(endpoints[1], { slug: 'a', would_change: [{ says: 'provider.order begins with a' }] })
  t.equal(endpoints[1]!.would_change.length, 1, 'neither price nor speed tells the two apart')
})

test('no wish moves an endpoint in front of others whose breaker is open', async (t) => {
  const at = routingState(new FakeClock())
  const [dear] = CHOICES.models[0]!.endpoints
  openBreakerOf(at.health, dear!)
  const { endpoints } = explain({ provider: { sort: 'price' } }, at, CHOICES)
  const last = endpoints.at(-1)!
  t.match(last, { slug: 'dear', state: 'open', would_change: [] })
})

test('of a long plan only the first endpoints are told what would change their place', async (t) => {
  const slugs = Array.from({ length: 60 }, (_, at) => ({ slug: `p${at}` }))
  const long = catalogOf({ 'm/one': slugs }, () => provider)
  const { endpoints } = explain({ provider: { sort: 'price' } }, undefined, long)
  t.equal(endpoints.length, 60)
  t.equal(endpoints.filter(({ would_change }) => would_change.length > 0).length, 24)
})
