/** What `service_metadata` looks like (contract/gateway 3.4), for the document and for tests. */
import { z } from 'zod'
import { nameSchema } from '../http/json-schema.js'

const count = z.int().min(0)

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
    attempts: z.array(z.object({ provider: z.string(), model: z.string(), status: z.int() })).optional(),
    usage_estimated: z.literal(true).optional(),
    untranslated: z
      .array(z.string())
      .optional()
      .meta({ description: 'Fields that the serving endpoint has no words for, and that were left out.' }),
  }),
)
