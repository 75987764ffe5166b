/** What answers look like (contract/gateway 5.6 to 5.8), for the document and for tests. */
import { z } from 'zod'
import { MESSAGES_STOP_REASONS } from '../../gateway/formats/messages.js'
import { nameSchema } from '../../http/json-schema.js'
import { cost, count, generationId, ServiceMetadata } from '../../inference-http/answer-schemas.js'

const open = z.looseObject({})

/** Figures of a stream may grow: at its start some are not known yet. */
const Usage = nameSchema(
  'MessagesUsage',
  z.looseObject({
    input_tokens: count,
    output_tokens: count,
    cache_creation: z
      .looseObject({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })
      .nullable(),
    cache_creation_input_tokens: count.nullable(),
    cache_read_input_tokens: count.nullable(),
    inference_geo: z.string().nullable(),
    output_tokens_details: z.looseObject({ thinking_tokens: count }).nullable(),
    server_tool_use: z.looseObject({ web_search_requests: count }).nullable(),
    service_tier: z.string().nullable(),
    cost: cost.cost.optional(),
    cost_details: cost.cost_details.optional(),
    is_byok: cost.is_byok.optional(),
  }),
)

const Final = Usage.required({ cost: true, cost_details: true, is_byok: true })

const Citation = z.looseObject({ type: z.string(), cited_text: z.string() })

/** The kinds with members of their own; others are passed on as the provider sent them. */
const Block = nameSchema(
  'MessagesAnswerBlock',
  z.union([
    z.looseObject({ type: z.literal('text'), text: z.string(), citations: z.array(Citation) }),
    z.looseObject({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: z.unknown(),
      caller: z.looseObject({ type: z.string() }),
    }),
    z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() }),
    z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() }),
    z.looseObject({
      type: z
        .string()
        .meta({ not: { enum: ['text', 'tool_use', 'thinking', 'redacted_thinking'] } })
        .refine((type) => !['text', 'tool_use', 'thinking', 'redacted_thinking'].includes(type)),
    }),
  ]),
)

const StopReason = z.enum(MESSAGES_STOP_REASONS).nullable()

const StopDetails = z.looseObject({ type: z.string() }).nullable()
const Container = z.looseObject({ id: z.string() }).nullable()
const Edits = z.looseObject({ applied_edits: z.array(open) }).nullable()

const message = {
  id: generationId,
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(Block),
  stop_sequence: z.string().nullable(),
  stop_details: StopDetails,
  container: Container,
  provider: z.string(),
}

export const MessagesReply = nameSchema(
  'MessagesReply',
  z.object({
    ...message,
    stop_reason: StopReason,
    usage: Final,
    context_management: Edits.optional(),
    service_metadata: ServiceMetadata.optional(),
  }),
)

const ErrorDetail = z.object({ type: z.string(), message: z.string(), error_type: z.string().optional() })

export const MessagesStreamEvent = nameSchema(
  'MessagesStreamEvent',
  z.discriminatedUnion('type', [
    z.object({
      type: z.literal('message_start'),
      message: z.object({ ...message, content: z.array(Block).max(0), stop_reason: z.null(), usage: Usage }),
    }),
    z.object({ type: z.literal('ping') }),
    // Only for callers who ask for it.
    z.object({
      type: z.literal('service_tool'),
      service_tool: z.looseObject({
        state: z.enum(['started', 'completed', 'failed']),
        name: z.string(),
        tool_call_id: z.string(),
      }),
    }),
    z.object({ type: z.literal('content_block_start'), index: count, content_block: Block }),
    z.object({
      type: z.literal('content_block_delta'),
      index: count,
      delta: z.looseObject({ type: z.string() }),
    }),
    z.object({ type: z.literal('content_block_stop'), index: count }),
    z.object({
      type: z.literal('message_delta'),
      delta: z.object({
        stop_reason: StopReason,
        stop_sequence: z.string().nullable(),
        stop_details: StopDetails,
        container: Container,
      }),
      usage: Final,
      context_management: Edits.optional(),
    }),
    z.object({ type: z.literal('message_stop'), service_metadata: ServiceMetadata.optional() }),
    z.object({
      type: z.literal('error'),
      error: ErrorDetail,
      request_id: z.string().nullable(),
      metadata: open.optional(),
      service_metadata: ServiceMetadata.optional(),
    }),
  ]),
)

export const MessagesCount = nameSchema('MessagesCount', z.object({ input_tokens: count }))
