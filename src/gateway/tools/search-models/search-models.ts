/** Lets a model look for models in the catalogue (contract/tools 3.8). */

import type { Catalog, Model } from '../../catalog/catalog.js'
import type { JsonObject } from '../../formats/json-values.js'
import { asList } from '../../formats/json-values.js'
import type { PreparedTool, ServerTool, ToolFunction, ToolOutcome } from '../port/tool.js'

const NAME = 'experimental__search_models'
const DEFAULT_RESULTS = 5

const modalities = (which: string): JsonObject => ({
  type: 'array',
  items: { type: 'string' },
  description: `Modalities all of which the model ${which}, such as text, image, audio.`,
})

const FUNCTION: ToolFunction = {
  name: NAME,
  description:
    'Searches the models that can be called here. Without arguments it lists them, the newest first.',
  parameters: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words of the id, the name or the description.' },
      input_modalities: modalities('takes'),
      output_modalities: modalities('answers in'),
      min_context_length: { type: 'integer', description: 'Least context length in tokens.' },
      series: { type: 'string', description: 'Family of models, as in their ids and names.' },
    },
  },
}

/** @param catalog asked on every call, so that a reload counts from the next one on */
export function createSearchModelsTool(catalog: () => Catalog): ServerTool {
  return {
    name: NAME,
    prepare({ parameters: { max_results: most } }) {
      const results = typeof most === 'number' ? most : DEFAULT_RESULTS
      return {
        functions: [FUNCTION],
        backend: 'catalogue',
        fee: () => 0,
        run: async (call) => search(catalog(), call.arguments, results),
      } satisfies PreparedTool
    },
  }
}

function search({ models }: Catalog, wanted: JsonObject, most: number): ToolOutcome {
  const passes = filterFor(wanted)
  const found = models
    .filter((model) => isCallable(model) && passes(model))
    .sort((one, other) => other.created - one.created)
  const shown = found.slice(0, most).map(describe)
  const content = { models: shown, total_results: found.length, showing: shown.length }
  return { content, isError: false, executed: true, charged: 0 }
}

/** An entry such as `openai/*` is no name that can be called. */
function isCallable({ id, endpoints }: Model): boolean {
  return endpoints.length > 0 && !id.endsWith('*')
}

/** What is not of the expected shape asks for nothing. */
function filterFor(wanted: JsonObject): (model: Model) => boolean {
  const words = [...wordsOf(wanted.query), ...wordsOf(wanted.series)]
  const inputs = textsIn(wanted.input_modalities)
  const outputs = textsIn(wanted.output_modalities)
  const { min_context_length: least } = wanted
  const context = typeof least === 'object' ? 0 : Number(least ?? 0)
  return (model) => {
    const text = `${model.id} ${model.name} ${model.description}`.toLowerCase()
    return (
      words.every((word) => text.includes(word)) &&
      inputs.every((name) => model.inputModalities.includes(name)) &&
      outputs.every((name) => model.outputModalities.includes(name)) &&
      !(contextOf(model) < context)
    )
  }
}

function textsIn(list: unknown): readonly string[] {
  return asList(list).filter((each) => typeof each === 'string')
}

const MOST_WORDS = 20

function wordsOf(text: unknown): readonly string[] {
  if (typeof text !== 'string') return []
  return text.toLowerCase().slice(0, 500).split(/\s+/).filter(Boolean).slice(0, MOST_WORDS)
}

function contextOf({ contextLength, endpoints }: Model): number {
  return contextLength ?? endpoints[0]?.contextLength ?? 0
}

const LONGEST_DESCRIPTION = 400

function describe(model: Model): JsonObject {
  return {
    id: model.id,
    name: model.name,
    description: model.description.slice(0, LONGEST_DESCRIPTION),
    context_length: contextOf(model) || null,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
    pricing: model.endpoints[0]?.pricing ?? {},
  }
}
