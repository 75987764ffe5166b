/** What the caller's `provider` preferences exclude (contract/gateway 2.7). */
import { Fault } from '../../base/fault.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderPreferences, RoutedRequest } from '../formats/canonical.js'

const SLUG_LISTS = ['order', 'only', 'ignore'] as const

/** A misspelt provider would otherwise exclude everything, or nothing, without a word. Throws `item-not-found`. */
export function requireKnownProviders(catalog: Catalog, preferences: ProviderPreferences): void {
  for (const list of SLUG_LISTS) {
    for (const slug of preferences[list] ?? []) {
      if (catalog.providers.some((entry) => entry.slug === slug) || isEndpointTag(catalog, slug)) continue
      const known = catalog.providers.map((entry) => entry.slug).join(', ')
      throw notFoundFault(`provider.${list}: there is no provider ${slug}; there are ${known}`)
    }
  }
}

/** `slug/quantization` of an endpoint, as the endpoints operation tells it. */
function isEndpointTag({ models }: Catalog, named: string): boolean {
  return (
    named.includes('/') &&
    models.some(({ endpoints }) => endpoints.some((each) => matchesProviderName(each, named)))
  )
}

export function notFoundFault(note: string): Fault {
  return new Fault('item-not-found', { note, metadata: { error_type: 'not_found' } })
}

/** A slug stands for all endpoints of a provider, with a quantization behind it for those that have it. */
function matchesProviderName({ provider: { slug }, quantization }: ModelEndpoint, named: string): boolean {
  if (slug === named) return true
  const rest = slug.length
  return named.startsWith(slug) && named[rest] === '/' && named.slice(rest + 1) === quantization
}

function listNamesEndpoint(list: readonly string[] | null | undefined, endpoint: ModelEndpoint): boolean {
  return list?.some((named) => matchesProviderName(endpoint, named)) ?? false
}

/** Place of an endpoint in the caller's `order`; behind all of it when it is not named. */
export function positionInOrder(order: readonly string[], endpoint: ModelEndpoint): number {
  const at = order.findIndex((named) => matchesProviderName(endpoint, named))
  return at < 0 ? order.length : at
}

/** What a request wants the answer to be made of and a model does not give; null when there is no such thing. */
export function missingModality(
  { outputModalities }: ModelEndpoint['model'],
  { modalities = [] }: RoutedRequest,
): string | null {
  return modalities.find((modality) => !outputModalities.includes(modality)) ?? null
}

/** Why a request, or the preferences in it, excludes an endpoint; null when they do not. */
export function exclusionReason(endpoint: ModelEndpoint, request: RoutedRequest): string | null {
  const missing = missingModality(endpoint.model, request)
  if (missing !== null) return `does not answer with ${missing}`
  const preferences = request.provider
  if (preferences === undefined || preferences === null) return null
  const { only, ignore, quantizations } = preferences
  if (only !== undefined && only !== null && !listNamesEndpoint(only, endpoint)) return 'not in provider.only'
  if (listNamesEndpoint(ignore, endpoint)) return 'in provider.ignore'
  if (preferences.data_collection === 'deny' && endpoint.collectsData) return 'collects data'
  if (preferences.zdr === true && !endpoint.zeroDataRetention) return 'keeps data'
  // No model of a catalogue says yet that its author permits it.
  if (preferences.enforce_distillable_text === true) return 'does not say that its text may be distilled'
  if (quantizations !== undefined && quantizations !== null) {
    const own = endpoint.quantization ?? 'unknown'
    if (!quantizations.includes(own)) return `its quantization is ${own}`
  }
  if (preferences.require_parameters === true) {
    const unsupported = unsupportedParameter(endpoint, request)
    if (unsupported !== null) return `does not support ${unsupported}`
  }
  return priceExclusion(endpoint, preferences.max_price)
}

/** Members of every request that say something to the gateway and nothing to the model. */
const COMMON_GATEWAY_MEMBERS = [
  'model',
  'models',
  'provider',
  'route',
  'stream',
  'plugins',
  'session_id',
  'user',
  'trace',
  'metadata',
  'service_tier',
] as const

const TEXT_GATEWAY_MEMBERS: ReadonlySet<string> = new Set([
  ...COMMON_GATEWAY_MEMBERS,
  'messages',
  'system',
  'stream_options',
  'debug',
  'stop_server_tools_when',
  'max_tool_calls',
  'cache_control',
  'prompt_cache_options',
  'prompt_cache_key',
  'modalities',
  'audio',
  'speed',
  'context_management',
])

/** Of requests that are spoken or heard: what they are about, and how the answer is written down. */
const AUDIO_GATEWAY_MEMBERS: ReadonlySet<string> = new Set([
  ...COMMON_GATEWAY_MEMBERS,
  'input',
  'voice',
  'audio',
  'language',
  'response_format',
  'timestamp_granularities',
])

/** Parameters for which the messages format has a word of its own; catalogues have those of chat. */
const CHAT_PARAMETER_NAMES: ReadonlyMap<string, string> = new Map([
  ['stop_sequences', 'stop'],
  ['thinking', 'reasoning'],
  ['output_config', 'response_format'],
])

function unsupportedParameter(endpoint: ModelEndpoint, request: RoutedRequest): string | null {
  const ours = 'messages' in request ? TEXT_GATEWAY_MEMBERS : AUDIO_GATEWAY_MEMBERS
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || ours.has(name)) continue
    // Effort belongs to the thinking, which has a member of its own.
    if (name === 'output_config' && (value as { format?: unknown }).format == null) continue
    if (!endpoint.supportedParameters.has(CHAT_PARAMETER_NAMES.get(name) ?? name)) return name
  }
  return null
}

const MILLION = 1_000_000

/** `max_price` counts dollars per million tokens, and dollars per request and per picture. */
function priceExclusion(
  { prices, model }: ModelEndpoint,
  limits: ProviderPreferences['max_price'],
): string | null {
  if (limits === undefined) return null
  // Sound without a price of its own costs what other tokens do.
  const audio = prices.inputAudio ?? (model.inputModalities.includes('audio') ? prices.prompt : 0)
  const kinds = [
    ['prompt', prices.prompt, 1],
    ['completion', prices.completion, 1],
    ['audio', audio, 1],
    ['request', prices.request * MILLION, MILLION],
    ['image', prices.inputImage * MILLION, MILLION],
  ] as const
  for (const [kind, nanosPerMillion, per] of kinds) {
    const limit = limits[kind]
    if (limit !== undefined && nanosPerMillion > Number(limit) * 1e9 * per)
      return `dearer than max_price.${kind}`
  }
  return null
}
