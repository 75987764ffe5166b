/** Models in the configuration file. */
import { z } from 'zod'
import { pricesSchema } from './prices.js'
import { camelCased, flag, integerBetween, MODEL_NAME, nonEmptyText, orNull, slug, tokens } from './values.js'

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
export const CHAT_PARAMETERS = [
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
  'verbosity',
] as const

export type ChatParameter = (typeof CHAT_PARAMETERS)[number]

/** Parameters of other requests; an endpoint has those that its configuration names. */
const OTHER_PARAMETERS = [
  ...['speed', 'instructions', 'diarize', 'keyterms', 'prompt', 'chunking_strategy', 'dimensions'],
] as const

/** Of models that embed and do nothing else, where the configuration does not say. */
const EMBEDDING_PARAMETERS: readonly string[] = ['dimensions']

const NAMED_PARAMETERS = [...CHAT_PARAMETERS, ...OTHER_PARAMETERS] as const

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

/** A list without repeats, of at least one name. */
function nonEmptyListOf<const T extends readonly [string, ...string[]]>(
  names: T,
): z.ZodType<T[number][], T[number][]> {
  return z
    .array(z.enum(names))
    .min(1, 'must not be empty')
    .refine((list) => new Set(list).size === list.length, 'names something twice')
}

/** Tiers an endpoint may have; `fast` is another word for `priority`. */
const SERVICE_TIERS = ['default', 'flex', 'priority', 'scale', 'ultrafast'] as const

const endpointSchemaWith = (behaviour: z.ZodType) =>
  z
    .strictObject({
      provider: slug.describe('A provider of this file, or the built-in sim.'),
      upstream_model: orNull(
        nonEmptyText(200).describe(
          'Name of the model at the provider; its id when absent. Of an entry with a `*` the `*` stands for what callers write there; when absent it is what follows the last slash.',
        ),
      ),
      prices: pricesSchema
        .optional()
        .describe('Dollars per token, and per request; the prices of the model when absent.'),
      context_length: orNull(tokens),
      max_completion_tokens: orNull(tokens),
      quantization: orNull(z.enum(QUANTIZATIONS)),
      region: orNull(
        nonEmptyText(64).describe('Where it stands, as routing metadata and the ledger tell it.'),
      ),
      supported_parameters: orNull(nonEmptyListOf(NAMED_PARAMETERS)),
      service_tiers: orNull(nonEmptyListOf(SERVICE_TIERS).describe('Tiers it has; unknown when absent.')),
      simulation: behaviour.optional().describe('Behaviour, for providers of kind simulated.'),
    })
    .transform(camelCased)

/** How dear a model is among its peers, in the words of `cost_tier` (contract/gateway 2.10), cheapest first. */
export const COST_TIERS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

export type CostTier = (typeof COST_TIERS)[number]

const score = z
  .number('must be a number from 0 to 1')
  .min(0, 'must be a number from 0 to 1')
  .max(1, 'must be a number from 0 to 1')

/** One figure is that of all tasks. */
const quality = z
  .union(
    [score, z.record(slug, score).refine((tasks) => Object.keys(tasks).length > 0, 'must not be empty')],
    'must be a number from 0 to 1, or such a number for each task',
  )
  .transform(
    (given): Readonly<Record<string, number>> => (typeof given === 'number' ? { overall: given } : given),
  )

/** An entry of `models`; `behaviour` is the schema of a simulated endpoint's `simulation`. */
export const modelSchemaWith = (behaviour: z.ZodType) =>
  z
    .strictObject({
      name: nonEmptyText(200).optional(),
      description: nonEmptyText(10_000).optional(),
      created: integerBetween(0, 10_000_000_000).default(0).describe('Unix seconds.'),
      prices: pricesSchema
        .prefault({})
        .describe('Of its endpoints that have none of their own; free when absent.'),
      context_length: orNull(tokens),
      max_completion_tokens: orNull(tokens),
      categories: z.array(nonEmptyText(64)).default([]).describe('What `GET /models?category=` finds it by.'),
      input_modalities: nonEmptyListOf(INPUT_MODALITIES).default(['text']),
      output_modalities: nonEmptyListOf(OUTPUT_MODALITIES).default(['text']),
      supported_parameters: orNull(
        nonEmptyListOf(NAMED_PARAMETERS).describe(
          'Parameters that its endpoints have; others are left out. What servers of that kind take when absent.',
        ),
      ),
      distillable: flag
        .default(false)
        .describe('Whether its author permits that other models are trained on its text.'),
      supported_voices: orNull(
        z
          .array(nonEmptyText(256))
          .min(1, 'must not be empty')
          .describe('Of models that speak; any is passed on when absent.'),
      ),
      knowledge_cutoff: orNull(z.iso.date('must be a date such as 2025-01-31')),
      hugging_face_id: orNull(nonEmptyText(200)),
      quality: orNull(
        quality.describe(
          'How good its answers are, from 0 to 1, or by task (`overall`, `coding`): what routers choose by. None of them takes a model without.',
        ),
      ),
      tier: orNull(
        z
          .enum(COST_TIERS)
          .describe('How dear it is among its peers: what `cost_tier` of the routers asks for.'),
      ),
      endpoints: z
        .array(endpointSchemaWith(behaviour))
        .min(1, 'must hold at least one endpoint')
        .describe('In order of preference.'),
    })
    .transform(camelCased)

export type ModelConfig = ReturnType<typeof toModelConfig>

/** What the providers of the file say about their endpoints. */
interface EndpointDefaults {
  /** What an endpoint's `simulation` comes to, from its provider and what the file gives. */
  readonly simulationOf: (provider: string, given: unknown) => unknown
  /** Parameters of a provider's endpoints for which the file lists none. */
  readonly parametersOf: (provider: string) => readonly string[]
}

/** Whether an entry stands for all models whose ids begin so. */
export function isPrefixEntry(id: string): boolean {
  return id.endsWith('*')
}

/** What an id has in the place of the entry's `*`; null when it does not fall under it. */
export function restBehind(entry: string, id: string): string | null {
  const length = entry.length - 1
  const falls = id.length > length && id.startsWith(entry.slice(0, -1)) && MODEL_NAME.test(id)
  return falls ? id.slice(length) : null
}

/** `openai/*` is whatever stands for the `*`, and `openai/gpt-4o*` begins with `gpt-4o` there as well. */
function defaultUpstreamName(id: string): string {
  return isPrefixEntry(id) ? id.slice(id.lastIndexOf('/') + 1) : id
}

/** A checked entry as configuration. */
export function toModelConfig(
  id: string,
  entry: z.output<ReturnType<typeof modelSchemaWith>>,
  { simulationOf, parametersOf }: EndpointDefaults,
) {
  const {
    name,
    description,
    endpoints,
    prices: shared,
    supportedParameters,
    maxCompletionTokens,
    ...rest
  } = entry
  const embeds = rest.outputModalities.every((modality) => modality === 'embeddings')
  return {
    ...rest,
    id,
    name: name ?? id,
    description: description ?? '',
    endpoints: endpoints.map(({ prices, simulation, ...endpoint }) => ({
      ...endpoint,
      ...(prices ?? shared),
      upstreamModel: endpoint.upstreamModel ?? defaultUpstreamName(id),
      contextLength: endpoint.contextLength ?? rest.contextLength,
      maxCompletionTokens: endpoint.maxCompletionTokens ?? maxCompletionTokens,
      supportedParameters:
        endpoint.supportedParameters ??
        supportedParameters ??
        (embeds ? EMBEDDING_PARAMETERS : parametersOf(endpoint.provider)),
      /** Behaviour of a simulated endpoint, already validated; null for real ones. */
      simulation: simulationOf(endpoint.provider, simulation),
    })),
  }
}
