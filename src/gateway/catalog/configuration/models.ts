/** Models in the configuration file. */
import { z } from 'zod'
import type { EndpointConfig, ModelConfig } from './gateway-config.js'
import { parsePrices, pricesSchema, wirePricing } from './prices.js'
import { integerBetween, nonEmptyText, slug, tokens } from './values.js'

/** As callers name them (contract/gateway 2.7). */
export const QUANTIZATIONS = [
  'int4',
  'int8',
  'fp4',
  'mxfp4',
  'nvfp4',
  'fp6',
  'fp8',
  'mxfp8',
  'fp16',
  'bf16',
  'fp32',
  'unknown',
] as const

/** Parameters of a chat request that a model may or may not support, as public clients name them. */
const CHAT_PARAMETERS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'top_a',
  'frequency_penalty',
  'presence_penalty',
  'repetition_penalty',
  'max_tokens',
  'max_completion_tokens',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'prediction',
  'seed',
  'response_format',
  'structured_outputs',
  'stop',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'include_reasoning',
  'reasoning',
  'reasoning_effort',
  'web_search_options',
  'verbosity',
] as const

/** Parameters of audio requests; an endpoint has those that its configuration names. */
const AUDIO_PARAMETERS = ['speed', 'diarize', 'keyterms'] as const

const NAMED_PARAMETERS = [...CHAT_PARAMETERS, ...AUDIO_PARAMETERS] as const

const INPUT_MODALITIES = ['text', 'image', 'file', 'audio', 'video'] as const

const OUTPUT_MODALITIES = [
  'text',
  'image',
  'embeddings',
  'audio',
  'video',
  'rerank',
  'decisions',
  'speech',
  'transcription',
] as const

function enumOf<const T extends readonly [string, ...string[]]>(
  names: T,
): z.ZodEnum<{ [N in T[number]]: N }> {
  return z.enum(names, `must be one of ${names.join(', ')}`)
}

/** A list without repeats, of at least one name. */
function nonEmptyListOf<const T extends readonly [string, ...string[]]>(
  names: T,
): z.ZodType<T[number][], T[number][]> {
  return z
    .array(enumOf(names))
    .min(1, 'must not be empty')
    .refine((list) => new Set(list).size === list.length, 'names something twice')
}

/** Tiers an endpoint may have; `fast` is another word for `priority`. */
const SERVICE_TIERS = ['default', 'flex', 'priority', 'scale', 'ultrafast'] as const

const endpointSchemaWith = (behaviour: z.ZodType) =>
  z.strictObject({
    provider: slug.describe('A provider of this file, or the built-in sim.'),
    upstream_model: nonEmptyText(200)
      .optional()
      .describe('Name of the model at the provider; its id when absent.'),
    prices: pricesSchema.prefault({}).describe('Dollars per token, and per request; free when absent.'),
    context_length: tokens.optional(),
    max_completion_tokens: tokens.optional(),
    quantization: enumOf(QUANTIZATIONS).optional(),
    supported_parameters: nonEmptyListOf(NAMED_PARAMETERS).optional(),
    service_tiers: nonEmptyListOf(SERVICE_TIERS).optional().describe('Tiers it has; unknown when absent.'),
    simulation: behaviour.optional().describe('Behaviour, for providers of kind simulated.'),
  })

/** An entry of `models`; `behaviour` is the schema of a simulated endpoint's `simulation`. */
export const modelSchemaWith = (behaviour: z.ZodType) =>
  z.strictObject({
    name: nonEmptyText(200).optional(),
    description: nonEmptyText(10_000).optional(),
    created: integerBetween(0, 10_000_000_000).default(0).describe('Unix seconds.'),
    context_length: tokens.optional(),
    max_completion_tokens: tokens.optional(),
    input_modalities: nonEmptyListOf(INPUT_MODALITIES).default(['text']),
    output_modalities: nonEmptyListOf(OUTPUT_MODALITIES).default(['text']),
    supported_parameters: nonEmptyListOf(NAMED_PARAMETERS).default([...CHAT_PARAMETERS]),
    supported_voices: z
      .array(nonEmptyText(256))
      .min(1, 'must not be empty')
      .optional()
      .describe('Of models that speak; any is passed on when absent.'),
    knowledge_cutoff: z.iso.date('must be a date such as 2025-01-31').optional(),
    hugging_face_id: nonEmptyText(200).optional(),
    endpoints: z
      .array(endpointSchemaWith(behaviour))
      .min(1, 'must hold at least one endpoint')
      .describe('In order of preference.'),
  })

type ModelFileEntry = z.output<ReturnType<typeof modelSchemaWith>>
type EndpointFileEntry = ModelFileEntry['endpoints'][number]

/** What an endpoint's `simulation` comes to, from its provider and what the file gives. */
type ResolveSimulation = (provider: string, given: unknown) => unknown

/** A checked entry as configuration. */
export function toModelConfig(
  id: string,
  entry: ModelFileEntry,
  simulationOf: ResolveSimulation,
): ModelConfig {
  return {
    id,
    name: entry.name ?? id,
    description: entry.description ?? '',
    created: entry.created,
    contextLength: entry.context_length ?? null,
    inputModalities: entry.input_modalities,
    outputModalities: entry.output_modalities,
    supportedVoices: entry.supported_voices ?? null,
    knowledgeCutoff: entry.knowledge_cutoff ?? null,
    huggingFaceId: entry.hugging_face_id ?? null,
    endpoints: entry.endpoints.map((endpoint) => toEndpointConfig(id, entry, endpoint, simulationOf)),
  }
}

function toEndpointConfig(
  id: string,
  model: ModelFileEntry,
  endpoint: EndpointFileEntry,
  simulationOf: ResolveSimulation,
): EndpointConfig {
  return {
    provider: endpoint.provider,
    upstreamModel: endpoint.upstream_model ?? id,
    prices: parsePrices(endpoint.prices),
    pricing: wirePricing(endpoint.prices),
    contextLength: endpoint.context_length ?? model.context_length ?? null,
    maxCompletionTokens: endpoint.max_completion_tokens ?? model.max_completion_tokens ?? null,
    quantization: endpoint.quantization ?? null,
    supportedParameters: endpoint.supported_parameters ?? model.supported_parameters,
    serviceTiers: endpoint.service_tiers ?? null,
    simulation: simulationOf(endpoint.provider, endpoint.simulation),
  }
}
