/** Parts of answers that the inference operations share, for the document and for tests. */
import { z } from 'zod'
import { nameSchema } from '../http/json-schema.js'

export const count = z.int().min(0)
export const generationId = z.string().regex(/^gen-[0-9a-z]{26}$/)

/** What a call has cost, in dollars, as members of its `usage` (contract/gateway 3.3). */
export const cost = {
  cost: z.number().min(0).meta({ description: 'Dollars.' }),
  cost_details: z.object({
    upstream_inference_cost: z.number(),
    upstream_inference_prompt_cost: z.number(),
    upstream_inference_completions_cost: z.number(),
    server_tool_cost: z
      .number()
      .optional()
      .meta({ description: 'Web searches of the provider, and tools of the gateway.' }),
  }),
  is_byok: z.boolean(),
}

/** contract/gateway 3.4 */
export const ServiceMetadata = nameSchema(
  'ServiceMetadata',
  z.object({
    requested: z.string(),
    strategy: z.string(),
    region: z.string().nullable(),
    summary: z.string(),
    attempt: count,
    is_byok: z.boolean(),
    endpoints: z.object({
      total: count,
      available: z.array(z.object({ provider: z.string(), model: z.string(), selected: z.boolean() })),
    }),
    generation_time: count.optional().meta({ description: 'Milliseconds.' }),
    attempts: z
      .array(
        z.object({
          provider: z.string(),
          model: z.string(),
          status: z.int(),
          is_byok: z.literal(true).optional(),
          overtaken: z
            .literal(true)
            .optional()
            .meta({ description: 'Another endpoint was asked as well and answered first.' }),
        }),
      )
      .optional(),
    usage_estimated: z.literal(true).optional(),
    unknown_providers: z
      .array(z.string())
      .optional()
      .meta({ description: 'Names in order, only and ignore that are none of a provider here.' }),
    untranslated: z
      .array(z.string())
      .optional()
      .meta({ description: 'Fields that the serving endpoint has no words for, and that were left out.' }),
    pipeline: z
      .array(
        z.object({
          type: z.string(),
          name: z.string(),
          summary: z.string().optional(),
          data: z.record(z.string(), z.unknown()).optional(),
          cost_usd: z.number().optional(),
        }),
      )
      .optional()
      .meta({ description: 'Stages that changed something: plugins, server tools.' }),
  }),
)
