/** Tools, and the choice between them (contract/gateway 2.4, 2.5). */
import { z } from 'zod'
import { openObject, optional, stringMatching } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { cacheControl } from '../../inference-http/request-members.js'
import { CHAT_SERVER_TOOLS, searchShorthand, serverToolSchema } from '../../inference-http/server-tools.js'

const FUNCTION_NAME = stringMatching(
  /^[A-Za-z0-9_-]{1,64}$/,
  'must be 1 to 64 letters, digits, underscores or hyphens',
)

const functionTool = nameSchema(
  'FunctionTool',
  z.object({
    type: z.literal('function'),
    function: z.object({
      name: FUNCTION_NAME,
      ...optional({
        description: z.string(),
        parameters: openObject(),
        strict: z.boolean().nullable(),
      }),
    }),
    ...optional({ cache_control: cacheControl }),
  }),
)

/** A function of the caller's, or one of the server tools under any of its names. */
export const tool = nameSchema(
  'Tool',
  z.discriminatedUnion('type', [
    functionTool,
    searchShorthand,
    ...CHAT_SERVER_TOOLS.map((name) => serverToolSchema(name)),
  ]),
)

export const toolChoice = nameSchema(
  'ToolChoice',
  z.union([
    z.enum(['none', 'auto', 'required']),
    // Any other type passes the shape, for it is what a server tool is chosen by; the rules know which exist.
    z
      .object({ type: z.string(), ...optional({ function: z.object({ name: FUNCTION_NAME }) }) })
      .refine((choice) => choice.type !== 'function' || choice.function !== undefined, {
        params: { rule: 'other', note: 'must name the function to call' },
      }),
  ]),
)
