/** Why a request would go where it would go, without calling anyone. */
import type { Principal } from '../../base/principal.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { type PlanTrace, planFor } from './plan.js'
import { combinedPrice, type RoutingState } from './rank.js'
import { serviceTierFor } from './tier.js'

/** An endpoint as people recognise it. */
interface EndpointIdentity {
  readonly model: string
  readonly provider: string
  readonly slug: string
  readonly upstream_model: string
}

export interface RoutingExplanation {
  readonly requested: string
  /** Endpoints of the named models, before anything is excluded. */
  readonly total: number
  /** In order of trial. Where a draw decides, this is one draw; each call draws anew. */
  readonly endpoints: readonly (EndpointIdentity & {
    readonly position: number
    /** `closed`, `half-open`, `open` or `cooling`, as this worker sees it. */
    readonly state: string
    /** Dollars per million tokens, prompt and completion together. */
    readonly price: number
    readonly latency_ms: number | null
    readonly tokens_per_second: number | null
    /** What it would be asked for; null for nothing. */
    readonly service_tier: string | null
    readonly why: readonly string[]
  })[]
  readonly excluded: readonly (EndpointIdentity & { readonly why: string })[]
}

/** Throws what planning throws, which says as much. */
export function explainRouting(
  catalog: Catalog,
  request: RoutedRequest,
  caller: Principal,
  serves: (endpoint: ModelEndpoint) => boolean,
  situation: RoutingState,
): RoutingExplanation {
  const findings: PlanTrace = { excluded: [], reasons: new Map() }
  const plan = planFor(catalog, request, caller, serves, situation, findings)
  const now = situation.health.now()
  return {
    requested: plan.requested,
    total: plan.total,
    endpoints: plan.endpoints.map((endpoint, at) => {
      const health = situation.health.of(endpoint)
      return {
        position: at + 1,
        ...endpointIdentity(endpoint),
        state: endpoint.hasBreaker ? health.state(now) : 'closed',
        price: combinedPrice(endpoint) / 1e9,
        latency_ms: roundToHundredths(health.latencyMs(0.5, now)),
        tokens_per_second: roundToHundredths(health.throughput(0.5, now)),
        service_tier: serviceTierFor(request.service_tier, endpoint) ?? null,
        why: findings.reasons.get(endpoint) ?? [],
      }
    }),
    excluded: findings.excluded.map(({ endpoint, reason }) => ({
      ...endpointIdentity(endpoint),
      why: reason,
    })),
  }
}

function endpointIdentity({ model, provider, upstreamModel }: ModelEndpoint): EndpointIdentity {
  return { model: model.id, provider: provider.name, slug: provider.slug, upstream_model: upstreamModel }
}

function roundToHundredths(value: number | null): number | null {
  return value === null ? null : Math.round(value * 100) / 100
}
