/** How long conversations are thinned out, and how the model thinks (contract/gateway 5.3, 5.4). */
import { z } from 'zod'
import { boundedInteger, limitDepth, safeInteger } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'

const inputTokens = z.looseObject({ type: z.literal('input_tokens'), value: safeInteger() })
const toolUses = z.looseObject({ type: z.literal('tool_uses'), value: safeInteger() })
const names = z.array(z.string())

const edit = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('clear_tool_uses_20250919'),
    trigger: z.discriminatedUnion('type', [inputTokens, toolUses]).exactOptional(),
    keep: toolUses.exactOptional(),
    clear_at_least: inputTokens.nullable().exactOptional(),
    clear_tool_inputs: z.union([z.boolean(), names]).nullable().exactOptional(),
    exclude_tools: names.nullable().exactOptional(),
  }),
  z.looseObject({
    type: z.literal('clear_thinking_20251015'),
    keep: z
      .union([
        z.enum(['all']),
        z
          .discriminatedUnion('type', [
            z.looseObject({ type: z.literal('thinking_turns'), value: safeInteger() }),
            z.looseObject({ type: z.literal('all') }),
          ])
          .meta({ type: 'object' }),
      ])
      .exactOptional(),
  }),
  z.looseObject({
    type: z.literal('compact_20260112'),
    trigger: inputTokens.nullable().exactOptional(),
    pause_after_compaction: z.boolean().exactOptional(),
    instructions: z.string().nullable().exactOptional(),
  }),
])

export const contextManagement = nameSchema(
  'MessagesContextManagement',
  limitDepth(z.looseObject({ edits: z.array(edit).exactOptional() })),
)

const shown = {
  display: z.enum(['summarized', 'omitted', 'updates']).nullable().exactOptional(),
  block_binding: z.looseObject({}).exactOptional(),
}

export const thinking = nameSchema(
  'MessagesThinking',
  limitDepth(
    z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('enabled'), budget_tokens: safeInteger(1), ...shown }),
      z.looseObject({ type: z.literal('disabled') }),
      z.looseObject({ type: z.literal('adaptive'), ...shown }),
      z.strictObject({ type: z.literal('between_tools') }),
    ]),
  ),
)

const SMALLEST_BUDGET = 20_000

export const effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max'])

export const outputConfig = nameSchema(
  'MessagesOutputConfig',
  limitDepth(
    z.looseObject({
      effort: effort.nullable().exactOptional(),
      format: z
        .looseObject({ type: z.literal('json_schema'), schema: z.looseObject({}) })
        .nullable()
        .exactOptional(),
      task_budget: z
        .looseObject({
          type: z.literal('tokens'),
          total: boundedInteger(SMALLEST_BUDGET, Number.MAX_SAFE_INTEGER),
          remaining: safeInteger().nullable().exactOptional(),
        })
        .nullable()
        .exactOptional(),
    }),
  ),
)
