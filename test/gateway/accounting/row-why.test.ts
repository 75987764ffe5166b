/** What a row tells of how it came about, and that it is bounded whatever a caller and a configuration hold. */
import { test } from 'tap'
import { closedLedgerEntry } from '../../../src/gateway/accounting/ledger-rows.js'
import { rowWhy } from '../../../src/gateway/accounting/row-why.js'
import type { ChatRequest, RoutedRequest, Usage } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { costOf, pricesInForce } from '../../../src/gateway/pricing/price.js'
import { planFor } from '../../../src/gateway/routing/plan.js'
import { Generation } from '../../../src/gateway/run/generation.js'
import { encodeClosedLine } from '../../../src/store/ledger/row-text.js'
import { NO_LIMIT_COVERAGE } from '../../../src/store/ledger-store.js'
import { openBreakerOf, routingState } from '../../support/providers/routing.js'
import {
  attempt,
  CALLER,
  catalogOf,
  PRICES,
  ScriptedProvider,
  usage,
} from '../../support/providers/scripted-provider.js'

const SLUGS = Array.from({ length: 40 }, (_, at) => `slug-${at}`)
const catalog = catalogOf(
  {
    'm/one': [{ slug: 'only', region: 'eu-west-1' }],
    'm/two': [
      { slug: 'cheap' },
      { slug: 'dear', prices: { ...PRICES, prompt: 5_000_000_000, version: 'dearer00' } },
      { slug: 'keeper', collectsData: true },
    ],
    'm/many': SLUGS.map((slug) => ({ slug })),
  },
  () => new ScriptedProvider(),
)
const CLIENT = { agent: 'openai/js 6.49.0', referer: 'https://app.example.com', title: 'An app' }

function generationOf(request: Partial<ChatRequest>, state = routingState()): Generation<RoutedRequest> {
  const asked = { model: 'm/one', messages: [], ...request }
  const plan = planFor(catalog, asked, CALLER, producesText, state)
  return new Generation<RoutedRequest>('gen-x', asked, CALLER, plan, 1000, 100, { client: CLIENT })
}

test('where there was nothing to choose a row says who asked, by which prices, and where time went', (t) => {
  const generation = generationOf({
    user: 'somebody',
    metadata: { team: 'search' },
    trace: { trace_id: 'x' },
  })
  const [endpoint] = generation.plan.endpoints
  generation.plannedAt = 101
  generation.admittedAt = 104.4
  generation.served = endpoint!
  generation.attempts.push({ ...attempt(endpoint!, 200), waits: { queueMs: 1.6, connectMs: 7.2 } })
  t.same(rowWhy(generation), {
    ...{ configVersion: 'c0ffee', priceVersion: '00000000', region: 'eu-west-1' },
    ...{ queueMs: 2, connectMs: 7, admitMs: 3 },
    ...{ candidates: [], unlisted: 0, attempts: [] },
    ...{ user: 'somebody', referer: CLIENT.referer, agent: CLIENT.agent, title: CLIENT.title },
    ...{ metadata: { team: 'search' }, trace: { trace_id: 'x' }, cacheDiscount: 0, asked: null },
  })
  t.end()
})

test('a draw is told with the chance that each endpoint had, and who was excluded with the reason', (t) => {
  const { candidates } = rowWhy(generationOf({ model: 'm/two', provider: { data_collection: 'deny' } }))
  const chanceOf = (provider: string) => candidates.find((each) => each.provider === provider)?.chance
  t.same(candidates.map(({ provider, place }) => [provider, place]).sort(), [
    ['CHEAP', candidates[0]!.provider === 'CHEAP' ? 1 : 2],
    ['DEAR', candidates[0]!.provider === 'CHEAP' ? 2 : 1],
    ['KEEPER', 0],
  ])
  // Prices of 3 and 7: the weights are 1 and (3/7)².
  const weight = (3 / 7) ** 2
  t.equal(chanceOf('CHEAP'), 1 / (1 + weight))
  t.equal(chanceOf('DEAR'), weight / (1 + weight))
  t.same(candidates.at(-1), {
    ...{ provider: 'KEEPER', model: 'm/two', place: 0, chance: null, why: ['collects data'] },
  })
  t.end()
})

test('chances are those of the draw alone: none where an order or a breaker decides', (t) => {
  const ordered = rowWhy(generationOf({ model: 'm/two', provider: { order: ['dear'] } }))
  t.ok(ordered.candidates.every(({ chance }) => chance === null))
  t.match(ordered.candidates[0], { provider: 'DEAR', place: 1, why: ['place 1 of provider.order'] })
  const state = routingState()
  const [cheap] = catalog.model('m/two')!.endpoints
  openBreakerOf(state.health, cheap!)
  const broken = rowWhy(generationOf({ model: 'm/two', provider: { data_collection: 'deny' } }, state))
  t.match(broken.candidates[1], { provider: 'CHEAP', place: 2, chance: null })
  t.match(broken.candidates[1]!.why, ['its breaker is open'])
  t.equal(broken.candidates[0]!.chance, null, 'one alone is no draw')
  t.end()
})

test('how often each is drawn is what the chances say', (t) => {
  let seed = 7
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const state = routingState(undefined, random)
  const drawn = { CHEAP: 0, DEAR: 0, KEEPER: 0 }
  const chances = new Map<string, number>()
  const times = 20_000
  for (let n = 0; n < times; n++) {
    const { candidates } = rowWhy(generationOf({ model: 'm/two' }, state))
    drawn[candidates[0]!.provider as keyof typeof drawn]++
    for (const { provider, chance } of candidates) chances.set(provider, chance!)
  }
  for (const [provider, count] of Object.entries(drawn))
    t.ok(
      Math.abs(count / times - chances.get(provider)!) < 0.015,
      `${provider} ${count} ${chances.get(provider)}`,
    )
  t.end()
})

test('what caches have saved is told at the prices of the tier that served', (t) => {
  const discount = (more: Partial<Usage>, served: string | null = null): number => {
    const generation = generationOf({})
    const flex = { ...PRICES, inputCacheRead: 250_000_000 }
    const list = { ...PRICES, inputCacheRead: 100_000_000, inputCacheWrite: 1_250_000_000 }
    const prices = { ...list, inputCacheWrite1h: 2_000_000_000, tiers: { flex } }
    generation.served = { ...generation.plan.endpoints[0]!, prices }
    generation.serviceTier = served
    const used = usage(1000, 0, more)
    const cost = costOf(used, pricesInForce(prices, served))
    generation.consumption = { usage: used, cost, estimated: false, guessed: false }
    return rowWhy(generation).cacheDiscount
  }
  t.equal(discount({}), 0)
  t.equal(discount({ cached: 400 }), 400 * 900)
  t.equal(discount({ cached: 400 }, 'flex'), 400 * 750)
  t.equal(discount({ cacheWrite: 400 }), -400 * 250)
  t.equal(
    discount({ cacheWrite: 400, details: { cacheWrite1h: 100, webSearches: 1 } }),
    -300 * 250 - 100 * 1000,
  )
  t.end()
})

test('an endpoint that only a wish for no fallbacks keeps from being tried is told', (t) => {
  const { candidates } = rowWhy(generationOf({ model: 'm/two', provider: { allow_fallbacks: false } }))
  t.equal(candidates.filter(({ place }) => place > 0).length, 1)
  t.match(candidates.at(-1)?.why, [/allow_fallbacks is false/])
  t.end()
})

test('attempts are listed as soon as one of them failed', (t) => {
  const generation = generationOf({ model: 'm/two' })
  const [first, second] = generation.plan.endpoints
  generation.attempts.push({ ...attempt(first!, 503), error: 'unavailable', endedAt: 12.4 })
  generation.attempts.push(attempt(second!, 200))
  t.match(rowWhy(generation).attempts, [
    { model: 'm/two', status: 503, fault: 'unavailable', durationMs: 12 },
    { model: 'm/two', status: 200, fault: null },
  ])
  t.end()
})

test('a row is bounded, whatever the plan and the caller hold', (t) => {
  const long = 'ä'.repeat(100_000)
  const generation = generationOf({ model: 'm/many', provider: { ignore: ['slug-3', 'slug-4'] } })
  Object.assign(generation, { client: { agent: long, referer: long, title: long } })
  for (const endpoint of generation.plan.endpoints)
    generation.attempts.push({ ...attempt(endpoint, 503), error: 'unavailable' })
  const why = rowWhy(generation)
  t.equal(why.candidates.length, 12)
  t.equal(why.unlisted, 28)
  t.equal(why.attempts.length, 12)
  const line = encodeClosedLine(closedLedgerEntry(generation, { kind: 'aborted' }, NO_LIMIT_COVERAGE, 200))
  t.ok(Buffer.byteLength(line) < 4_096, `${Buffer.byteLength(line)} bytes`)
  const usual = generationOf({})
  const short = encodeClosedLine(closedLedgerEntry(usual, { kind: 'completed' }, NO_LIMIT_COVERAGE, 200))
  t.ok(Buffer.byteLength(short) < 300, `${Buffer.byteLength(short)} bytes`)
  t.end()
})
