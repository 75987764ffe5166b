/** What the models operations answer (contract/gateway 11.1 and 11.2). */
import { z } from 'zod'
import { nameSchema } from '../../http/json-schema.js'

const count = z.int().min(0)
const optionalText = z.string().nullable()

const Pricing = nameSchema(
  'ModelPricing',
  z.object({
    prompt: z.string().meta({ description: 'Dollars per token, as a decimal.' }),
    completion: z.string(),
    input_cache_read: z.string().optional(),
    input_cache_write: z.string().optional(),
    internal_reasoning: z.string().optional(),
    audio: z.string().optional(),
    audio_output: z.string().optional(),
    request: z.string().optional().meta({ description: 'Dollars per request.' }),
  }),
)

const Architecture = nameSchema(
  'ModelArchitecture',
  z.object({
    modality: optionalText,
    input_modalities: z.array(z.string()),
    output_modalities: z.array(z.string()),
    tokenizer: optionalText,
    instruct_type: optionalText,
  }),
)

export const ModelBody = nameSchema(
  'Model',
  z.object({
    id: z.string(),
    object: z.literal('model'),
    owned_by: z.string(),
    canonical_slug: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    context_length: count.nullable(),
    architecture: Architecture.omit({ tokenizer: true }),
    pricing: Pricing,
    top_provider: z.object({
      is_moderated: z.boolean(),
      context_length: count.nullable(),
      max_completion_tokens: count.nullable(),
    }),
    per_request_limits: z.null(),
    supported_parameters: z.array(z.string()),
    default_parameters: z.null(),
    supported_voices: z.array(z.string()).nullable(),
    knowledge_cutoff: optionalText,
    hugging_face_id: optionalText,
    links: z.object({ details: z.string() }),
  }),
)

const percentiles = z
  .object({ p50: z.number(), p75: z.number(), p90: z.number(), p99: z.number() })
  .nullable()
  .meta({ description: 'Fading with a half-life of ten minutes; null without calls.' })

const uptime = z.number().nullable().meta({ description: 'Per cent of the calls; null without any.' })

export const EndpointBody = nameSchema(
  'ModelEndpoint',
  z.object({
    name: z.string(),
    model_id: z.string(),
    model_name: z.string(),
    provider_name: z.string(),
    tag: z.string(),
    context_length: count.meta({ description: '0 when it is not known.' }),
    max_completion_tokens: count.nullable(),
    max_prompt_tokens: count.nullable(),
    quantization: optionalText,
    pricing: Pricing,
    supported_parameters: z.array(z.string()),
    supports_implicit_caching: z.boolean(),
    supports_tool_choice: z.object({
      none: z.boolean(),
      auto: z.boolean(),
      required: z.boolean(),
      function: z.boolean(),
    }),
    uptime_last_5m: uptime,
    uptime_last_30m: uptime,
    uptime_last_1d: uptime,
    latency_last_30m: percentiles,
    throughput_last_30m: percentiles,
    status: z.union([z.literal(0), z.literal(-1)]).meta({ description: '-1 while its breaker is open.' }),
  }),
)

export const ModelList = nameSchema(
  'ModelList',
  z.object({
    object: z.literal('list'),
    data: z.array(ModelBody),
    links: z.object({ next: optionalText }),
    total_count: count,
  }),
)

export const ModelCount = z.object({ data: z.object({ count }) })

export const OneModel = z.object({ data: ModelBody })

export const ModelEndpoints = nameSchema(
  'ModelEndpoints',
  z.object({
    data: z.object({
      id: z.string(),
      name: z.string(),
      created: z.int(),
      description: z.string(),
      architecture: Architecture,
      endpoints: z.array(EndpointBody),
    }),
  }),
)

export const EndpointList = z.object({ data: z.array(EndpointBody) })

export const ProviderList = nameSchema(
  'ProviderList',
  z.object({
    data: z.array(
      z.object({
        name: z.string(),
        slug: z.string(),
        privacy_policy_url: optionalText,
        terms_of_service_url: optionalText,
        status_page_url: optionalText,
      }),
    ),
  }),
)
