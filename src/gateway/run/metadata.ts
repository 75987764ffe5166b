/** The routing metadata of a call, for callers who opt in (contract/gateway 3.4). Truthful about every attempt. */

import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { Generation } from './generation.js'

export interface ServiceMetadata {
  readonly requested: string
  readonly strategy: 'direct' | 'fallback'
  readonly region: string | null
  readonly summary: string
  readonly attempt: number
  readonly is_byok: boolean
  readonly endpoints: {
    readonly total: number
    readonly available: readonly {
      readonly provider: string
      readonly model: string
      readonly selected: boolean
    }[]
  }
  readonly generation_time: number
  readonly attempts: readonly { readonly provider: string; readonly model: string; readonly status: number }[]
  /** Only present, and true, when the provider sent no figures and the tokens were counted here. */
  readonly usage_estimated?: true
  /** Only present when the endpoint's format could not say all of the request: the fields that were left out. */
  readonly untranslated?: readonly string[]
}

/** @param now `performance.now()` */
export function serviceMetadata(generation: Generation<RoutedRequest>, now: number): ServiceMetadata {
  const { plan, attempts } = generation
  // On an error none is selected, also when it came in the middle of an answer.
  const served = generation.failed ? null : generation.served
  return {
    requested: plan.requested,
    strategy: plan.endpoints.length > 1 ? 'fallback' : 'direct',
    region: null,
    summary: routingSummary(plan.endpoints.length, served),
    attempt: served === null ? 0 : attempts.length,
    is_byok: false,
    endpoints: {
      total: plan.total,
      available: plan.endpoints.map((endpoint) => ({
        provider: endpoint.provider.name,
        model: endpoint.model.id,
        selected: endpoint === served,
      })),
    },
    generation_time: Math.round(now - generation.startedAt),
    attempts: attempts.map(({ endpoint, status }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model.id,
      status,
    })),
    ...(generation.consumption?.estimated === true && { usage_estimated: true as const }),
    ...(generation.droppedFields.length > 0 && { untranslated: generation.droppedFields }),
  }
}

function routingSummary(count: number, served: ModelEndpoint | null): string {
  const candidates = `${count} ${count === 1 ? 'endpoint' : 'endpoints'} available`
  return served === null ? `${candidates}, none served` : `${candidates}, ${served.provider.name} served`
}
