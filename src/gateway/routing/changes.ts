/**
 * What a request could say for an endpoint to be planned that is not, or to be tried first. Whatever is told was tried:
 * the changed request is planned as the caller's own, and a change that does not lead there is not told.
 */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { asObject, type JsonObject } from '../formats/json-values.js'
import { endpointTag, exclusionOf, type RequestChange } from './preferences.js'

/** How a changed request would be planned; nothing where it would be refused. */
export type PlanAnother = (request: RoutedRequest) => {
  readonly endpoints: readonly ModelEndpoint[]
  /** Something sets the first apart from the second: neither a draw nor the order of the configuration. */
  readonly isDecided: boolean
}

/** An endpoint may be excluded for several reasons, one behind the other. */
const MOST_REASONS = 12

/** What a request may name; the longest context is asked for by a variant of the model only. */
const SORTS = ['price', 'latency', 'throughput'] as const

/** One change, of all that has to be otherwise, for an excluded endpoint; none where no wish of the request keeps it out. */
export function changesToAdmit(
  endpoint: ModelEndpoint,
  request: RoutedRequest,
  plan: PlanAnother,
): readonly RequestChange[] {
  let whole: RequestChange = { says: '', request: {} }
  for (let reason = 0; reason < MOST_REASONS; reason++) {
    const change = exclusionOf(endpoint, merged(request, whole.request))?.otherwise()
    if (change === undefined) break
    whole = together(whole, change)
  }
  const isPlanned = (change: RequestChange): boolean =>
    plan(merged(request, change.request)).endpoints.includes(endpoint)
  const candidates = [whole, together(whole, WITH_FALLBACKS), together(whole, alone(endpoint))]
  return candidates
    .filter(({ says }) => says !== '')
    .filter(isPlanned)
    .slice(0, 1)
}

/** Changes of which each by itself has the endpoint tried first. */
export function changesToPrefer(
  endpoint: ModelEndpoint,
  request: RoutedRequest,
  plan: PlanAnother,
): readonly RequestChange[] {
  const isFirst = (change: RequestChange): boolean => {
    const { endpoints, isDecided } = plan(merged(request, change.request))
    return endpoints[0] === endpoint && isDecided
  }
  const own = alone(endpoint)
  const others = [ordered(endpoint, request), ...SORTS.map(sortedBy)]
  const found = others.filter(isFirst)
  if (found.length > 0) return found
  return [own, ...others.map((change) => together(own, change))].filter(isFirst)
}

const WITH_FALLBACKS: RequestChange = {
  says: 'provider.allow_fallbacks is true',
  request: { provider: { allow_fallbacks: true } },
}

function alone({ model: { id } }: ModelEndpoint): RequestChange {
  return { says: `model is ${id} alone`, request: { model: id, models: null } }
}

function ordered(endpoint: ModelEndpoint, { provider }: RoutedRequest): RequestChange {
  const tag = endpointTag(endpoint)
  const order = [tag, ...(provider?.order ?? []).filter((named) => named !== tag)]
  return { says: `provider.order begins with ${tag}`, request: { provider: { order } } }
}

function sortedBy(sort: string): RequestChange {
  return { says: `provider.sort is ${sort}`, request: { provider: { order: null, sort } } }
}

function together(one: RequestChange, other: RequestChange): RequestChange {
  const says = [one.says, other.says].filter((each) => each !== '').join(', and ')
  return { says, request: patched(one.request, other.request, true) }
}

function merged(request: RoutedRequest, patch: JsonObject): RoutedRequest {
  return patched(request as unknown as JsonObject, patch, false) as unknown as RoutedRequest
}

/** A merge patch on a value; `keepsNull` where the value is a patch itself, in which null takes a member away. */
function patched(value: JsonObject, patch: JsonObject, keepsNull: boolean): JsonObject {
  const made: Record<string, unknown> = { ...value }
  for (const [name, change] of Object.entries(patch)) {
    const inner = asObject(change)
    if (change === null && !keepsNull) delete made[name]
    else made[name] = inner === null ? change : patched(asObject(made[name]) ?? {}, inner, keepsNull)
  }
  return made
}
