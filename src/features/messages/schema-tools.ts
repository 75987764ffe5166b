/** Tools and the choice between them (contract/gateway 5.2). */
import { z } from 'zod'
import { boundedString, limitDepth, openObject, safeInteger } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { cached, TOOL_NAME } from './schema-blocks.js'

const flag = z.boolean().exactOptional()
const names = z.array(z.string())

const shared = { ...cached, defer_loading: flag, allowed_callers: names.exactOptional(), strict: flag }

const inputSchema = limitDepth(
  z.looseObject({
    type: z.literal('object').exactOptional(),
    properties: z.looseObject({}).nullable().exactOptional(),
    required: names.nullable().exactOptional(),
  }),
)

const customTool = nameSchema(
  'MessagesCustomTool',
  z.looseObject({
    // Absent and null mean the same; `optional` and not `exactOptional`, so that absence tells the kind.
    type: z.literal('custom').nullable().optional(),
    name: TOOL_NAME,
    description: z.string().exactOptional(),
    input_schema: inputSchema,
    input_examples: z.array(openObject()).exactOptional(),
    eager_input_streaming: z.boolean().nullable().exactOptional(),
    ...shared,
  }),
)

const webSearch = {
  name: z.literal('web_search'),
  max_uses: safeInteger(1).nullable().exactOptional(),
  allowed_domains: names.nullable().exactOptional(),
  blocked_domains: names.nullable().exactOptional(),
  user_location: z
    .looseObject({
      type: z.literal('approximate'),
      city: z.string().nullable().exactOptional(),
      region: z.string().nullable().exactOptional(),
      country: z.string().nullable().exactOptional(),
      timezone: z.string().nullable().exactOptional(),
    })
    .nullable()
    .exactOptional(),
  ...shared,
}

const known = [
  z.looseObject({ type: z.literal('bash_20250124'), name: z.literal('bash'), ...shared }),
  z.looseObject({
    type: z.literal('text_editor_20250124'),
    name: z.literal('str_replace_editor'),
    ...shared,
  }),
  z.looseObject({ type: z.literal(['web_search_20250305', 'web_search_20260209']), ...webSearch }),
  z.looseObject({
    type: z.literal('advisor_20260301'),
    name: z.literal('advisor'),
    model: boundedString(1, 256),
    max_uses: safeInteger(1).nullable().exactOptional(),
    ...shared,
  }),
  z.looseObject({
    type: z.literal(['tool_search_tool_bm25_20251119', 'tool_search_tool_bm25']),
    name: z.literal('tool_search_tool_bm25'),
    ...shared,
  }),
  z.looseObject({
    type: z.literal(['tool_search_tool_regex_20251119', 'tool_search_tool_regex']),
    name: z.literal('tool_search_tool_regex'),
    ...shared,
  }),
] as const

const KNOWN_TYPES = ['custom', ...known.flatMap(({ shape }) => [...shape.type.values])]

/** Kinds that only a provider of this format may know: passed through as they are. */
const otherTool = limitDepth(
  z.looseObject({ type: boundedString(1, 256).meta({ not: { enum: KNOWN_TYPES } }), ...cached }),
)

export const tool = nameSchema(
  'MessagesTool',
  z.discriminatedUnion('type', [customTool, ...known, otherTool]),
)

const oneAtATime = { disable_parallel_tool_use: flag }

export const toolChoice = nameSchema(
  'MessagesToolChoice',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal(['auto', 'any']), ...oneAtATime }),
    z.object({ type: z.literal('tool'), name: boundedString(1, 256), ...oneAtATime }),
    z.object({ type: z.literal('none') }),
  ]),
)
