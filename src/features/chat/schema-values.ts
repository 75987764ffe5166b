/** Values that several parts of a chat request share (contract/gateway 2). */
import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'
import { cacheControl } from '../../inference-http/request-members.js'

export const effort = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

export const textPart = nameSchema(
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
