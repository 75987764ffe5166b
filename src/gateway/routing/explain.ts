/** Why a request would go where it would go, without calling anyone. */
import type { Principal } from '../../base/principal.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import { baseOf } from '../catalog/own-accounts.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { newPlanTrace, planFor, serviceTierFor } from './plan.js'
import { combinedPrice, type RoutingState } from './rank.js'

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
      }
    }),
    excluded: trace.excluded.map(({ endpoint, reason }) => ({
      ...endpointIdentity(endpoint),
      why: reason,
    })),
  }
}

/** An endpoint as people recognise it. */
function endpointIdentity({ model, provider, upstreamModel }: ModelEndpoint) {
  return { model: model.id, provider: provider.name, slug: provider.slug, upstream_model: upstreamModel }
}

function roundToHundredths(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100
}
