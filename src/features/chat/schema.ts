/**
 * The body of a chat request: every field of contract/gateway 2.1 with its type and bounds. Rules that join fields
 * stand in decode.ts, which makes the request the gateway works with.
 */

import { z } from 'zod'
import {
  boundedInteger,
  boundedNumber,
  boundedRecord,
  boundedString,
  finiteNumber,
  openObject,
  optional,
  safeInteger,
  stringMatching,
} from '../../http/fields.js'
import { failFast } from '../../http/first-violation.js'
import { nameSchema } from '../../http/json-schema.js'
import { readOnce } from '../../http/read-once.js'
import { webSearchOptions } from '../../inference-http/plugins.js'
import * as shared from '../../inference-http/request-members.js'
import { message, textPart } from './schema-messages.js'
import { tool, toolChoice } from './schema-tools.js'

const flag = z.boolean().nullable()

const sampling = {
  temperature: boundedNumber(0, 2).nullable(),
  top_p: boundedNumber(0, 1).nullable(),
  top_k: finiteNumber().nullable(),
  top_a: finiteNumber().nullable(),
  min_p: finiteNumber().nullable(),
  frequency_penalty: boundedNumber(-2, 2).nullable(),
  presence_penalty: boundedNumber(-2, 2).nullable(),
  repetition_penalty: finiteNumber().nullable(),
  logit_bias: boundedRecord(stringMatching(/^\d{1,10}$/, 'is not a token id'), finiteNumber()).nullable(),
  seed: boundedInteger(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER).nullable(),
}

const limits = {
  max_tokens: safeInteger(1).nullable(),
  max_completion_tokens: safeInteger(1).nullable(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullable(),
}

const responseFormat = nameSchema(
  'ResponseFormat',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text') }),
    z.object({
      type: z.literal('json_object'),
      ...optional({
        schema: openObject().meta({ description: 'As json_schema with it: a spelling of local servers.' }),
      }),
    }),
    z.object({
      type: z.literal('json_schema'),
      json_schema: z.object({
        name: boundedString(1, 64),
        ...optional({ description: z.string(), schema: openObject(), strict: flag }),
      }),
    }),
    z.object({ type: z.literal('grammar'), grammar: z.string() }),
    z.object({ type: z.literal('python') }),
  ]),
)

const output = {
  logprobs: flag,
  top_logprobs: boundedInteger(0, 20).nullable(),
  stream: flag,
  stream_options: z.object(optional({ include_usage: z.boolean() })).nullable(),
  modalities: z.array(z.enum(['text', 'image', 'audio'])).nullable(),
  // A voice of one's own, told by an id, belongs to the account at the provider.
  audio: z.object({ voice: boundedString(1, 256), format: boundedString(1, 32) }).nullable(),
  image_config: openObject(),
  prediction: z
    .object({ type: z.literal('content'), content: z.union([z.string(), z.array(textPart)]) })
    .nullable(),
  response_format: responseFormat,
  structured_outputs: z.union([z.boolean(), openObject()]).nullable(),
  verbosity: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullable(),
}

const reasoningWish = optional({
  effort: shared.effort.nullable(),
  summary: z.enum(['auto', 'concise', 'detailed']).nullable(),
  max_tokens: safeInteger(1).nullable(),
  exclude: flag,
  enabled: flag,
})
const reasoning = {
  reasoning: z.object(reasoningWish).nullable(),
  reasoning_effort: shared.effort.nullable(),
  include_reasoning: flag,
}

const tools = {
  tools: readOnce(
    z.array(tool).meta({
      description:
        'Functions of the caller, and tools that the gateway runs itself (`service:…`, web search); a tool that is not configured is refused with 400.',
    }),
  ),
  tool_choice: toolChoice,
  parallel_tool_calls: flag,
  web_search_options: webSearchOptions.nullable(),
  ...shared.loopMembers,
}

const routing = {
  model: shared.modelId,
  ...shared.routing,
  service_tier: z.enum(['auto', 'default', 'fast', 'flex', 'priority', 'scale', 'ultrafast']).nullable(),
  cache_control: shared.cacheControl,
  prompt_cache_options: z
    .object(optional({ mode: z.enum(['implicit', 'explicit']), ttl: z.string().nullable() }))
    .nullable(),
  prompt_cache_key: z.string().nullable(),
}

const identifiers = {
  ...shared.identity,
  ...shared.persons,
  metadata: boundedRecord(boundedString(0, 64), boundedString(0, 512), 16).nullable(),
  debug: z.object(optional({ echo_upstream_body: z.boolean() })),
}

/** An older word for a plugin (contract/tools 4.4). */
const transforms = z.array(z.literal('middle-out')).max(1).nullable().meta({
  description: '`["middle-out"]` is the plugin `context-compression`, an empty list switches it off.',
})

/**
 * Fields that would change the answer and that no provider of this version carries out. They are refused unless
 * they change nothing, for a field that is ignored without a word misleads (contract/decisions 10).
 */
const unsupported = {
  preset: shared.unsupportedMember('is not supported'),
  prompt: shared.unsupportedMember('is not supported: use messages'),
  n: shared.unsupportedMember('must be 1: only one choice is supported', (value) => value === 1),
  functions: shared.unsupportedMember('is not supported: use tools', shared.isEmptyList),
  function_call: shared.unsupportedMember(
    'is not supported: use tool_choice',
    (value) => value === 'none' || value === 'auto',
  ),
}

const fields = z.object({
  messages: z.array(message).min(1),
  ...optional({
    ...routing,
    ...limits,
    ...sampling,
    ...output,
    ...reasoning,
    ...tools,
    ...identifiers,
    transforms,
    ...unsupported,
    ...shared.serverState,
  }),
})

/** What a caller may send: a canonical request, and the members that decode.ts judges and takes out. */
export type ChatBody = z.output<typeof fields>

/** The members that are of the contract. */
export const chatMembers = fields

/** Tells the first violation only; members that are not of the contract are kept for decode.ts. */
export const chatBody: z.ZodType<ChatBody> = failFast(nameSchema('ChatRequest', z.looseObject(fields.shape)))
