/** Plugins, a closed list by `id` (contract/gateway 2.10). */
import { z } from 'zod'
import {
  boundedInteger,
  boundedNumber,
  boundedString,
  noteOptions,
  openObject,
  optional,
  safeInteger,
  stringMatching,
  stringWithRule,
} from '../http/fields.js'
import { nameSchema } from '../http/json-schema.js'

export const searchMode = z.enum([
  'instant',
  'fast',
  'auto',
  'deep-lite',
  'deep',
  'deep-reasoning',
  'turbo',
  'basic',
  'advanced',
])

export const userLocation = z.object({
  type: z.literal('approximate'),
  ...optional({ city: z.string(), region: z.string(), country: z.string(), timezone: z.string() }),
})

/** The plugin `web` in other words, as other servers of this format have it. */
export const webSearchOptions = z
  .looseObject(optional({ search_context_size: z.enum(['low', 'medium', 'high']) }))
  .meta({ description: 'The same as the plugin `web`.' })

const handles = z.array(z.string()).max(20)
const date = stringMatching(/^\d{4}-\d{2}-\d{2}/, 'must be a date')

export const xSearch = z.object(
  optional({
    allowed_x_handles: handles,
    excluded_x_handles: handles,
    from_date: date,
    to_date: date,
    enable_image_understanding: z.boolean(),
    enable_video_understanding: z.boolean(),
  }),
)

const strings = z.array(z.string())
const positive = safeInteger(1)

/** What fetching pages is told, as a plugin and as a tool. */
export const fetchParameters = {
  allowed_domains: strings,
  blocked_domains: strings,
  max_uses: positive,
  max_content_tokens: positive,
}

/** A tool inside a tool. */
export const innerTool = z.object({ type: z.string(), ...optional({ parameters: openObject() }) })

const LONGEST_IN_ALL = 65_536

/** Patterns of model names: each at most 1024 characters, and 65,536 in all. */
const modelList = z
  .array(boundedString(0, 1024))
  .max(1024)
  .refine(
    (names) => names.reduce((sum, name) => sum + name.length, 0) <= LONGEST_IN_ALL,
    noteOptions(`must have at most ${LONGEST_IN_ALL} characters in all`),
  )

const autoRouter = {
  allowed_models: modelList,
  excluded_models: modelList,
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']),
  cost_quality_tradeoff: boundedInteger(0, 10),
}

/** One line: a rule may not smuggle in a second one. */
const alignmentRule = stringWithRule((rule) => {
  if (/[\r\n\u2028\u2029]/.test(rule)) return 'must be a single line'
  return rule.length >= 1 && [...rule.slice(0, 402)].length <= 200 ? null : 'must have 1 to 200 characters'
})

/** Every plugin but the strict one can be told off; a plugin that is off changes nothing (contract/decisions 10). */
function pluginOf<const I extends string, S extends z.ZodRawShape>(id: I, description: string, members: S) {
  const shape = { id: z.literal(id), ...optional({ enabled: z.boolean(), ...members }) }
  return z.object(shape).meta({ description })
}

export const plugin = nameSchema(
  'Plugin',
  z.discriminatedUnion('id', [
    pluginOf(
      'auto-router',
      'Chooses the model by quality and price. `cost_quality_tradeoff`: 0 is quality alone, 10 price alone, 7 where it is absent; `cost_tier` wins over it.',
      { ...autoRouter, pin_model: z.boolean() },
    ),
    pluginOf('auto-beta-router', 'As `auto-router`, by the figures of the task of the prompt.', autoRouter),
    pluginOf('moderation', 'Words of the request that are flagged are a 403 and reach no model.', {}),
    pluginOf('web', 'Searches the web once, and puts what it finds beside the question.', {
      engine: z.enum(['native', 'exa', 'firecrawl', 'parallel', 'perplexity']),
      mode: searchMode,
      max_results: positive,
      max_uses: positive,
      search_prompt: z.string(),
      include_domains: strings,
      exclude_domains: strings,
      user_location: userLocation,
      x_search: xSearch,
    }),
    pluginOf('web-fetch', 'Reads the pages that the question names.', fetchParameters),
    pluginOf(
      'file-parser',
      'PDFs become text before the model sees them. Without an engine, models that read files are given them.',
      {
        pdf: z.object(optional({ engine: z.enum(['mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text']) })),
      },
    ),
    pluginOf(
      'response-healing',
      'Broken JSON of an answer is mended, where JSON is asked for; a stream at its end.',
      {},
    ),
    pluginOf('context-compression', 'A conversation that is too long for its model loses its middle.', {
      engine: z.literal('middle-out'),
    }),
    pluginOf(
      'pareto-router',
      'Chooses the cheapest model with that coding score; the strongest where none is asked for. `max_price` in dollars per million tokens.',
      {
        max_price: boundedNumber(0, Number.MAX_VALUE),
        min_coding_score: boundedNumber(0, 1),
        price_source: z.enum(['prompt', 'weighted_avg']),
      },
    ),
    pluginOf('fusion', 'Offers the tool `fusion`.', {
      model: z.string(),
      analysis_models: strings.min(1).max(8),
      max_tool_calls: boundedInteger(1, 16),
      preset: z.enum(['general-high', 'general-budget', 'general-fast']),
      tools: z.array(innerTool).max(8),
    }),
    pluginOf('switchyard-router', 'Chooses a cheap or a capable one of `models`.', {
      algorithm: z.enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough']),
    }),
    pluginOf('jev-router', 'Chooses by quality and price alike, among `models` and `allowed_models`.', {
      models: modelList,
      allowed_models: modelList,
      excluded_models: modelList,
    }),
    z
      .strictObject({
        id: z.literal('alignment'),
        rules: z.array(alignmentRule).min(1).max(128),
        ...optional({
          threshold: boundedNumber(0, 1).refine((value) => value > 0, noteOptions('must be more than 0')),
          max_retries: boundedInteger(0, 3),
          mode: z.enum(['enforce', 'audit']),
          instruct: z.boolean(),
        }),
      })
      .meta({
        description:
          'Holds the answer to rules: by asking for another one and a 403 in the end, or by telling.',
      }),
  ]),
)
