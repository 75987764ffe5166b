/** Values that several parts of a chat request share (contract/gateway 2). */
import { z } from 'zod'
import { textWhich } from '../../http/fields.js'
import { named } from '../../http/named-schema.js'

export const effort = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

export const cacheControl = named(
  'CacheControl',
  z.object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).exactOptional() }),
)

const MODEL_ID = /^[~@A-Za-z0-9][\w.@~+-]*\/[A-Za-z0-9][\w.@~+-]*(?::[\w.-]+)?$/
const LONGEST_MODEL_ID = 256

/** `vendor/name` with an optional `:variant`. */
export const modelId = textWhich(
  (id) =>
    id.length <= LONGEST_MODEL_ID && MODEL_ID.test(id)
      ? null
      : 'must be a model id of the form vendor/name or vendor/name:variant',
  MODEL_ID.source,
).meta({ maxLength: LONGEST_MODEL_ID })

export const textPart = named(
  'TextPart',
  z.object({
    type: z.literal('text'),
    text: z.string(),
    cache_control: cacheControl.exactOptional(),
    prompt_cache_breakpoint: z
      .object({ mode: z.literal('explicit') })
      .nullable()
      .exactOptional(),
  }),
)
