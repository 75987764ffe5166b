/** What answers look like (contract/gateway 3 and 4), for the document and for tests. */
import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'
import { cost, count, generationId, ServiceMetadata } from '../../inference-http/answer-schemas.js'

const freeObject = z.record(z.string(), z.unknown())

const Usage = nameSchema(
  'ChatUsage',
  z.object({
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: z.object({
      cached_tokens: count,
      cache_write_tokens: count,
      audio_tokens: count,
      image_tokens: count.optional(),
      video_tokens: count.optional(),
      cache_creation: z
        .object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count })
        .optional()
        .meta({ description: 'How long what was written is kept; there where some of it is for an hour.' }),
    }),
    completion_tokens_details: z.object({
      reasoning_tokens: count,
      audio_tokens: count,
      image_tokens: count.optional(),
      accepted_prediction_tokens: count.optional(),
      rejected_prediction_tokens: count.optional(),
    }),
    server_tool_use_details: z
      .object({
        tool_calls_requested: count.optional(),
        tool_calls_executed: count.optional(),
        web_search_requests: count.optional(),
        web_fetch_requests: count.optional(),
      })
      .optional()
      .meta({ description: 'What tools of the provider have done, where it says so.' }),
    ...cost,
  }),
)

const TokenChance = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()).nullable() })
const TokenLogprob = TokenChance.extend({ top_logprobs: z.array(TokenChance) })
const Logprobs = z.object({
  content: z.array(TokenLogprob).nullable(),
  refusal: z.array(TokenLogprob).nullable(),
})

const finishReason = z.enum(['tool_calls', 'stop', 'length', 'content_filter', 'error'])

/** Of a message and of what a chunk adds to one. */
const extras = {
  audio: freeObject.optional(),
  images: z.array(freeObject).optional(),
  annotations: z.array(freeObject).optional(),
}

const Message = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  refusal: z.string().nullable(),
  reasoning: z.string().nullable().optional(),
  reasoning_details: z.array(freeObject).optional(),
  tool_calls: z
    .array(
      z.object({
        id: z.string(),
        type: z.literal('function'),
        function: z.object({ name: z.string(), arguments: z.string() }),
      }),
    )
    .min(1)
    .optional(),
  ...extras,
})

const head = { id: generationId, created: z.int(), model: z.string(), provider: z.string() }

const failure = z.object({
  code: z.int(),
  message: z.string(),
  metadata: z.looseObject({ error_type: z.string() }).optional(),
})

/** The stop sequence that ended the choice, where the provider tells it. */
const stopReason = z.string().optional()

export const ChatCompletion = nameSchema(
  'ChatCompletion',
  z.object({
    ...head,
    object: z.literal('chat.completion'),
    choices: z
      .array(
        z.object({
          index: count,
          finish_reason: finishReason,
          native_finish_reason: z.string().nullable(),
          stop_reason: stopReason,
          message: Message,
          logprobs: Logprobs.nullable(),
          error: failure.optional(),
        }),
      )
      .min(1),
    system_fingerprint: z.string().nullable(),
    service_tier: z.string().optional(),
    usage: Usage,
    service_metadata: ServiceMetadata.optional(),
  }),
)

const ToolCallDelta = z.object({
  index: count,
  id: z.string().optional(),
  type: z.literal('function').optional(),
  function: z.object({ name: z.string().optional(), arguments: z.string().optional() }),
})

const ChunkDelta = z.object({
  role: z.literal('assistant').optional(),
  content: z.string().optional(),
  reasoning: z.string().optional(),
  reasoning_details: z.array(freeObject).optional(),
  refusal: z.string().optional(),
  tool_calls: z.array(ToolCallDelta).min(1).optional(),
  ...extras,
})

const ServiceTool = z
  .object({
    state: z.enum(['started', 'completed', 'failed']),
    name: z.string(),
    tool_call_id: z.string(),
    arguments: z.string().optional(),
    cost: z.number().optional(),
  })
  .meta({
    description: 'A tool that the gateway runs begins or ends; with `X-Service-Tool-Events: enabled`.',
  })

export const ChatCompletionChunk = nameSchema(
  'ChatCompletionChunk',
  z.object({
    ...head,
    object: z.literal('chat.completion.chunk'),
    choices: z.array(
      z.object({
        index: count,
        delta: ChunkDelta,
        finish_reason: finishReason.nullable(),
        native_finish_reason: z.string().nullable().optional(),
        stop_reason: stopReason,
        logprobs: Logprobs.optional(),
      }),
    ),
    system_fingerprint: z.string().optional(),
    service_tier: z.string().optional(),
    usage: Usage.optional(),
    error: failure.optional(),
    debug: z.object({ echo_upstream_body: freeObject }).optional(),
    service_metadata: ServiceMetadata.optional(),
    service_tool: ServiceTool.optional(),
  }),
)
