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
function pluginOf<const I extends string, S extends z.ZodRawShape>(id: I, members: S) {
  return z.object({ id: z.literal(id), ...optional({ enabled: z.boolean(), ...members }) })
}

export const plugin = nameSchema(
  'Plugin',
  z.discriminatedUnion('id', [
    pluginOf('auto-router', { ...autoRouter, pin_model: z.boolean() }),
    pluginOf('auto-beta-router', autoRouter),
    pluginOf('moderation', {}),
    pluginOf('web', {
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
    pluginOf('web-fetch', fetchParameters),
    pluginOf('file-parser', {
      pdf: z.object(optional({ engine: z.enum(['mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text']) })),
    }),
    pluginOf('response-healing', {}),
    pluginOf('context-compression', { engine: z.literal('middle-out') }),
    pluginOf('pareto-router', {
      max_price: boundedNumber(0, Number.MAX_VALUE),
      min_coding_score: boundedNumber(0, 1),
      price_source: z.enum(['prompt', 'weighted_avg']),
    }),
    pluginOf('fusion', {
      model: z.string(),
      analysis_models: strings.min(1).max(8),
      max_tool_calls: boundedInteger(1, 16),
      preset: z.enum(['general-high', 'general-budget', 'general-fast']),
      tools: z.array(innerTool).max(8),
    }),
    pluginOf('switchyard-router', {
      algorithm: z.enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough']),
    }),
    pluginOf('jev-router', { models: modelList, allowed_models: modelList, excluded_models: modelList }),
    z.strictObject({
      id: z.literal('alignment'),
      rules: z.array(alignmentRule).min(1).max(128),
      ...optional({
        threshold: boundedNumber(0, 1).refine((value) => value > 0, noteOptions('must be more than 0')),
        max_retries: boundedInteger(0, 3),
        mode: z.enum(['enforce', 'audit']),
        instruct: z.boolean(),
      }),
    }),
  ]),
)
