/**
 * The body of a messages request: every field of contract/gateway 5.1 with its type and bounds. Rules that join
 * fields stand in decode.ts, which makes the request the gateway works with.
 */

import { z } from 'zod'
import { boundedInteger, boundedNumber, boundedString, limitDepth, safeInteger } from '../../http/fields.js'
import { failFast } from '../../http/first-violation.js'
import { nameSchema } from '../../http/json-schema.js'
import { plugin } from '../../inference-http/plugins.js'
import * as shared from '../../inference-http/request-members.js'
import { block, cached, systemBlock, textBlock, tool, toolChoice } from './schema-blocks.js'

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

const contextManagement = nameSchema(
  'MessagesContextManagement',
  limitDepth(z.looseObject({ edits: z.array(edit).exactOptional() })),
)

const shown = {
  display: z.enum(['summarized', 'omitted', 'updates']).nullable().exactOptional(),
  block_binding: z.looseObject({}).exactOptional(),
}

const thinking = nameSchema(
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

const effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max'])

const outputConfig = nameSchema(
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

/** Most stop sequences; each is looked for in the whole answer. */
const MOST_STOPS = 64

const MOST_FALLBACKS = 3

const ofAnyone = {
  clear_at: z.enum(['next_user_message', 'never']).nullable().exactOptional(),
  output_config: z.looseObject({ effort: effort.nullable().exactOptional() }).nullable().exactOptional(),
}

const message = nameSchema(
  'MessagesMessage',
  z.discriminatedUnion('role', [
    z.looseObject({
      role: z.literal(['user', 'assistant']),
      content: z.union([z.string(), z.array(block)]),
      ...ofAnyone,
    }),
    z.looseObject({
      role: z.literal('system'),
      content: z.union([z.string(), z.array(systemBlock)]),
      ...ofAnyone,
    }),
  ]),
)

/** What says to a model what to answer to; counting takes these and needs no more. */
const prompt = {
  model: shared.modelId,
  messages: limitDepth(z.array(message).min(1)),
  system: z.union([z.string(), limitDepth(z.array(textBlock))]).exactOptional(),
  tools: limitDepth(z.array(tool)).exactOptional(),
  tool_choice: toolChoice.exactOptional(),
  thinking: thinking.exactOptional(),
  output_config: outputConfig.exactOptional(),
  context_management: contextManagement.nullable().exactOptional(),
  speed: z.enum(['fast', 'standard']).nullable().exactOptional(),
  ...cached,
}

const sampling = {
  temperature: boundedNumber(0, 2).exactOptional(),
  top_p: boundedNumber(0, 1).exactOptional(),
  top_k: safeInteger().exactOptional(),
  stop_sequences: z.array(z.string()).max(MOST_STOPS).exactOptional(),
  stream: z.boolean().exactOptional(),
  service_tier: boundedString(1, 64).nullable().exactOptional(),
}

const routing = {
  ...shared.routing,
  fallbacks: z
    .array(z.strictObject({ model: shared.modelId }))
    .max(MOST_FALLBACKS)
    .nullable()
    .exactOptional(),
  plugins: z.array(plugin).exactOptional(),
  stop_server_tools_when: z.array(shared.stopCondition).min(1).exactOptional(),
}

const identity = {
  ...shared.identity,
  metadata: z.looseObject({ user_id: shared.identifier.nullable().exactOptional() }).exactOptional(),
}

const fields = z.object({
  ...prompt,
  max_tokens: safeInteger(1),
  ...sampling,
  ...routing,
  ...identity,
  ...shared.serverState,
})
const counted = z.object({
  ...prompt,
  max_tokens: safeInteger(1).exactOptional(),
  ...routing,
  ...identity,
  ...shared.serverState,
})

/** What a caller may send: a messages request, and the members that decode.ts judges and takes out. */
export type MessagesBody = z.output<typeof fields>
export type CountBody = z.output<typeof counted>

/** Tells the first violation only; members that are not of the contract are dropped. */
export const messagesBody: z.ZodType<MessagesBody> = failFast(nameSchema('MessagesRequest', fields))

export const countBody: z.ZodType<CountBody> = failFast(nameSchema('MessagesCountRequest', counted))
