/** Which endpoints may serve a request, in the order in which they are tried. */
import { Fault } from '../base/fault.js'
import type { ProviderPreferences, RoutedRequest } from './canonical.js'
import type { Catalog, Model, ModelEndpoint } from './catalog.js'

export interface Plan {
  /** The model the caller named first. */
  readonly requested: string
  /** Endpoints in order of trial; at least one. */
  readonly endpoints: readonly ModelEndpoint[]
  /** Endpoints of the named models before the caller's preferences. */
  readonly total: number
}

/**
 * The plan for a request: the endpoints of `model`, then those of each of `models`, in the order of the
 * configuration, without those the caller's `provider` preferences exclude.
 * Throws `item-not-found` when a named model or provider does not exist, or when nothing is left.
 */
export function planFor(catalog: Catalog, request: RoutedRequest): Plan {
  const models = modelsOf(catalog, request)
  const requested = request.model ?? request.models![0]!
  const only = models.length === 1 ? models[0]!.endpoints : models.flatMap(({ endpoints }) => endpoints)
  const { provider } = request
  if (provider === undefined || provider === null) return { requested, endpoints: only, total: only.length }
  checkSlugs(catalog, provider)
  const allowed = only.filter((endpoint) => isAllowed(endpoint, provider, request))
  if (allowed.length === 0) {
    throw notFound(`No endpoint of ${requested} meets the provider preferences`)
  }
  const ordered = inOrder(allowed, provider)
  const tried = provider.allow_fallbacks === false ? ordered.slice(0, 1) : ordered
  return { requested, endpoints: tried, total: only.length }
}

function modelsOf(catalog: Catalog, request: RoutedRequest): Model[] {
  if (request.models === undefined) return [catalog.model(request.model!) ?? missing(request.model!)]
  const names = new Set(request.models)
  // The model itself comes first, wherever the list names it again.
  const all = request.model === undefined ? names : new Set([request.model, ...names])
  return Array.from(all, (name) => catalog.model(name) ?? missing(name))
}

function missing(name: string): never {
  throw notFound(`Model ${name} does not exist`)
}

function notFound(note: string): Fault {
  return new Fault('item-not-found', { note, metadata: { error_type: 'not_found' } })
}

const NAMING = ['order', 'only', 'ignore'] as const

/** A misspelt provider would otherwise exclude everything, or nothing, without a word. */
function checkSlugs(catalog: Catalog, preferences: ProviderPreferences): void {
  for (const list of NAMING) {
    for (const slug of preferences[list] ?? []) {
      if (catalog.providers.some((entry) => matches(entry.slug, slug))) continue
      const known = catalog.providers.map((entry) => entry.slug).join(', ')
      throw notFound(`provider.${list}: there is no provider ${slug}; there are ${known}`)
    }
  }
}

/** A base slug stands for all its variants (contract/gateway 2.7). */
function matches(slug: string, named: string): boolean {
  return slug === named || slug.startsWith(`${named}/`)
}

function names(list: readonly string[] | null | undefined, { provider }: ModelEndpoint): boolean {
  return list?.some((named) => matches(provider.slug, named)) ?? false
}

function isAllowed(
  endpoint: ModelEndpoint,
  preferences: ProviderPreferences,
  request: RoutedRequest,
): boolean {
  const { only, ignore, quantizations } = preferences
  if (only !== undefined && only !== null && !names(only, endpoint)) return false
  if (names(ignore, endpoint)) return false
  if (preferences.data_collection === 'deny' && endpoint.collectsData) return false
  if (preferences.zdr === true && !endpoint.zeroDataRetention) return false
  // No model of a catalogue says yet that its author permits it.
  if (preferences.enforce_distillable_text === true) return false
  if (quantizations !== undefined && quantizations !== null) {
    if (!quantizations.includes(endpoint.quantization ?? 'unknown')) return false
  }
  if (preferences.require_parameters === true && !supportsAll(endpoint, request)) return false
  return isAffordable(endpoint, preferences.max_price)
}

/** Members of a request that say something to the gateway and nothing to the model. */
const OURS: ReadonlySet<string> = new Set([
  'messages',
  'model',
  'models',
  'stream',
  'stream_options',
  'provider',
  'route',
  'plugins',
  'session_id',
  'user',
  'metadata',
  'trace',
  'debug',
  'service_tier',
  'stop_server_tools_when',
  'max_tool_calls',
  'cache_control',
  'prompt_cache_options',
  'prompt_cache_key',
  'modalities',
])

function supportsAll(endpoint: ModelEndpoint, request: RoutedRequest): boolean {
  for (const [name, value] of Object.entries(request)) {
    if (value === undefined || value === null || OURS.has(name)) continue
    if (!endpoint.supportedParameters.has(name)) return false
  }
  return true
}

const MILLION = 1_000_000

/** `max_price` counts dollars per million tokens, and dollars per request. */
function isAffordable(endpoint: ModelEndpoint, limits: ProviderPreferences['max_price']): boolean {
  if (limits === undefined) return true
  const { prices } = endpoint
  return (
    within(prices.prompt, limits.prompt) &&
    within(prices.completion, limits.completion) &&
    within(prices.inputAudio ?? 0, limits.audio) &&
    within(prices.request * MILLION, limits.request, MILLION)
  )
}

function within(nanosPerMillionTokens: number, limit: string | number | undefined, per = 1): boolean {
  if (limit === undefined) return true
  return nanosPerMillionTokens <= Number(limit) * 1e9 * per
}

function inOrder(endpoints: readonly ModelEndpoint[], preferences: ProviderPreferences): ModelEndpoint[] {
  const ordered = [...endpoints]
  const { order, sort } = preferences
  const by = typeof sort === 'string' ? sort : sort?.by
  if (by === 'price') ordered.sort((a, b) => priceOf(a) - priceOf(b))
  if (order !== undefined && order !== null) ordered.sort((a, b) => rank(order, a) - rank(order, b))
  return ordered
}

/** Prompt and completion weigh alike: how long an answer gets is not known. */
function priceOf({ prices }: ModelEndpoint): number {
  return prices.prompt + prices.completion
}

function rank(order: readonly string[], endpoint: ModelEndpoint): number {
  const at = order.findIndex((named) => matches(endpoint.provider.slug, named))
  return at < 0 ? order.length : at
}
