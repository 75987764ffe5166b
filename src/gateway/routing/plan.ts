/** Which endpoints may serve a request, in the order in which they are tried. */
import type { Principal } from '../../base/principal.js'
import type { CallerAccount } from '../catalog/caller-key.js'
import type { Catalog, Model, ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderPreferences, RoutedRequest } from '../formats/canonical.js'
import { withCredentials } from './caller-keys.js'
import { unmetDemand } from './parameters.js'
import { exclusionOf, missingModality, notFoundFault, unknownProviders } from './preferences.js'
import { type RankTrace, type RoutingState, rankEndpoints } from './rank.js'
import { findModel, type NamedModel, withVariantSort } from './variants.js'

export type { RoutingState } from './rank.js'

export interface Plan {
  /** The model the caller named first. */
  readonly requested: string
  /** Endpoints in order of trial, at least one; each once for every credential that it may be called with. */
  readonly endpoints: readonly ModelEndpoint[]
  /** Endpoints of the named models before the caller's preferences. */
  readonly total: number
  /** Version of the configuration that it follows from. */
  readonly version: string
  /** Why it is as it is; null where there was nothing to choose. */
  readonly trace: PlanTrace | null
  /** Names of providers in the caller's preferences that this gateway does not have. */
  readonly unknownProviders?: readonly string[]
}

/** What planning noted down. */
export interface PlanTrace extends RankTrace {
  readonly excluded: { readonly endpoint: ModelEndpoint; readonly reason: string }[]
}

export function newPlanTrace(): PlanTrace {
  return { excluded: [], reasons: new Map(), chances: new Map(), groups: [] }
}

/**
 * The plan for a request: the endpoints of `model`, then those of each of `models`, without those the caller's
 * `provider` preferences exclude, each model's own in the order of `arranged` (all together where the partition is
 * `none`). Throws `item-not-found` when a named model does not exist, or when nothing is left.
 * `preview`: takes the reasons of a plan that nobody is going to carry out.
 */
export function planFor(
  catalog: Catalog,
  request: RoutedRequest,
  caller: Principal,
  serves: (endpoint: ModelEndpoint) => boolean,
  state: RoutingState,
  preview: PlanTrace | null = null,
  account: CallerAccount | undefined = state.accountOf?.(caller),
): Plan {
  const plan = planOfEndpoints(catalog, request, caller, serves, state, preview)
  if (account === undefined) return plan
  const endpoints = withCredentials(plan.endpoints, caller, account.keys, state)
  return endpoints === plan.endpoints ? plan : { ...plan, endpoints }
}

function planOfEndpoints(
  catalog: Catalog,
  request: RoutedRequest,
  caller: Principal,
  serves: (endpoint: ModelEndpoint) => boolean,
  state: RoutingState,
  preview: PlanTrace | null,
): Plan {
  const models = requestedModels(catalog, request)
  const requested = request.model ?? request.models![0]!
  const { provider } = request
  const first = models[0]!.endpoints
  // Nothing to choose: the commonest case by far.
  const only = models.length === 1 && first.length === 1 && isAbsent(provider) && preview === null
  const isPlain = request.modalities === undefined && only && unmetDemand(first[0]!, request) === null
  if (isPlain && serves(first[0]!)) {
    return { requested, endpoints: first, total: 1, version: catalog.version, trace: null }
  }
  const unknown = isAbsent(provider) ? [] : unknownProviders(catalog, provider)
  const trace = preview ?? newPlanTrace()
  const endpoints = partitionEndpoints(models, request).flatMap(({ endpoints: group, sort }) => {
    const session = sessionName(request, caller, group)
    const allowed = filterAllowed(group, request, serves, trace)
    return rankEndpoints(
      allowed,
      withVariantSort(request, sort),
      caller,
      session,
      state,
      trace,
      preview !== null,
    )
  })
  if (endpoints.length === 0) {
    const known =
      unknown.length === 0 ? '' : `; there are ${catalog.providers.map(({ slug }) => slug).join(', ')}`
    throw notFoundFault(noEndpointNote(requested, models, request, serves) + known)
  }
  const tried = provider?.allow_fallbacks === false ? endpoints.slice(0, 1) : endpoints
  for (const endpoint of endpoints.slice(tried.length))
    trace.excluded.push({ endpoint, reason: NO_FALLBACKS })
  return {
    requested,
    endpoints: tried,
    total: models.reduce((sum, model) => sum + model.endpoints.length, 0),
    version: catalog.version,
    trace,
    unknownProviders: unknown,
  }
}

/** The plan with an endpoint of it in front, where it is there; what a prompt has warmed up stays of use. */
export function keepEndpoint(plan: Plan, key: string | null): Plan {
  const kept = plan.endpoints.find((endpoint) => endpoint.key === key)
  if (kept === undefined || kept === plan.endpoints[0]) return plan
  return { ...plan, endpoints: [kept, ...plan.endpoints.filter((endpoint) => endpoint !== kept)] }
}

const NO_FALLBACKS = 'not the first, and provider.allow_fallbacks is false'
const WRONG_OPERATION = 'does not serve this kind of call'

function noEndpointNote(
  requested: string,
  models: readonly Model[],
  request: RoutedRequest,
  serves: (endpoint: ModelEndpoint) => boolean,
): string {
  if (models.every(({ endpoints }) => endpoints.length === 0))
    return `No endpoint of ${requested.replace(/:free$/, '')} is free`
  const able = models.flatMap(({ endpoints }) => endpoints.filter(serves))
  if (able.length === 0) return `Model ${requested} does not serve this kind of call`
  if (models.every((model) => missingModality(model, request) !== null))
    return `modalities: ${requested} does not answer with ${missingModality(models[0]!, request)}`
  const demands = able.map((endpoint) => unmetDemand(endpoint, request))
  return demands.every((demand) => demand !== null)
    ? `No endpoint of ${requested} supports ${demands[0]}`
    : `No endpoint of ${requested} meets the provider preferences`
}

function isAbsent(provider: ProviderPreferences | null | undefined): provider is null | undefined {
  return provider === undefined || provider === null
}

function requestedModels(catalog: Catalog, request: RoutedRequest): NamedModel[] {
  if (request.models === undefined)
    return [findModel(catalog, request.model!) ?? throwModelMissing(request.model!)]
  const names = new Set(request.models)
  // The model itself comes first, wherever the list names it again.
  const all = request.model === undefined ? names : new Set([request.model, ...names])
  return Array.from(all, (name) => findModel(catalog, name) ?? throwModelMissing(name))
}

function throwModelMissing(name: string): never {
  throw notFoundFault(`Model ${name} does not exist`)
}

/**
 * Groups that are arranged apart: each model's endpoints, or all of them where the caller wants no partition; the
 * variant of the first model sorts them then.
 */
function partitionEndpoints(
  models: readonly NamedModel[],
  request: RoutedRequest,
): readonly Pick<NamedModel, 'endpoints' | 'sort'>[] {
  if (partitionMode(request) !== 'none') return models
  return [{ ...models[0]!, endpoints: models.flatMap(({ endpoints }) => endpoints) }]
}

/** `route` is the older word for it (contract/gateway 2.1). */
function partitionMode({ provider, route }: RoutedRequest): 'model' | 'none' {
  const sort = provider?.sort
  const partition = typeof sort === 'object' && sort !== null ? sort.partition : undefined
  if (partition === 'none' || partition === 'model') return partition
  return route === 'sort' ? 'none' : 'model'
}

function filterAllowed(
  group: readonly ModelEndpoint[],
  request: RoutedRequest,
  serves: (endpoint: ModelEndpoint) => boolean,
  trace: PlanTrace,
): readonly ModelEndpoint[] {
  return group.filter((endpoint) => {
    const reason = serves(endpoint) ? (exclusionOf(endpoint, request)?.reason ?? null) : WRONG_OPERATION
    if (reason !== null) trace.excluded.push({ endpoint, reason })
    return reason === null
  })
}

/**
 * Sessions of two organizations, or for two models, have nothing to do with each other. Where endpoints of several
 * models are arranged together the first model names the session.
 */
function sessionName(
  { session_id: id, is_session_loose: isLoose }: RoutedRequest,
  caller: Principal,
  group: readonly ModelEndpoint[],
): string | null {
  if (id === undefined || id === '' || isLoose === true) return null
  return `${caller.organizationId} ${group[0]?.model.id} ${id}`
}

// ── Service tiers (contract/gateway 2.1) ──────────────────────────────────────

/** What stands in for a tier that an endpoint lacks, best first. */
const TIER_FALLBACKS: Readonly<Record<string, readonly string[]>> = {
  ultrafast: ['priority', 'default'],
}

/**
 * The tier to ask an endpoint for; undefined when the request names none. `fast` is another word for `priority`. Of
 * an endpoint whose tiers are not known everything but `ultrafast` may be asked, which few have: it gets the next best.
 */
export function serviceTierFor(
  asked: string | null | undefined,
  { serviceTiers }: ModelEndpoint,
): string | undefined {
  if (asked === undefined || asked === null) return undefined
  const wanted = asked === 'fast' ? 'priority' : asked
  const hasTier = (tier: string): boolean => serviceTiers?.has(tier) ?? tier !== 'ultrafast'
  if (hasTier(wanted)) return wanted
  return TIER_FALLBACKS[wanted]?.find(hasTier) ?? wanted
}
