/** Models, endpoints and providers as the models operations answer them (contract/gateway 11.1 and 11.2). */
import { z } from 'zod'
import type { ListedModel, Model, ModelEndpoint } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import { endpointTag } from '../../gateway/routing/preferences.js'
import { recordEncoder } from '../../http/answers.js'
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
    input_cache_write_1h: z.string().optional(),
    internal_reasoning: z.string().optional(),
    audio: z.string().optional(),
    audio_output: z.string().optional(),
    image_token: z.string().optional(),
    image_output: z.string().optional(),
    input_video_token: z.string().optional(),
    audio_second: z.string().optional().meta({ description: 'Dollars per second of transcribed audio.' }),
    input_character: z.string().optional().meta({ description: 'Dollars per character of spoken text.' }),
    request: z.string().optional().meta({ description: 'Dollars per request.' }),
    image: z.string().optional().meta({ description: 'Dollars per picture in the question.' }),
    output_image: z.string().optional().meta({ description: 'Dollars per picture in the answer.' }),
    web_search: z.string().optional().meta({ description: 'Dollars per web search.' }),
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
    alias_target: z
      .object({ slug: z.string(), name: z.string() })
      .optional()
      .meta({ description: 'The model that this is a further name of.' }),
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

const EndpointBody = nameSchema(
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

const Provider = z.object({
  name: z.string(),
  slug: z.string(),
  privacy_policy_url: optionalText,
  terms_of_service_url: optionalText,
  status_page_url: optionalText,
})

export const ProviderList = nameSchema('ProviderList', z.object({ data: z.array(Provider) }))
export const encodeProvider = recordEncoder(Provider)

type WireModel = z.output<typeof ModelBody>
type WireEndpoint = z.output<typeof EndpointBody>

/** A model; prices and limits are those of the endpoint that is tried first. */
export function modelBody(model: ListedModel): WireModel {
  const first = model.endpoints[0]!
  return {
    id: model.id,
    object: 'model',
    owned_by: vendorOfModel(model),
    canonical_slug: (model.aliasOf ?? model).id,
    ...(model.aliasOf !== undefined && {
      alias_target: { slug: model.aliasOf.id, name: model.aliasOf.name },
    }),
    name: model.name,
    created: model.created,
    description: model.description,
    context_length: model.contextLength ?? first.contextLength,
    architecture: architectureOf(model),
    pricing: pricingOf(first),
    top_provider: {
      is_moderated: false,
      context_length: first.contextLength,
      max_completion_tokens: first.maxCompletionTokens,
    },
    per_request_limits: null,
    supported_parameters: supportedParametersOf(model),
    default_parameters: null,
    supported_voices: model.supportedVoices === null ? null : [...model.supportedVoices],
    knowledge_cutoff: model.knowledgeCutoff ?? null,
    hugging_face_id: model.huggingFaceId ?? null,
    links: {
      details: `/api/v1/models/${model.id.split('/').length === 2 ? model.id : encodeURIComponent(model.id)}/endpoints`,
    },
  }
}

/** What some endpoint supports, the model supports. */
export function supportedParametersOf(model: Model): string[] {
  return [...new Set(model.endpoints.flatMap(({ supportedParameters }) => [...supportedParameters]))]
}

/** Who made it, as far as its id says so; otherwise who serves it first. */
function vendorOfModel({ id, endpoints }: Model): string {
  return id.includes('/') ? id.slice(0, id.indexOf('/')) : endpoints[0]!.provider.slug
}

function architectureOf({ inputModalities, outputModalities }: Model): WireModel['architecture'] {
  return {
    modality: `${inputModalities.join('+')}->${outputModalities.join('+')}`,
    input_modalities: [...inputModalities],
    output_modalities: [...outputModalities],
    instruct_type: null,
  }
}

/** The catalogue has both required prices in every record. */
function pricingOf({ pricing }: ModelEndpoint): WireModel['pricing'] {
  return { prompt: '0', completion: '0', ...pricing }
}

/** A model with all its endpoints. */
export function modelEndpointsBody(model: Model, health: HealthRegistry): Record<string, unknown> {
  const { id, name, created, description } = model
  return {
    id,
    name,
    created,
    description,
    architecture: { ...architectureOf(model), tokenizer: null },
    endpoints: model.endpoints.map((endpoint) => endpointBody(endpoint, health)),
  }
}

/** Milliseconds, and tokens per second. Figures fade with a half-life of ten minutes; none are told without calls. */
export function endpointBody(endpoint: ModelEndpoint, health: HealthRegistry): WireEndpoint {
  const known = health.of(endpoint)
  const now = health.now()
  const { model, provider, supportedParameters } = endpoint
  const choosesTools = supportedParameters.has('tool_choice')
  return {
    name: `${provider.name} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: provider.name,
    tag: endpointTag(endpoint),
    context_length: endpoint.contextLength ?? model.contextLength ?? 0,
    max_completion_tokens: endpoint.maxCompletionTokens,
    max_prompt_tokens: null,
    quantization: endpoint.quantization,
    pricing: pricingOf(endpoint),
    supported_parameters: [...supportedParameters],
    supports_implicit_caching: false,
    supports_tool_choice: {
      none: choosesTools,
      auto: choosesTools,
      required: choosesTools,
      function: choosesTools,
    },
    uptime_last_5m: known.uptime.percent(now, 5),
    uptime_last_30m: known.uptime.percent(now, 30),
    uptime_last_1d: known.uptime.percent(now, 1440),
    latency_last_30m: known.latency.quantiles(now),
    throughput_last_30m: known.throughput.quantiles(now),
    status: endpoint.hasBreaker && known.breaker.state(now) !== 'closed' ? -1 : 0,
  }
}
