/** Ids of any form, further names, prefixes and variants (contract/decisions 51, contract/gateway 2.1). */
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { readGateway } from '../../../src/compose/configuration.js'
import { buildCatalog, type Catalog } from '../../../src/gateway/catalog/catalog.js'
import type { Provider } from '../../../src/gateway/providers/port/provider.js'
import { findModel } from '../../../src/gateway/routing/variants.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'

type File = Readonly<Record<string, unknown>>

const openai = { kind: 'openai', base_url: 'http://127.0.0.1:1/v1' }
const by = (more: object = {}) => ({ endpoints: [{ provider: 'openai', ...more }] })

function read(file: File) {
  return readGateway({ providers: { openai }, ...file }, {})
}

function catalogOf(file: File): Catalog {
  const { gateway, faults } = read(file)
  if (gateway === null) throw new Error(JSON.stringify(faults))
  return buildCatalog(gateway, { createProvider: () => ({}) as Provider, messagesOver: messagesOverChat })
}

const CATALOG = catalogOf({
  models: {
    'acme/large': by(),
    'gpt-4o': by({ upstream_model: 'gpt-4o-2024-11-20' }),
    'openai/*': by({ prices: { prompt: '0.00001' } }),
    'openai/gpt-4o*': by({ prices: { prompt: '0.0000025' } }),
    'openai/gpt-4o-mini': by({ upstream_model: 'gpt-4o-mini', prices: { prompt: '0.00000015' } }),
    'hosted/*': by({ upstream_model: 'accounts/$&/*' }),
    'old-*': by({ upstream_model: 'the-one-that-is-left' }),
  },
  aliases: { fast: 'acme/large', faster: 'fast', o3: 'openai/o3', instant: 'sim/instant' },
})

const SERVED: readonly (readonly [asked: string, id: string, upstream: string, entry?: string])[] = [
  ['acme/large', 'acme/large', 'acme/large'],
  ['gpt-4o', 'gpt-4o', 'gpt-4o-2024-11-20'],
  ['fast', 'acme/large', 'acme/large'],
  ['faster', 'acme/large', 'acme/large'],
  ['instant', 'sim/instant', 'sim/instant'],
  ['openai/o3', 'openai/o3', 'o3', 'openai/*'],
  ['o3', 'openai/o3', 'o3', 'openai/*'],
  ['openai/ft:gpt-4.1:org::id', 'openai/ft:gpt-4.1:org::id', 'ft:gpt-4.1:org::id', 'openai/*'],
  ['openai/gpt-4o-audio', 'openai/gpt-4o-audio', 'gpt-4o-audio', 'openai/gpt-4o*'],
  ['openai/gpt-4o-mini', 'openai/gpt-4o-mini', 'gpt-4o-mini'],
  ['hosted/vendor/m', 'hosted/vendor/m', 'accounts/$&/vendor/m', 'hosted/*'],
  ['old-7', 'old-7', 'the-one-that-is-left', 'old-*'],
]

test('a name is an id, a further name, or falls under the longest prefix', async (t) => {
  for (const [asked, id, upstream, entry = id] of SERVED) {
    const model = CATALOG.model(asked)
    t.match(model, { id, entryId: entry, endpoints: [{ upstreamModel: upstream }] }, asked)
    t.equal(model?.endpoints[0]?.model, model, asked)
  }
  for (const asked of [
    'acme/small',
    'openai/',
    'openai/€',
    'openai/<b>',
    'openai/*',
    'gpt-4o-mini',
    'Fast',
    'constructor',
    '*',
    'toString',
  ])
    t.equal(CATALOG.model(asked), null, asked)
})

test('prices are those of the entry a model falls under', async (t) => {
  const promptOf = (id: string) => CATALOG.model(id)?.endpoints[0]?.prices.prompt
  t.equal(promptOf('openai/o3'), 10_000 * 10 ** 6)
  t.equal(promptOf('openai/gpt-4o-2024'), 2_500 * 10 ** 6)
  t.equal(promptOf('openai/gpt-4o-mini'), 150 * 10 ** 6)
  t.equal(promptOf('acme/large'), 0, 'free where none is given')
})

test('what is known of endpoints does not grow with the names callers write', async (t) => {
  const keys = new Set<string>()
  for (let n = 0; n < 3_000; n++) keys.add(CATALOG.model(`openai/m${n}`)!.endpoints[0]!.key)
  t.equal(keys.size, 1)
  t.ok(CATALOG.models.flatMap(({ endpoints }) => endpoints).some(({ key }) => keys.has(key)))
})

test('the list shows further names and prefixes beside the models', async (t) => {
  const shown = CATALOG.list.filter(({ id }) => !id.startsWith('sim/'))
  t.strictSame(
    shown.map(({ id, aliasOf }) => (aliasOf === undefined ? id : `${id} = ${aliasOf.id}`)),
    [
      'acme/large',
      'fast = acme/large',
      'faster = acme/large',
      'gpt-4o',
      'hosted/*',
      'instant = sim/instant',
      'o3 = openai/o3',
      'old-*',
      'openai/*',
      'openai/gpt-4o*',
      'openai/gpt-4o-mini',
    ],
  )
  t.equal(CATALOG.listed('fast')?.id, 'fast')
  t.equal(CATALOG.listed('openai/*')?.id, 'openai/*')
  t.equal(CATALOG.listed('openai/o1')?.id, 'openai/o1')
})

const FAULTS: readonly (readonly [file: File, path: string, problem: string])[] = [
  [{ models: { a: by() }, aliases: { a: 'sim/fast' } }, 'aliases.a', 'is the id of a model'],
  [{ aliases: { a: 'b', b: 'c', c: 'a' } }, 'aliases.a', 'leads back to itself'],
  [{ aliases: { a: 'a' } }, 'aliases.a', 'leads back to itself'],
  [{ aliases: { a: 'acme/none' } }, 'aliases.a', 'names no model'],
  [{ aliases: { a: 'toString' } }, 'aliases.a', 'names no model'],
  [
    { aliases: { 'sim/other': 'sim/fast' } },
    'aliases.sim/other',
    'ids of sim/ are reserved, unless simulated_models is false',
  ],
  [{ simulated_models: false, aliases: { a: 'sim/fast' } }, 'aliases.a', 'names no model'],
  [
    { models: { 'a/b': by({ upstream_model: 'x*' }) } },
    'models.a/b.endpoints[0].upstream_model',
    'has a * that stands for nothing: the id has none',
  ],
  [
    { models: { 'a*b': by() } },
    'models.a*b',
    'must be a name of letters, digits and . _ : / @ + ~ -, or such a beginning and a *',
  ],
  [{ aliases: { 'a*': 'sim/fast' } }, 'aliases.a*', 'must be a name of letters, digits and . _ : / @ + ~ -'],
]

test('names that mean two things, or nothing, are faults with their place', async (t) => {
  for (const [file, path, problem] of FAULTS) {
    const { gateway, faults } = read(file)
    t.equal(gateway, null, path)
    t.ok(
      faults.some((fault) => fault.path === path && fault.problem === problem),
      JSON.stringify(faults),
    )
  }
})

test('a variant of a model with an entry is that model, whatever prefix its name falls under as well', async (t) => {
  const catalog = catalogOf({
    models: {
      'acme/large': by({ prices: { prompt: '0.00001' } }),
      'acme/large:free': by({ upstream_model: 'gift' }),
      'acme/*': by({ prices: { prompt: '0.0000001' } }),
      '*': by(),
    },
    aliases: { big: 'acme/large', small: 'acme/small' },
  })
  const found = (name: string) => {
    const { id, entryId, sort, endpoints } = findModel(catalog, name)!
    return [id, entryId, sort, endpoints[0]?.upstreamModel]
  }
  t.strictSame(found('acme/large:nitro'), ['acme/large', 'acme/large', 'throughput', 'acme/large'])
  t.strictSame(found('big:floor'), ['acme/large', 'acme/large', 'price', 'acme/large'])
  t.strictSame(found('small:floor'), ['acme/small', 'acme/*', 'price', 'small'])
  t.strictSame(found('acme/large:free'), ['acme/large:free', 'acme/large:free', undefined, 'gift'])
  t.strictSame(found('acme/large:online'), ['acme/large', 'acme/large', undefined, 'acme/large'])
  t.strictSame(found('acme/large:2025'), ['acme/large:2025', 'acme/*', undefined, 'large:2025'])
  t.strictSame(found('acme/small:nitro'), ['acme/small:nitro', 'acme/*', undefined, 'small:nitro'])
  t.strictSame(found('llama:8b'), ['llama:8b', '*', undefined, 'llama:8b'])
})

test('a variant is an order of the endpoints, those that cost nothing, or refused with a sentence', async (t) => {
  const free = { provider: 'openai', upstream_model: 'free' }
  const catalog = catalogOf({
    models: {
      'acme/large': {
        endpoints: [{ provider: 'openai', prices: { request: '0.1' } }, free],
      },
      'acme/large:extended': by(),
      'zoo/*': by(),
    },
    aliases: { big: 'acme/large' },
  })
  for (const [variant, sort] of [
    ['nitro', 'throughput'],
    ['floor', 'price'],
  ]) {
    t.match(findModel(catalog, `acme/large:${variant}`), { id: 'acme/large', sort, endpoints: { length: 2 } })
    t.match(findModel(catalog, `big:${variant}`), { id: 'acme/large', sort })
  }
  t.match(findModel(catalog, 'sim/fast:extended'), { id: 'sim/fast', sort: 'context' })
  t.equal(findModel(catalog, 'acme/large:extended')?.id, 'acme/large:extended', 'an entry wins')
  t.strictSame(
    findModel(catalog, 'acme/large:free')?.endpoints.map(({ upstreamModel }) => upstreamModel),
    ['free'],
  )
  t.match(findModel(catalog, 'zoo/a:free'), { id: 'zoo/a:free', endpoints: [{ upstreamModel: 'a:free' }] })
  for (const name of ['acme/large:paid', 'acme/none:nitro', ':nitro', 'acme/large:toString', 'nitro'])
    t.equal(findModel(catalog, name), null, name)
  for (const variant of ['thinking', 'exacto'])
    t.throws(() => findModel(catalog, `acme/large:${variant}`), new Fault('invalid-input'), variant)
})
