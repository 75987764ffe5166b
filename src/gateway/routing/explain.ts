/** Why a request would go where it would go, without calling anyone. */
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import { baseOf, distinctEndpoints } from '../catalog/own-accounts.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { changesToAdmit, changesToPrefer, type PlanAnother } from './changes.js'
import { circumstancesFor } from './circumstances.js'
import { newPlanTrace, planFor, serviceTierFor } from './plan.js'
import { endpointTag, type RequestChange } from './preferences.js'
import { combinedPrice, type RoutingState } from './rank.js'

/** Endpoints of which it is told what would change their place. */
const MOST_CHANGED = 24

/** A change of the request, or one that no request can bring about, of which `request` is null. */
type ToldChange = RequestChange | { readonly says: string; readonly request: null }

export type RoutingExplanation = ReturnType<typeof explainRouting>

/** Throws what planning throws, which says as much. */
export function explainRouting(
  catalog: Catalog,
  request: RoutedRequest,
  caller: Principal,
  serves: (endpoint: ModelEndpoint) => boolean,
  state: RoutingState,
) {
  const trace = newPlanTrace()
  const plan = planFor(catalog, request, caller, serves, state, trace)
  const now = state.health.now()
  const another: PlanAnother = (changed) => planAnother(catalog, changed, caller, serves, state)
  let left = MOST_CHANGED
  /** Planning anew takes its time: of long plans only the first are told. */
  const changesOf = (find: typeof changesToAdmit, endpoint: ModelEndpoint): readonly RequestChange[] =>
    left-- > 0 ? find(baseOf(endpoint), request, another) : []
  /** Where keys of the caller take part, their places follow from more than the ranks. */
  const group = plan.endpoints.every(({ own }) => own === undefined) ? trace.groups[0] : undefined
  const circumstancesOf = (endpoint: ModelEndpoint): readonly ToldChange[] => {
    if (group === undefined) return []
    const health = state.health.of(endpoint)
    const resting = health.state(now, caller.organizationId)
    const restMs = resting === 'cooling' ? health.coolUntil - now : health.waitMs(now, caller.organizationId)
    return circumstancesFor(endpoint, group, restMs).map((says) => ({ says, request: null }))
  }
  return {
    requested: plan.requested,
    /** Version of the configuration. */
    config_version: plan.version,
    /** Endpoints of the named models, before anything is excluded. */
    total: plan.total,
    /** In order of trial. Where a draw decides, this is one draw; each call draws anew. */
    endpoints: plan.endpoints.map((endpoint, at) => {
      const health = state.health.of(endpoint)
      return {
        position: at + 1,
        ...endpointIdentity(endpoint),
        /** It would go on the caller's own account there. */
        is_byok: endpoint.own !== undefined,
        /** As this worker sees it for the caller. */
        state: endpoint.hasBreaker ? health.state(now, caller.organizationId) : 'closed',
        /** Dollars per million tokens, prompt and completion together. */
        price: combinedPrice(endpoint) / 1e9,
        price_version: endpoint.prices.version,
        latency_ms: roundToHundredths(health.latency.quantile(0.5, now)),
        tokens_per_second: roundToHundredths(health.throughput.quantile(0.5, now)),
        /** What it would be asked for; null for nothing. */
        service_tier: serviceTierFor(request.service_tier, endpoint) ?? null,
        /** That the draw puts it first, where one decides; null where none does. */
        probability: trace.chances.get(baseOf(endpoint)) ?? null,
        why: trace.reasons.get(baseOf(endpoint)) ?? [],
        /** What would have it tried first, each by itself; of the first, what would take it that place. */
        would_change: [
          ...(at === 0 ? [] : changesOf(changesToPrefer, endpoint)),
          ...(at < MOST_CHANGED ? circumstancesOf(endpoint) : []),
        ],
      }
    }),
    excluded: trace.excluded.map(({ endpoint, reason }) => ({
      ...endpointIdentity(endpoint),
      why: reason,
      /** What would have it planned. */
      would_change: changesOf(changesToAdmit, endpoint),
    })),
  }
}

/** Nothing where the changed request would be refused. */
function planAnother(
  catalog: Catalog,
  request: RoutedRequest,
  caller: Principal,
  serves: (endpoint: ModelEndpoint) => boolean,
  state: RoutingState,
): ReturnType<PlanAnother> {
  const trace = newPlanTrace()
  try {
    const endpoints = distinctEndpoints(planFor(catalog, request, caller, serves, state, trace).endpoints)
    const [first, second] = endpoints.map((endpoint) => String(trace.reasons.get(endpoint)))
    const isTie = second === first && endpoints[1]?.model === endpoints[0]!.model
    return { endpoints, isDecided: trace.chances.size === 0 && !isTie }
  } catch (error) {
    if (error instanceof Fault) return { endpoints: [], isDecided: false }
    throw error
  }
}

/** An endpoint as people recognise it. */
function endpointIdentity(endpoint: ModelEndpoint) {
  const { model, provider, upstreamModel } = endpoint
  return {
    ...{ model: model.id, provider: provider.name, slug: provider.slug, tag: endpointTag(endpoint) },
    upstream_model: upstreamModel,
  }
}

function roundToHundredths(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100
}
