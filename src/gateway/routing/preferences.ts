/** What the caller's `provider` preferences exclude (contract/gateway 2.7). */
import { Fault } from '../../base/fault.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderPreferences, RoutedRequest } from '../formats/canonical.js'
import type { JsonObject } from '../formats/json-values.js'
import { possiblePrices } from '../pricing/price.js'
import { missingParameter, unmetDemand } from './parameters.js'

const SLUG_LISTS = ['order', 'only', 'ignore'] as const

/**
 * Names in the preferences that are none of a provider here, each once. Templates of requests are shared among
 * gateways, so they have no effect; they are told, because one may be a misspelling (contract/decisions 45).
 */
export function unknownProviders(catalog: Catalog, preferences: ProviderPreferences): readonly string[] {
  const named = new Set(SLUG_LISTS.flatMap((list) => preferences[list] ?? []))
  const isKnown = (slug: string): boolean =>
    catalog.providers.some((entry) => entry.slug === slug) || isEndpointTag(catalog, slug)
  return [...named].filter((slug) => !isKnown(slug))
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

/** What callers write to mean the endpoint: the provider, and its quantization where one is known. */
export function endpointTag({ provider, quantization }: ModelEndpoint): string {
  return quantization === null ? provider.slug : `${provider.slug}/${quantization}`
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
  { modalities }: RoutedRequest,
): string | null {
  return modalities?.find((modality) => !outputModalities.includes(modality)) ?? null
}

/** What a request could say instead: in words, and as a merge patch on it (RFC 7396). */
export interface RequestChange {
  readonly says: string
  readonly request: JsonObject
}

/** Why a request excludes an endpoint, and what would lift that. */
interface Exclusion {
  readonly reason: string
  readonly otherwise: () => RequestChange
}

/** By what the request asks for and by its preferences; null when it does not exclude the endpoint. */
export function exclusionOf(endpoint: ModelEndpoint, request: RoutedRequest): Exclusion | null {
  const missing = missingModality(endpoint.model, request)
  if (missing !== null) {
    const left = request.modalities!.filter((each) => endpoint.model.outputModalities.includes(each))
    return exclude(`does not answer with ${missing}`, `modalities does without ${missing}`, () => ({
      modalities: left.length === 0 ? null : left,
    }))
  }
  const demand = unmetDemand(endpoint, request)
  if (demand !== null)
    return exclude(`does not support ${demand}`, `the request does without ${demand}`, () =>
      withoutDemand(demand, request),
    )
  const { provider } = request
  if (provider === undefined || provider === null) return null
  return preferenceExclusion(endpoint, request, provider)
}

function preferenceExclusion(
  endpoint: ModelEndpoint,
  request: RoutedRequest,
  preferences: ProviderPreferences,
): Exclusion | null {
  const { only, ignore, quantizations } = preferences
  if (only !== undefined && only !== null && !listNamesEndpoint(only, endpoint))
    return excludeBy('only', 'not in provider.only', `names ${endpointTag(endpoint)}`, () => [
      ...only,
      endpointTag(endpoint),
    ])
  if (listNamesEndpoint(ignore, endpoint))
    return excludeBy('ignore', 'in provider.ignore', `does not name ${endpointTag(endpoint)}`, () => {
      const left = ignore!.filter((named) => !matchesProviderName(endpoint, named))
      return left.length === 0 ? null : left
    })
  if (preferences.data_collection === 'deny' && endpoint.collectsData)
    return excludeBy('data_collection', 'collects data', 'is allow', () => 'allow')
  if (preferences.zdr === true && !endpoint.zeroDataRetention)
    return excludeBy('zdr', 'keeps data', 'is false', () => false)
  if (preferences.enforce_distillable_text === true && !endpoint.model.distillable)
    return excludeBy(
      'enforce_distillable_text',
      'does not say that its text may be distilled',
      'is false',
      () => false,
    )
  if (quantizations !== undefined && quantizations !== null) {
    const own = endpoint.quantization ?? 'unknown'
    if (!quantizations.includes(own))
      return excludeBy('quantizations', `its quantization is ${own}`, `has ${own}`, () => [
        ...quantizations,
        own,
      ])
  }
  if (preferences.require_parameters === true) {
    const unsupported = missingParameter(endpoint, request)
    if (unsupported !== null)
      return exclude(`does not support ${unsupported}`, `the request does without ${unsupported}`, () => ({
        [unsupported]: null,
      }))
  }
  return priceExclusion(endpoint, request, preferences.max_price)
}

function exclude(reason: string, says: string, request: () => JsonObject): Exclusion {
  return { reason, otherwise: () => ({ says, request: request() }) }
}

/** One of the preferences is to be otherwise. */
function excludeBy(name: string, reason: string, says: string, value: () => unknown): Exclusion {
  return exclude(reason, `provider.${name} ${says}`, () => ({ provider: { [name]: value() } }))
}

function withoutDemand(demand: string, request: RoutedRequest): JsonObject {
  return {
    [demand]: null,
    ...(demand === 'tools' && { tool_choice: null }),
    // The messages format asks for it there.
    ...(demand === 'response_format' && 'output_config' in request && { output_config: null }),
  }
}

const MILLION = 1_000_000

/**
 * `max_price` counts dollars per million tokens, and dollars per request and per picture. In a tier that may be served
 * because the request asks for it, none of it may be dearer either.
 */
function priceExclusion(
  { prices: all, model }: ModelEndpoint,
  request: RoutedRequest,
  limits: ProviderPreferences['max_price'],
): Exclusion | null {
  if (limits === undefined) return null
  const hears = model.inputModalities.includes('audio')
  for (const prices of possiblePrices(all, request)) {
    const kinds = [
      ['prompt', prices.prompt, 1],
      ['completion', prices.completion, 1],
      // Sound without a price of its own costs what other tokens do.
      ['audio', prices.inputAudio ?? (hears ? prices.prompt : 0), 1],
      ['request', prices.request * MILLION, MILLION],
      ['image', prices.inputImage * MILLION, MILLION],
    ] as const
    for (const [kind, nanosPerMillion, per] of kinds) {
      const limit = limits[kind]
      if (limit !== undefined && nanosPerMillion > Number(limit) * 1e9 * per) {
        const dollars = nanosPerMillion / (1e9 * per)
        return exclude(
          `dearer than max_price.${kind}`,
          `provider.max_price.${kind} is at least ${dollars}`,
          () => ({ provider: { max_price: { [kind]: dollars } } }),
        )
      }
    }
  }
  return null
}
