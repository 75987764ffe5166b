/** Whatever a caller prefers: what a plan holds, and in which order. */
import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { ChatRequest, ProviderPreferences } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { newPlanTrace, planFor } from '../../../src/gateway/routing/plan.js'
import { openBreakerOf, recordServedCall, routingState } from '../../support/providers/routing.js'
import { CALLER, catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const SLUGS = ['a', 'b', 'c', 'd', 'e'] as const
const MODELS = ['m/one', 'm/two', 'm/three'] as const
const provider = new ScriptedProvider()

const endpoint = fc.record({
  slug: fc.constantFrom(...SLUGS),
  prices: fc.record({ prompt: fc.nat(9), completion: fc.nat(9) }).map((prices) => ({
    ...PRICES,
    prompt: prices.prompt * 1e9,
    completion: prices.completion * 1e9,
  })),
  quantization: fc.constantFrom(null, 'int8', 'fp16'),
  collectsData: fc.boolean(),
  zeroDataRetention: fc.boolean(),
  breaks: fc.boolean(),
  serviceTiers: fc.constantFrom(null, new Set(['default']), new Set(['ultrafast', 'priority'])),
})
const group = fc.uniqueArray(endpoint, { selector: ({ slug }) => slug, minLength: 1, maxLength: 5 })

const slugs = fc.option(fc.array(fc.constantFrom(...SLUGS), { maxLength: 4 }), { nil: null })
const cutoff = fc.constantFrom(0, 1, 500, { p50: 1 }, { p90: 2, p99: null }, {}, null)
const sortKey = fc.constantFrom('price', 'throughput', 'latency', 'exacto')
const preferences = fc.record(
  {
    order: slugs,
    only: slugs,
    ignore: slugs,
    allow_fallbacks: fc.constantFrom(true, false, null),
    data_collection: fc.constantFrom('allow' as const, 'deny' as const, null),
    zdr: fc.constantFrom(true, false, null),
    quantizations: fc.option(fc.subarray(['int8', 'fp16', 'unknown']), { nil: null }),
    sort: fc.oneof(
      sortKey,
      fc.record({ by: fc.option(sortKey, { nil: null }), partition: fc.constantFrom('model', 'none', null) }),
      fc.constant(null),
    ),
    max_price: fc.record(
      { prompt: fc.oneof(fc.nat(9), fc.nat(9).map(String)), completion: fc.nat(9) },
      { requiredKeys: [] },
    ),
    preferred_min_throughput: cutoff,
    preferred_max_latency: cutoff,
  },
  { requiredKeys: [] },
)
const request = fc.record(
  {
    provider: fc.option(preferences, { nil: null }),
    models: fc.uniqueArray(fc.constantFrom(...MODELS), { maxLength: 3 }),
    route: fc.constantFrom('fallback' as const, 'sort' as const, null),
    session_id: fc.constantFrom('', 's1', 's2'),
    service_tier: fc.constantFrom('ultrafast', 'fast', 'default', null),
  },
  { requiredKeys: [] },
)
const events = fc.array(fc.record({ at: fc.nat(20), what: fc.constantFrom('break', 'fast', 'slow') }), {
  maxLength: 8,
})

/** What the preferences leave, said once more and in other words. */
function isAllowed(each: ModelEndpoint, wishes: ProviderPreferences): boolean {
  const { slug } = each.provider
  const { max_price: most = {} } = wishes
  return (
    (wishes.only ?? [slug]).includes(slug) &&
    !(wishes.ignore ?? []).includes(slug) &&
    !(wishes.data_collection === 'deny' && each.collectsData) &&
    !(wishes.zdr === true && !each.zeroDataRetention) &&
    (wishes.quantizations ?? [each.quantization ?? 'unknown']).includes(each.quantization ?? 'unknown') &&
    each.prices.prompt <= Number(most.prompt ?? Infinity) * 1e9 &&
    each.prices.completion <= Number(most.completion ?? Infinity) * 1e9
  )
}

test('a plan holds exactly the endpoints that are allowed, each once, and explaining agrees', async (t) => {
  fc.assert(
    fc.property(
      fc.tuple(group, group, group),
      request,
      events,
      fc.nat(1000),
      (groups, wishes, happened, seed) => {
        const catalog = catalogOf(
          {
            'm/one': groups[0],
            'm/two': groups[1],
            'm/three': groups[2],
            'm/all': SLUGS.map((slug) => ({ slug })),
          },
          () => provider,
        )
        const asked = { model: 'm/one', messages: [{ role: 'user', content: 'x' }], ...wishes } as ChatRequest
        let draws = seed
        const at = routingState(
          new FakeClock(),
          () => (draws = (draws * 48_271 + 11) % 2_147_483_647) / 2_147_483_647,
        )
        const all = catalog.models.flatMap(({ endpoints }) => endpoints)
        for (const { at: which, what } of happened) {
          const each = all[which % all.length]!
          if (what === 'break') openBreakerOf(at.health, each)
          else recordServedCall(at.health, each, what === 'fast' ? 10 : 5000, what === 'fast' ? 500 : 2)
        }
        const named = [...new Set(['m/one', ...(asked.models ?? [])])]
        const candidates = named.flatMap((name) => catalog.model(name)!.endpoints)
        const preferred = asked.provider ?? {}
        const allowed = candidates.filter((each) => isAllowed(each, preferred))
        const findings = newPlanTrace()
        let plan: readonly ModelEndpoint[]
        try {
          plan = planFor(catalog, asked, CALLER, producesText, at).endpoints
        } catch (error) {
          return error instanceof Fault && error.kind === 'item-not-found' && allowed.length === 0
        }
        if (allowed.length === 0) return false
        planFor(catalog, asked, CALLER, producesText, at, findings)
        const excluded = findings.excluded.map(({ endpoint: each }) => each)
        const expected = preferred.allow_fallbacks === false ? 1 : allowed.length
        const untried = allowed.length - expected
        const open = (each: ModelEndpoint): boolean =>
          each.hasBreaker && at.health.of(each).state(at.health.now()) === 'open'
        const partition =
          (typeof preferred.sort === 'object' ? preferred.sort?.partition : null) ??
          (asked.route === 'sort' ? 'none' : 'model')
        const groupOf = (each: ModelEndpoint): number =>
          partition === 'none' ? 0 : named.indexOf(each.model.id)
        return (
          plan.length === expected &&
          new Set(plan).size === plan.length &&
          plan.every((each) => allowed.includes(each)) &&
          excluded.length === candidates.length - allowed.length + untried &&
          excluded.filter((each) => allowed.includes(each)).length === untried &&
          // Models in their order, and within each whoever is open behind whoever is not.
          plan.every((each, place) => {
            const before = plan[place - 1]
            if (before === undefined) return true
            if (groupOf(before) !== groupOf(each)) return groupOf(before) < groupOf(each)
            return !(open(before) && !open(each))
          })
        )
      },
    ),
    { numRuns: 3000 },
  )
  t.pass()
})

test('the caller’s order is kept among those that are well', async (t) => {
  fc.assert(
    fc.property(group, fc.uniqueArray(fc.constantFrom(...SLUGS), { minLength: 1 }), (endpoints, order) => {
      const catalog = catalogOf(
        { 'm/one': endpoints, 'm/all': SLUGS.map((slug) => ({ slug })) },
        () => provider,
      )
      const asked = { model: 'm/one', messages: [], provider: { order } } as unknown as ChatRequest
      const places = planFor(
        catalog,
        asked,
        CALLER,
        producesText,
        routingState(new FakeClock()),
      ).endpoints.map(
        ({ provider: { slug } }) => (order.indexOf(slug as never) + order.length + 1) % (order.length + 1),
      )
      return places.every((place, at) => at === 0 || places[at - 1]! <= place)
    }),
  )
  t.pass()
})
