import { test } from 'tap'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { planFor } from '../../../src/gateway/routing/plan.js'
import { Generation } from '../../../src/gateway/run/generation.js'
import { type ServiceMetadata, serviceMetadata } from '../../../src/gateway/run/metadata.js'
import { routingState } from '../../support/providers/routing.js'
import {
  attempt,
  CALLER,
  catalogOf,
  ScriptedProvider,
  usage,
} from '../../support/providers/scripted-provider.js'

const provider = new ScriptedProvider()
const catalog = catalogOf(
  { 'm/one': [{ slug: 'a' }, { slug: 'b' }], 'm/two': [{ slug: 'c' }] },
  () => provider,
)

function generationOf(request: object = { model: 'm/one' }): Generation {
  const asked: ChatRequest = { messages: [{ role: 'user', content: 'x' }], ...request }
  return new Generation(
    'gen-x',
    asked,
    CALLER,
    planFor(catalog, asked, CALLER, producesText, routingState()),
    1000,
    100,
  )
}

function told(change: (generation: Generation) => void = () => {}, request?: object): ServiceMetadata {
  const generation = generationOf(request)
  change(generation)
  return serviceMetadata(generation, 350.6)
}

test('names of providers that nobody has are told, and change nothing (contract/decisions 45)', async (t) => {
  const known = told(undefined, { model: 'm/one', provider: { order: ['a'] } })
  t.notOk('unknown_providers' in known)
  const wishes = { order: ['nobody', 'a'], ignore: ['nobody', 'b/', 'elsewhere'] }
  const { unknown_providers, endpoints } = told(undefined, { model: 'm/one', provider: wishes })
  t.same(unknown_providers, ['nobody', 'b/', 'elsewhere'])
  t.equal(endpoints.available.length, 2)
})

test('before anybody served, nobody is selected and no attempt has succeeded', async (t) => {
  t.same(told(), {
    requested: 'm/one',
    strategy: 'direct',
    region: null,
    summary: '2 endpoints available, none served',
    attempt: 0,
    is_byok: false,
    endpoints: {
      total: 2,
      available: [
        { provider: 'A', model: 'm/one', selected: false },
        { provider: 'B', model: 'm/one', selected: false },
      ],
    },
    generation_time: 251,
    attempts: [],
  })
})

test('each attempt is told with its status, and the one that served is selected', async (t) => {
  const metadata = told((generation) => {
    const [a, b] = generation.plan.endpoints
    generation.attempts.push(attempt(a!, 429), attempt(b!, 200))
    generation.served = b!
  })
  t.match(metadata, {
    attempt: 2,
    summary: '2 endpoints available, B served',
    attempts: [
      { provider: 'A', model: 'm/one', status: 429 },
      { provider: 'B', model: 'm/one', status: 200 },
    ],
  })
  t.same(
    metadata.endpoints.available.map(({ selected }) => selected),
    [false, true],
  )
})

test('failures alone leave attempt 0, with every one of them told', async (t) => {
  const metadata = told(({ attempts, plan }) => {
    for (const endpoint of plan.endpoints) attempts.push(attempt(endpoint, 503))
  })
  t.match(metadata, { attempt: 0, attempts: [{ status: 503 }, { status: 503 }] })
  t.notOk(metadata.endpoints.available.some(({ selected }) => selected))
})

test('the region is that of the endpoint that answers, and a place in a trace that cannot be is told', async (t) => {
  const metadata = told((generation) => {
    generation.served = { ...generation.plan.endpoints[0]!, region: 'eu-west-1' }
  })
  t.equal(metadata.region, 'eu-west-1')
  const trace = { trace_id: 'mine', parent_span_id: 'no span' }
  t.same(told(undefined, { model: 'm/one', trace }).untranslated, ['trace.parent_span_id'])
  t.notOk('untranslated' in told(undefined, { model: 'm/one', trace: { trace_id: 'mine' } }))
})

test('a further name of a model is told as one, a variant is not', async (t) => {
  const named = (requested: string) => {
    const { request, plan } = generationOf({ model: 'm/two' })
    const generation = new Generation('gen-x', request, CALLER, { ...plan, requested }, 1000, 100)
    return serviceMetadata(generation, 1).strategy
  }
  t.equal(named('m/two'), 'direct')
  t.equal(named('m/two:nitro'), 'direct')
  t.equal(named('two'), 'alias')
})

test('a single endpoint is direct, and models of a fallback are told by their own names', async (t) => {
  t.match(told(undefined, { model: 'm/two' }), {
    strategy: 'direct',
    summary: '1 endpoint available, none served',
  })
  const several = told(undefined, { model: 'm/two', models: ['m/one'] })
  t.equal(several.requested, 'm/two')
  t.equal(several.strategy, 'fallback')
  t.equal(told(undefined, { model: 'm/two', models: ['m/two'] }).strategy, 'direct', 'which names it twice')
  t.same(
    several.endpoints.available.map(({ model }) => model),
    ['m/two', 'm/one', 'm/one'],
  )
})

test('the total counts what preferences took away', async (t) => {
  const { endpoints } = told(undefined, { model: 'm/one', provider: { only: ['b'] } })
  t.equal(endpoints.total, 2)
  t.equal(endpoints.available.length, 1)
})

test('estimated usage is said, and only that', async (t) => {
  const cost = { total: 1, prompt: 1, completion: 0, tools: 0 }
  const consumed = (estimated: boolean): ServiceMetadata =>
    told((generation) => {
      generation.consumption = { usage: usage(1, 1), cost, estimated, guessed: false }
    })
  t.equal(consumed(true).usage_estimated, true)
  t.notOk('usage_estimated' in consumed(false))
})
