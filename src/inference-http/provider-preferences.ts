/** The caller's wishes about who serves a call (contract/gateway 2.7). */
import { z } from 'zod'
import type { ValidationIssue } from '../base/fault.js'
import { QUANTIZATIONS } from '../gateway/catalog/configuration/models.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import { boundedNumber, boundedString, limitDepth, stringMatching } from '../http/fields.js'
import { nameSchema } from '../http/json-schema.js'
import { bodyIssue } from './body-rules.js'

const slugs = z.array(boundedString(1, 256)).max(64).nullable().exactOptional()
const flag = z.boolean().nullable().exactOptional()
const sortKey = z.enum(['price', 'throughput', 'latency', 'exacto'])
const notNegative = boundedNumber(0, Number.MAX_VALUE)

/** Dollars, as a number or as decimal text. */
const price = z
  .union([
    notNegative,
    stringMatching(/^(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})$/, 'must be a decimal number'),
  ])
  .exactOptional()

const percentile = notNegative.nullable().exactOptional()
const cutoff = z
  .union([notNegative, z.object({ p50: percentile, p75: percentile, p90: percentile, p99: percentile })])
  .nullable()
  .exactOptional()

const quantization = z.enum(QUANTIZATIONS)

export const providerPreferences = nameSchema(
  'ProviderPreferences',
  limitDepth(
    z.looseObject({
      order: slugs,
      only: slugs,
      ignore: slugs,
      allow_fallbacks: flag,
      require_parameters: flag,
      data_collection: z.enum(['allow', 'deny']).nullable().exactOptional(),
      zdr: flag,
      enforce_distillable_text: flag,
      quantizations: z.array(quantization).nullable().exactOptional(),
      sort: z
        .union([
          sortKey,
          z.object({
            by: sortKey.nullable().exactOptional(),
            partition: z.enum(['model', 'none']).nullable().exactOptional(),
          }),
        ])
        .nullable()
        .exactOptional(),
      max_price: z
        .object({ prompt: price, completion: price, request: price, image: price, audio: price })
        .exactOptional(),
      preferred_min_throughput: cutoff,
      preferred_max_latency: cutoff,
    }),
  ),
)

// ── Wishes that contradict each other ──────────────────────────────────────────

/** The first contradiction, or null. */
export function routingContradiction({ provider, route }: RoutedRequest): ValidationIssue | null {
  if (provider === undefined || provider === null) return null
  const { only, ignore, sort } = provider
  if (only?.some((slug) => ignore?.includes(slug)) === true) {
    return bodyIssue(['provider', 'only'], 'must not name a provider that provider.ignore names')
  }
  const partition = typeof sort === 'object' && sort !== null ? sort.partition : undefined
  const opposite = route === 'fallback' ? 'none' : route === 'sort' ? 'model' : undefined
  if (opposite === undefined || partition !== opposite) return null
  return bodyIssue(['route'], `${route} says the opposite of provider.sort.partition: ${partition}`)
}
