import { test } from 'tap'
import type { Catalog, Model } from '../../../src/gateway/catalog/catalog.js'
import { createSearchModelsTool } from '../../../src/gateway/tools/search-models/search-models.js'
import { catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { askTool } from '../../support/tools/tool-call.js'

const provider = new ScriptedProvider()

function catalog(): Catalog {
  const known = catalogOf(
    { 'acme/large': [{ slug: 'a' }], 'acme/eye': [{ slug: 'a' }], 'acme/*': [{ slug: 'a' }], 'b/none': [] },
    () => provider,
  )
  const own: Record<string, Partial<Model>> = {
    'acme/large': { created: 1, contextLength: 200_000, description: 'Thinks far.' },
    'acme/eye': { created: 2, contextLength: 8_000, inputModalities: ['text', 'image'] },
  }
  return { ...known, models: known.models.map((model) => ({ ...model, ...own[model.id] })) }
}

const ask = async (args: Record<string, unknown>, parameters: Record<string, unknown> = {}) => {
  const { content } = await askTool(createSearchModelsTool(catalog), parameters, args)
  return content as { models: { id: string }[]; total_results: number; showing: number }
}
const ids = async (args: Record<string, unknown>) => (await ask(args)).models.map(({ id }) => id)

test('without arguments it lists what can be called, the newest first', async (t) => {
  t.same(
    await ids({}),
    ['acme/eye', 'acme/large'],
    'neither the entry of a prefix nor a model that nobody serves',
  )
})

test('every filter narrows', async (t) => {
  t.same(await ids({ query: 'THINKS acme' }), ['acme/large'])
  t.same(await ids({ series: 'eye' }), ['acme/eye'])
  t.same(await ids({ input_modalities: ['image', 'text'] }), ['acme/eye'])
  t.same(await ids({ output_modalities: ['audio'] }), [])
  t.same(await ids({ min_context_length: 100_000 }), ['acme/large'])
})

test('arguments of another shape ask for nothing', async (t) => {
  t.equal((await ids({ query: 7, series: {}, input_modalities: 'image', min_context_length: 'x' })).length, 2)
})

test('no more is shown than the request allows, and how many there are is told', async (t) => {
  const { models, total_results, showing } = await ask({}, { max_results: 1 })
  t.same([models.length, total_results, showing], [1, 2, 1])
  t.match(models[0], {
    id: 'acme/eye',
    name: String,
    description: String,
    context_length: 8_000,
    input_modalities: ['text', 'image'],
    output_modalities: ['text'],
    pricing: {},
  })
})
