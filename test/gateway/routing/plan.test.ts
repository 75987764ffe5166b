import { test } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { type Plan, planFor } from '../../../src/gateway/routing/plan.js'
import { routingState } from '../../support/providers/routing.js'
import { CALLER, catalogOf, PRICES, ScriptedProvider } from '../../support/providers/scripted-provider.js'

const CATALOG = catalogOf(
  {
    'acme/one': [
      { slug: 'dear', prices: { ...PRICES, prompt: 9 * 10 ** 9 }, supportedParameters: new Set(['seed']) },
      { slug: 'cheap', collectsData: true, quantization: 'int8' },
      { slug: 'private', zeroDataRetention: true, prices: { ...PRICES, prompt: 5 * 10 ** 9 } },
    ],
    'acme/two': [{ slug: 'cheap' }],
  },
  () => new ScriptedProvider(),
)

const asked = (more: Partial<ChatRequest>): ChatRequest => ({
  model: 'acme/one',
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

/** With this lot for everybody the cheaper one always wins the draw. */
const SITUATION = routingState(systemClock, () => 0.5)

function planOf(request: ChatRequest): Plan {
  return planFor(CATALOG, request, CALLER, producesText, SITUATION)
}

function slugs(more: Partial<ChatRequest>): string[] {
  return planOf(asked(more)).endpoints.map(({ model, provider }) =>
    model.id === 'acme/one' ? provider.slug : `${model.id}@${provider.slug}`,
  )
}

const ORDERS = [
  ['without preferences the draw goes by price', {}, ['cheap', 'private', 'dear']],
  ['null preferences are none', { provider: null }, ['cheap', 'private', 'dear']],
  ['`models` follow `model`', { models: ['acme/two'] }, ['cheap', 'private', 'dear', 'acme/two@cheap']],
  ['a model named twice is tried once', { models: ['acme/one'] }, ['cheap', 'private', 'dear']],
  ['`only` leaves the others out', { provider: { only: ['cheap'] } }, ['cheap']],
  ['`ignore` leaves those out', { provider: { ignore: ['dear'] } }, ['cheap', 'private']],
  [
    '`order` comes first, the others behind',
    { provider: { order: ['private'] } },
    ['private', 'dear', 'cheap'],
  ],
  [
    'without fallbacks one is tried',
    { provider: { order: ['private'], allow_fallbacks: false } },
    ['private'],
  ],
  [
    'who denies data collection gets no collector',
    { provider: { data_collection: 'deny' } },
    ['private', 'dear'],
  ],
  ['zero data retention', { provider: { zdr: true } }, ['private']],
  ['quantizations', { provider: { quantizations: ['int8'] } }, ['cheap']],
  [
    'an endpoint that tells no quantization is unknown',
    { provider: { quantizations: ['unknown'] } },
    ['private', 'dear'],
  ],
  ['required parameters', { seed: 1, provider: { require_parameters: true } }, ['dear']],
  [
    'without a partition the models are sorted together',
    { models: ['acme/two'], provider: { sort: { by: 'price', partition: 'none' } } },
    ['cheap', 'acme/two@cheap', 'private', 'dear'],
  ],
  [
    '`route: sort` is the older word for that',
    { models: ['acme/two'], route: 'sort', provider: { sort: 'price' } },
    ['cheap', 'acme/two@cheap', 'private', 'dear'],
  ],
  ['sorted by price', { provider: { sort: 'price' } }, ['cheap', 'private', 'dear']],
  ['sorted by price, as an object', { provider: { sort: { by: 'price' } } }, ['cheap', 'private', 'dear']],
  [
    'a dearest price per million, as text',
    { provider: { max_price: { prompt: '5' } } },
    ['cheap', 'private'],
  ],
  [
    'a dearest price per million, as a number',
    { provider: { max_price: { prompt: 1, completion: 2 } } },
    ['cheap'],
  ],
] as const

for (const [name, more, expected] of ORDERS) {
  test(`plan: ${name}`, async (t) => {
    t.same(slugs(more as Partial<ChatRequest>), expected)
  })
}

test('a dearest price is also one of a request and of a picture', async (t) => {
  const wishes = [
    { slug: 'pictures', prices: { ...PRICES, inputImage: 5_000_000 } },
    { slug: 'fees', prices: { ...PRICES, request: 5_000_000 } },
  ]
  const catalog = catalogOf({ 'acme/one': wishes }, () => new ScriptedProvider())
  const left = (max_price: Record<string, string | number>): string[] => {
    const request = { model: 'acme/one', messages: [], provider: { max_price, sort: 'price' } } as ChatRequest
    const { endpoints } = planFor(catalog, request, CALLER, producesText, SITUATION)
    return endpoints.map(({ provider }) => provider.slug)
  }
  t.same(left({ image: '0.004' }), ['fees'])
  t.same(left({ image: 0.005, request: 0.004 }), ['pictures'])
})

test('a dearest price counts in the tier that is asked for as well', async (t) => {
  const tiers = { priority: { ...PRICES, prompt: PRICES.prompt * 2 }, fast: { ...PRICES, prompt: 1e12 } }
  const catalog = catalogOf(
    { 'acme/one': [{ slug: 'a', prices: { ...PRICES, tiers } }] },
    () => new ScriptedProvider(),
  )
  const isLeft = (more: object): boolean => {
    const provider = { max_price: { prompt: PRICES.prompt / 1e9 } }
    const request = { model: 'acme/one', messages: [], provider, ...more } as ChatRequest
    try {
      return planFor(catalog, request, CALLER, producesText, SITUATION).endpoints.length === 1
    } catch {
      return false
    }
  }
  t.equal(isLeft({}), true)
  t.equal(isLeft({ service_tier: 'flex' }), true)
  t.equal(isLeft({ service_tier: 'priority' }), false)
  t.equal(isLeft({ service_tier: 'auto' }), false)
})

const REFUSED = [
  ['an unknown model', { model: 'acme/none' }, /acme\/none does not exist/],
  ['an unknown fallback model', { models: ['acme/none'] }, /acme\/none does not exist/],
  [
    'nothing but an unknown provider, with the names that exist',
    { provider: { only: ['nobody'] } },
    /No endpoint of acme\/one meets the provider preferences; there are dear, cheap, private/,
  ],
  [
    'a permission to distil that no model gives',
    { provider: { enforce_distillable_text: true } },
    /No endpoint/,
  ],
  ['preferences that leave nothing', { provider: { only: ['dear'], zdr: true } }, /No endpoint of acme\/one/],
] as const

for (const [name, more, sentence] of REFUSED) {
  test(`not found: ${name}`, async (t) => {
    try {
      slugs(more as Partial<ChatRequest>)
      t.fail('a plan was made')
    } catch (error) {
      t.ok(error instanceof Fault)
      t.match(error, { kind: 'item-not-found', note: sentence, metadata: { error_type: 'not_found' } })
    }
  })
}

test('the plan remembers what was asked and how many endpoints there were', async (t) => {
  const plan = planOf(asked({ provider: { only: ['cheap'] } }))
  t.equal(plan.requested, 'acme/one')
  t.equal(plan.total, 3)
})

test('names of providers that do not exist have no effect, and the plan tells them', async (t) => {
  for (const [provider, served, unknown] of [
    [{ order: ['nobody', 'private', 'cheap/fp8'] }, ['private', 'dear', 'cheap'], ['nobody', 'cheap/fp8']],
    [{ ignore: ['nobody', 'dear'] }, ['cheap', 'private'], ['nobody']],
    [{ only: ['nobody', 'cheap'] }, ['cheap'], ['nobody']],
    [{ order: ['cheap/int8'] }, ['cheap', 'dear', 'private'], []],
  ] as const) {
    const plan = planOf(asked({ provider } as Partial<ChatRequest>))
    t.strictSame(
      plan.endpoints.map((endpoint) => endpoint.provider.slug),
      served,
      JSON.stringify(provider),
    )
    t.strictSame(plan.unknownProviders, unknown, JSON.stringify(provider))
  }
})

test('a variant orders the endpoints of its model, and contradicts no other wish', async (t) => {
  const of = (model: string, more: Partial<ChatRequest> = {}) =>
    planOf(asked({ model, ...more })).endpoints.map(({ provider }) => provider.slug)
  t.strictSame(of('acme/one:floor'), ['cheap', 'private', 'dear'])
  t.strictSame(of('acme/one:floor', { provider: { order: ['dear'] } }), ['dear', 'cheap', 'private'])
  t.strictSame(of('acme/one:floor', { provider: { sort: 'price' } }), ['cheap', 'private', 'dear'])
  t.throws(() => of('acme/one:floor', { provider: { sort: 'latency' } }), new Fault('invalid-input'))
  const note = 'No endpoint of acme/one is free'
  t.throws(
    () => of('acme/one:free'),
    new Fault('item-not-found', { note, metadata: { error_type: 'not_found' } }),
  )
  t.strictSame(of('acme/two', { models: ['acme/one:floor'] }), ['cheap', 'cheap', 'private', 'dear'])
  t.equal(planOf(asked({ model: 'acme/one:nitro' })).requested, 'acme/one:nitro')
})

test('without `model` the first of `models` is what was asked for', async (t) => {
  const { model: _, ...rest } = asked({ models: ['acme/two', 'acme/one'] })
  t.equal(planOf(rest).requested, 'acme/two')
})
