/** Models, endpoints and providers as the models operations answer them (contract/gateway 11.1 and 11.2). */
import type { z } from 'zod'
import type { CatalogProvider, Model, ModelEndpoint } from '../../gateway/catalog/catalog.js'
import type { HealthRegistry } from '../../gateway/health/health-registry.js'
import type { EndpointBody, ModelBody, ProviderList } from './schema.js'

type WireModel = z.output<typeof ModelBody>
type WireEndpoint = z.output<typeof EndpointBody>
type WireProvider = z.output<typeof ProviderList>['data'][number]

/** A model; prices and limits are those of the endpoint that is tried first. */
export function modelBody(model: Model): WireModel {
  const first = model.endpoints[0]!
  return {
    id: model.id,
    object: 'model',
    owned_by: vendorOf(model),
    canonical_slug: model.id,
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
    links: { details: `/api/v1/models/${model.id}/endpoints` },
  }
}

/** What some endpoint supports, the model supports. */
export function supportedParametersOf(model: Model): string[] {
  return [...new Set(model.endpoints.flatMap(({ supportedParameters }) => [...supportedParameters]))]
}

function vendorOf({ id }: Model): string {
  return id.slice(0, id.indexOf('/'))
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
    tag: tagOf(endpoint),
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
    uptime_last_5m: known.uptime(now, 5),
    uptime_last_30m: known.uptime(now, 30),
    uptime_last_1d: known.uptime(now, 1440),
    latency_last_30m: known.latencyQuantiles(now),
    throughput_last_30m: known.throughputQuantiles(now),
    status: endpoint.hasBreaker && known.breaker.state(now) !== 'closed' ? -1 : 0,
  }
}

/** What callers write to mean the endpoint: the provider, and its quantization where one is known. */
function tagOf({ provider, quantization }: ModelEndpoint): string {
  return quantization === null ? provider.slug : `${provider.slug}/${quantization}`
}

export function providerBody(entry: CatalogProvider): WireProvider {
  return {
    name: entry.name,
    slug: entry.slug,
    privacy_policy_url: entry.privacyPolicyUrl,
    terms_of_service_url: entry.termsOfServiceUrl,
    status_page_url: entry.statusPageUrl,
  }
}
