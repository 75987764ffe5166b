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

/** Of what would change a place: what a request can say. */
const patches = ({ would_change }: Pick<Endpoints[number], 'would_change'>) =>
  would_change.flatMap(({ says, request: patch }) => (patch === null ? [] : [{ says, patch }]))

type Endpoints = ReturnType<typeof explain>['endpoints']

/** The rest of it. */
const circumstances = ({ would_change }: Endpoints[number]) =>
  would_change.filter(({ request }) => request === null).map(({ says }) => says)

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
    t.same(patches(endpoints[0]!), [], 'the first has its place')
    for (const { tag, model, ...planned } of endpoints) {
      for (const { says, patch } of patches(planned)) {
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
  t.match(last, { slug: 'dear', state: 'open' })
  t.same(patches(last), [])
})

test('of a long plan only the first endpoints are told what would change their place', async (t) => {
  const slugs = Array.from({ length: 60 }, (_, at) => ({ slug: `p${at}` }))
  const long = catalogOf({ 'm/one': slugs }, () => provider)
  const { endpoints } = explain({ provider: { sort: 'price' } }, undefined, long)
  t.equal(endpoints.length, 60)
  t.equal(endpoints.filter((each) => patches(each).length > 0).length, 24)
})

const SORTED = { 'm/one': [{ slug: 'a', prices: { ...PRICES, prompt: 3e9 } }, { slug: 'b' }, { slug: 'c' }] }

/** Two endpoints, of which the second has that price for a prompt. */
const atPrices = (one: number, other: number) =>
  catalogOf(
    {
      'm/one': [
        { slug: 'a', prices: { ...PRICES, prompt: one, completion: 0 } },
        { slug: 'b', prices: { ...PRICES, prompt: other, completion: 0 } },
      ],
    },
    () => provider,
  )

const BY_PRICE = { provider: { sort: 'price' } } as const

test('the price that is told to turn two endpoints round does so, and not before', async (t) => {
  const dearer = 7e9
  const first = (one: number, other: number): string =>
    explain(BY_PRICE, undefined, atPrices(one, other)).endpoints[0]!.slug
  const { endpoints } = explain(BY_PRICE, undefined, atPrices(5e9, dearer))
  t.ok(circumstances(endpoints[0]!).includes('its price rises above 7 dollars per million tokens, that of b'))
  t.same(circumstances(endpoints[1]!), ['its price falls below 5 dollars per million tokens, that of a'])
  t.equal(first(dearer + 1, dearer), 'b')
  t.equal(first(dearer, dearer), 'a')
  t.equal(first(5e9, 5e9 - 1), 'b')
  t.equal(first(5e9, 5e9), 'a')
  const free = explain(BY_PRICE, undefined, atPrices(0, dearer)).endpoints
  t.same(circumstances(free[1]!), [], 'nothing is cheaper than nothing')
})

test('the speed that is told to turn two endpoints round does so, and not before', async (t) => {
  const catalog = catalogOf(SORTED, () => provider)
  const [a, b] = catalog.models[0]!.endpoints
  const twoOf = { only: ['a', 'b'] }
  /** As it is when the two were answered within so many milliseconds, at so many tokens a second. */
  const at = (times: readonly [number, number], speeds: readonly [number, number] = [10, 10]) => {
    const state = routingState(new FakeClock())
    recordServedCall(state.health, a!, times[0], speeds[0])
    recordServedCall(state.health, b!, times[1], speeds[1])
    return state
  }
  const figureIn = (says: string | undefined): number =>
    Number(/([\d.]+) (?:ms|tokens)/.exec(says ?? '')?.[1])
  const quick = { provider: { ...twoOf, sort: 'latency' } }
  const [near, far] = explain(quick, at([200, 900]), catalog).endpoints
  const lost = circumstances(near!).find((says) => says.startsWith('its median latency rises above'))
  const won = circumstances(far!)[0]
  t.match(won, /^its median latency falls below [\d.]+ ms, that of a$/)
  // A bucket of the figures is 9 % wide.
  t.equal(explain(quick, at([figureIn(lost) * 1.1, 900]), catalog).endpoints[0]!.slug, 'b')
  t.equal(explain(quick, at([figureIn(lost) / 1.1, 900]), catalog).endpoints[0]!.slug, 'a')
  t.equal(explain(quick, at([200, figureIn(won) / 1.1]), catalog).endpoints[0]!.slug, 'b')
  t.equal(explain(quick, at([200, figureIn(won) * 1.1]), catalog).endpoints[0]!.slug, 'a')
  const fast = { provider: { ...twoOf, sort: 'throughput' } }
  const slower = explain(fast, at([1, 1], [80, 20]), catalog).endpoints[1]!
  const [more] = circumstances(slower)
  t.match(more, /^its median speed rises above [\d.]+ tokens per second, that of a$/)
  t.equal(explain(fast, at([1, 1], [80, figureIn(more) * 1.1]), catalog).endpoints[0]!.slug, 'b')
  const wanted = { provider: { ...twoOf, preferred_max_latency: 0.5, sort: 'price' } }
  const cheap = catalogOf({ 'm/one': [SORTED['m/one'][0]!, { slug: 'b' }] }, () => provider)
  const [late, soon] = [at([100, 900]), at([100, 400])]
  t.same(circumstances(explain(wanted, late, cheap).endpoints[1]!), ['it is as quick as the request prefers'])
  t.equal(explain(wanted, soon, cheap).endpoints[0]!.slug, 'b')
})

test('the end of a rest is told to the second, and what comes of it', async (t) => {
  const clock = new FakeClock()
  const at = routingState(clock)
  const catalog = atPrices(1e9, 2e9)
  const [cheap, dear] = catalog.models[0]!.endpoints
  const told = explain(BY_PRICE, at, catalog).endpoints
  t.match(circumstances(told[0]!)[0], 'its breaker opens: b is tried first then')
  openBreakerOf(at.health, cheap!)
  const [, resting] = explain(BY_PRICE, at, catalog).endpoints
  t.match(resting, { slug: 'a', state: 'open' })
  const [says] = circumstances(resting!)
  const seconds = Number(/^calls may go there again, which is in (\d+) s$/.exec(says ?? '')?.[1])
  clock.advance(seconds * 1000)
  t.match(explain(BY_PRICE, at, catalog).endpoints[0], { slug: 'a', state: 'half-open' })
  const drawn = explain({}, at, catalog).endpoints[0]!
  t.same(circumstances(drawn), ['its breaker opens: another one is tried first then'])
  const anew = routingState(new FakeClock())
  openBreakerOf(anew.health, dear!)
  const [, last] = explain({}, anew, catalog).endpoints
  t.match(circumstances(last!), [/^calls may go there again, which is in \d+ s, and the draw falls on it$/])
  openBreakerOf(anew.health, cheap!)
  t.same(circumstances(explain(BY_PRICE, anew, catalog).endpoints[0]!), [
    'its price rises above 2 dollars per million tokens, that of b',
  ])
})
