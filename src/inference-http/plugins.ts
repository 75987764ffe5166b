/** Plugins, a closed list by `id` (contract/gateway 2.10). */
import { z } from 'zod'
import type { ValidationIssue } from '../base/fault.js'
import {
  boundedInteger,
  boundedNumber,
  boundedString,
  noteOptions,
  openObject,
  safeInteger,
  stringMatching,
  stringWithRule,
} from '../http/fields.js'
import { nameSchema } from '../http/json-schema.js'
import { bodyIssue } from './request-members.js'

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
  city: z.string().exactOptional(),
  region: z.string().exactOptional(),
  country: z.string().exactOptional(),
  timezone: z.string().exactOptional(),
})

const handles = z.array(z.string()).max(20).exactOptional()
const date = stringMatching(/^\d{4}-\d{2}-\d{2}/, 'must be a date').exactOptional()

export const xSearch = z.object({
  allowed_x_handles: handles,
  excluded_x_handles: handles,
  from_date: date,
  to_date: date,
  enable_image_understanding: z.boolean().exactOptional(),
  enable_video_understanding: z.boolean().exactOptional(),
})

/** Every plugin but the strict one can be told off; a plugin that is off changes nothing (contract/decisions 10). */
const enabled = z.boolean().exactOptional()

const strings = z.array(z.string())
const LONGEST_IN_ALL = 65_536

/** Patterns of model names: each at most 1024 characters, and 65,536 in all. */
const modelList = z
  .array(boundedString(0, 1024))
  .max(1024)
  .refine(
    (names) => names.reduce((sum, name) => sum + name.length, 0) <= LONGEST_IN_ALL,
    noteOptions(`must have at most ${LONGEST_IN_ALL} characters in all`),
  )
  .exactOptional()

const autoRouter = {
  enabled,
  allowed_models: modelList,
  excluded_models: modelList,
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).exactOptional(),
  cost_quality_tradeoff: boundedInteger(0, 10).exactOptional(),
}

/** One line: a rule may not smuggle in a second one. */
const alignmentRule = stringWithRule((rule) => {
  if (/[\r\n\u2028\u2029]/.test(rule)) return 'must be a single line'
  return rule.length >= 1 && [...rule.slice(0, 402)].length <= 200 ? null : 'must have 1 to 200 characters'
})

export const plugin = nameSchema(
  'Plugin',
  z.discriminatedUnion('id', [
    z.object({ id: z.literal('auto-router'), ...autoRouter, pin_model: z.boolean().exactOptional() }),
    z.object({ id: z.literal('auto-beta-router'), ...autoRouter }),
    z.object({ id: z.literal('moderation'), enabled }),
    z.object({
      id: z.literal('web'),
      enabled,
      engine: z.enum(['native', 'exa', 'firecrawl', 'parallel', 'perplexity']).exactOptional(),
      mode: searchMode.exactOptional(),
      max_results: safeInteger(1).exactOptional(),
      max_uses: safeInteger(1).exactOptional(),
      search_prompt: z.string().exactOptional(),
      include_domains: strings.exactOptional(),
      exclude_domains: strings.exactOptional(),
      user_location: userLocation.exactOptional(),
      x_search: xSearch.exactOptional(),
    }),
    z.object({
      id: z.literal('web-fetch'),
      enabled,
      allowed_domains: strings.exactOptional(),
      blocked_domains: strings.exactOptional(),
      max_uses: safeInteger(1).exactOptional(),
      max_content_tokens: safeInteger(1).exactOptional(),
    }),
    z.object({
      id: z.literal('file-parser'),
      enabled,
      pdf: z
        .object({ engine: z.enum(['mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text']).exactOptional() })
        .exactOptional(),
    }),
    z.object({ id: z.literal('response-healing'), enabled }),
    z.object({
      id: z.literal('context-compression'),
      enabled,
      engine: z.literal('middle-out').exactOptional(),
    }),
    z.object({
      id: z.literal('pareto-router'),
      enabled,
      max_price: boundedNumber(0, Number.MAX_VALUE).exactOptional(),
      min_coding_score: boundedNumber(0, 1).exactOptional(),
      price_source: z.enum(['prompt', 'weighted_avg']).exactOptional(),
    }),
    z.object({
      id: z.literal('fusion'),
      enabled,
      model: z.string().exactOptional(),
      analysis_models: z.array(z.string()).min(1).max(8).exactOptional(),
      max_tool_calls: boundedInteger(1, 16).exactOptional(),
      preset: z.enum(['general-high', 'general-budget', 'general-fast']).exactOptional(),
      tools: z
        .array(z.object({ type: z.string(), parameters: openObject().exactOptional() }))
        .max(8)
        .exactOptional(),
    }),
    z.object({
      id: z.literal('switchyard-router'),
      enabled,
      algorithm: z
        .enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough'])
        .exactOptional(),
    }),
    z.object({
      id: z.literal('jev-router'),
      enabled,
      models: modelList,
      allowed_models: modelList,
      excluded_models: modelList,
    }),
    z.strictObject({
      id: z.literal('alignment'),
      rules: z.array(alignmentRule).min(1).max(128),
      threshold: boundedNumber(0, 1)
        .refine((value) => value > 0, noteOptions('must be more than 0'))
        .exactOptional(),
      max_retries: boundedInteger(0, 3).exactOptional(),
      mode: z.enum(['enforce', 'audit']).exactOptional(),
      instruct: z.boolean().exactOptional(),
    }),
  ]),
)

/** A plugin that is off changes nothing; none is carried out by this version (contract/decisions 10). */
export function enabledPluginIssue(
  plugins: readonly { readonly id: string; readonly enabled?: boolean }[],
): ValidationIssue | null {
  for (let at = 0; at < plugins.length; at++) {
    const { id, enabled } = plugins[at]!
    if (enabled === false) continue
    const note = `the plugin ${id} is not supported by this gateway unless disabled`
    return bodyIssue(['plugins', at, 'id'], note)
  }
  return null
}
