import { test } from 'tap'
import { readGateway } from '../../../src/compose/configuration.js'
import { buildCatalog } from '../../../src/gateway/catalog/catalog.js'
import type { Provider } from '../../../src/gateway/providers/port/provider.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'

const FILE = {
  simulated_models: false,
  providers: {
    two: { kind: 'simulated', name: 'Second', collects_data: true },
    one: { kind: 'openai', base_url: 'http://127.0.0.1:1', zero_data_retention: true },
  },
  models: {
    'b/x': { endpoints: [{ provider: 'two' }, { provider: 'one', supported_parameters: ['stop'] }] },
    'a/x:free': { endpoints: [{ provider: 'one', quantization: 'int4' }] },
    'a/x': { endpoints: [{ provider: 'one' }] },
    'B/x': { endpoints: [{ provider: 'one' }] },
  },
}

function gatewayOf(file: Record<string, unknown>) {
  const { gateway, faults } = readGateway(file, {})
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return gateway
}

const PROVIDER = {} as Provider

const catalogWith = (
  createProvider: Parameters<typeof buildCatalog>[1]['createProvider'] = () => PROVIDER,
  gateway = gatewayOf(FILE),
) => buildCatalog(gateway, { createProvider, messagesOver: messagesOverChat })

test('models are found by their exact id and listed by it', async (t) => {
  const catalog = catalogWith()
  t.same(
    catalog.models.map(({ id }) => id),
    ['B/x', 'a/x', 'a/x:free', 'b/x'],
  )
  for (const model of catalog.models) t.equal(catalog.model(model.id), model)
  for (const id of ['', 'A/x', 'a/x:', 'a/x:paid', 'constructor', '__proto__'])
    t.equal(catalog.model(id), null, id)
})

test('endpoints keep their order and know their model, their provider and its terms', async (t) => {
  const catalog = catalogWith()
  const model = catalog.model('b/x')!
  const [first, second] = model.endpoints
  t.equal(first?.model, model)
  t.match(first, {
    collectsData: true,
    zeroDataRetention: false,
    simulation: {},
    provider: { name: 'Second' },
  })
  t.match(second, {
    collectsData: false,
    zeroDataRetention: true,
    simulation: null,
    provider: { slug: 'one' },
  })
  t.same([...second!.supportedParameters], ['stop'])
  t.equal(second?.provider, catalog.model('a/x')!.endpoints[0]!.provider, 'one entry for all its endpoints')
})

test('each provider is made once, with its configuration, and listed by its slug', async (t) => {
  const made: string[] = []
  const catalog = catalogWith((slug, { kind }) => {
    made.push(`${slug} ${kind}`)
    return { ...PROVIDER }
  })
  t.same(made.sort(), ['one openai', 'two simulated'])
  t.same(
    catalog.providers.map(({ slug }) => slug),
    ['one', 'two'],
  )
  t.not(catalog.providers[0]?.provider, catalog.providers[1]?.provider)
})

test('nothing of a catalogue can be changed', async (t) => {
  const catalog = catalogWith()
  const { models, providers } = catalog
  const { endpoints } = models[0]!
  for (const value of [catalog, models, providers, models[0], endpoints, endpoints[0]])
    t.ok(Object.isFrozen(value))
})

test('an endpoint whose provider is missing is a defect that shows at once', async (t) => {
  const gateway = { ...gatewayOf(FILE), providers: {} }
  t.throws(() => catalogWith(() => PROVIDER, gateway), /names provider two/)
})
