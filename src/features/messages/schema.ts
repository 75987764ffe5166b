/**
 * The body of a messages request: every field of contract/gateway 5.1 with its type and bounds. Rules that join
 * fields stand in decode.ts, which makes the request the gateway works with.
 */

import { z } from 'zod'
import { isPublicSkills } from '../../gateway/formats/extra-members.js'
import {
  boundedInteger,
  boundedNumber,
  boundedString,
  finiteNumber,
  limitDepth,
  limitOpenValue,
  noteOptions,
  optional,
  safeInteger,
} from '../../http/fields.js'
import { failFast } from '../../http/first-violation.js'
import { nameSchema } from '../../http/json-schema.js'
import { readOnce } from '../../http/read-once.js'
import * as shared from '../../inference-http/request-members.js'
import { block, cached, systemBlock, textBlock } from './schema-blocks.js'
import { mcpServer, tool, toolChoice } from './schema-tools.js'

const inputTokens = z.looseObject({ type: z.literal('input_tokens'), value: safeInteger() })
const toolUses = z.looseObject({ type: z.literal('tool_uses'), value: safeInteger() })
const names = z.array(z.string())

const thinkingKept = z
  .discriminatedUnion('type', [
    z.looseObject({ type: z.literal('thinking_turns'), value: safeInteger() }),
    z.looseObject({ type: z.literal('all') }),
  ])
  .meta({ type: 'object' })

const edit = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('clear_tool_uses_20250919'),
    ...optional({
      trigger: z.discriminatedUnion('type', [inputTokens, toolUses]),
      keep: toolUses,
      clear_at_least: inputTokens.nullable(),
      clear_tool_inputs: z.union([z.boolean(), names]).nullable(),
      exclude_tools: names.nullable(),
    }),
  }),
  z.looseObject({
    type: z.literal('clear_thinking_20251015'),
    ...optional({ keep: z.union([z.enum(['all']), thinkingKept]) }),
  }),
  z.looseObject({
    type: z.literal('compact_20260112'),
    ...optional({
      trigger: inputTokens.nullable(),
      pause_after_compaction: z.boolean(),
      instructions: z.string().nullable(),
    }),
  }),
])

const contextManagement = nameSchema(
  'MessagesContextManagement',
  limitDepth(z.looseObject(optional({ edits: z.array(edit) }))),
)

const shown = optional({
  display: z.enum(['summarized', 'omitted', 'updates']).nullable(),
  block_binding: z.looseObject({}),
})

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

const effort = z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullable()

const taskBudget = z.looseObject({
  type: z.literal('tokens'),
  total: boundedInteger(SMALLEST_BUDGET, Number.MAX_SAFE_INTEGER),
  ...optional({ remaining: safeInteger().nullable() }),
})
const outputFormat = z.looseObject({ type: z.literal('json_schema'), schema: z.looseObject({}) })
const outputWishes = optional({
  effort,
  format: outputFormat.nullable(),
  task_budget: taskBudget.nullable(),
})
const outputConfig = nameSchema('MessagesOutputConfig', limitDepth(z.looseObject(outputWishes)))

/** Most stop sequences; each is looked for in the whole answer. */
const MOST_STOPS = 64

const MOST_FALLBACKS = 3
const MOST_MCP_SERVERS = 20

const ofAnyone = optional({
  clear_at: z.enum(['next_user_message', 'never']).nullable(),
  output_config: z.looseObject(optional({ effort })).nullable(),
})

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
  ...optional({
    system: z.union([z.string(), limitDepth(z.array(textBlock))]),
    tools: readOnce(
      limitDepth(z.array(tool)).meta({
        description:
          'Tools of the caller; those that the gateway runs (`service:…`, servers in `mcp_servers`); and names with a date, which a provider of this format runs itself and the gateway elsewhere.',
      }),
    ),
    tool_choice: toolChoice,
    thinking,
    output_config: outputConfig,
    context_management: contextManagement.nullable(),
    speed: z.enum(['fast', 'standard']).nullable(),
  }),
  ...cached,
}

const sampling = {
  temperature: boundedNumber(0, 2),
  top_p: boundedNumber(0, 1),
  top_k: finiteNumber(),
  stop_sequences: z.array(z.string()).max(MOST_STOPS),
  stream: z.boolean(),
  service_tier: boundedString(1, 64).nullable(),
}

type Skills = Readonly<Record<string, unknown>>

/** Members that a messages server carries out, or nobody does. */
const ofTheProvider = {
  container: z
    .custom<Skills>(
      isPublicSkills,
      noteOptions(
        'is not supported but for skills of type anthropic: all else is of the account at the provider',
      ),
    )
    .nullable(),
  inference_geo: boundedString(1, 64).nullable(),
  safeguards: limitOpenValue(z.array(z.looseObject({ type: z.string() }))).nullable(),
  compaction: limitOpenValue(z.looseObject({ type: z.string() })).nullable(),
  /** The former place of `output_config.format`. */
  output_format: outputFormat.nullable(),
}

const fallback = z.strictObject({ model: shared.modelId })

/** What both operations take beside the prompt. */
const others = {
  ...shared.routing,
  fallbacks: z.array(fallback).max(MOST_FALLBACKS).nullable(),
  ...shared.loopMembers,
  ...shared.identity,
  ...shared.persons,
  metadata: z.looseObject(optional({ user_id: shared.identifier.nullable() })),
  ...shared.serverState,
  mcp_servers: z
    .union([z.boolean(), z.array(mcpServer).max(MOST_MCP_SERVERS)])
    .nullable()
    .meta({
      description: 'Servers of tools that the operator has configured, by name. No credential is forwarded.',
    }),
  ...ofTheProvider,
}

const maxTokens = safeInteger(1)
const fields = z.object({ ...prompt, max_tokens: maxTokens, ...optional({ ...sampling, ...others }) })
const counted = z.object({ ...prompt, ...optional({ max_tokens: maxTokens, ...others }) })

/** What a caller may send: a messages request, and the members that decode.ts judges and takes out. */
export type MessagesBody = z.output<typeof fields>
export type CountBody = z.output<typeof counted>

/** The members that are of the contract. */
export const messagesMembers = fields

/** Tells the first violation only; members that are not of the contract are kept for decode.ts. */
export const messagesBody: z.ZodType<MessagesBody> = failFast(
  nameSchema('MessagesRequest', z.looseObject(fields.shape)),
)

export const countBody: z.ZodType<CountBody> = failFast(
  nameSchema('MessagesCountRequest', z.looseObject(counted.shape)),
)
