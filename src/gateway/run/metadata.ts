/** The routing metadata of a call, for callers who opt in (contract/gateway 3.4). Truthful about every attempt. */

import { nanosToDollars } from '../../base/money.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import { baseOf, distinctEndpoints } from '../catalog/own-accounts.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { idleTraceMembers } from '../formats/trace.js'
import type { Generation } from './generation.js'

export type ServiceMetadata = ReturnType<typeof serviceMetadata>

/** @param now `performance.now()` */
export function serviceMetadata(generation: Generation<RoutedRequest>, now: number) {
  const { plan, attempts, loop } = generation
  const endpoints = distinctEndpoints(plan.endpoints)
  // On an error none is selected, also when it came in the middle of an answer.
  const served = generation.failed ? null : generation.served
  return {
    requested: loop?.asked ?? plan.requested,
    strategy: strategyOf(generation),
    region: served?.region ?? null,
    summary: routingSummary(endpoints.length, served),
    attempt: served === null ? 0 : attempts.length,
    is_byok: generation.isByok,
    endpoints: {
      total: plan.total,
      available: endpoints.map((endpoint) => ({
        provider: endpoint.provider.name,
        model: endpoint.model.id,
        selected: served !== null && endpoint === baseOf(served),
      })),
    },
    generation_time: Math.round(now - generation.startedAt),
    attempts: attempts.map(({ endpoint, status, error }) => ({
      provider: endpoint.provider.name,
      model: endpoint.model.id,
      status,
      ...(endpoint.own !== undefined && { is_byok: true as const }),
      ...(error === 'overtaken' && { overtaken: true as const }),
    })),
    // The provider sent no figures, and the tokens were counted here.
    ...(generation.consumption?.estimated === true && { usage_estimated: true as const }),
    ...((plan.unknownProviders?.length ?? 0) > 0 && { unknown_providers: plan.unknownProviders }),
    // Fields of the request that the endpoint's format could not say, and places in a trace that there cannot be.
    ...untranslatedMember(generation),
    ...pipelineMember(generation),
  }
}

/** Stages that changed something (contract/gateway 3.4, contract/tools 2.4). */
function pipelineMember({ loop }: Generation<RoutedRequest>) {
  if (loop === null || loop.pipeline.length === 0) return null
  return {
    pipeline: loop.pipeline.map(({ cost, ...entry }) => ({
      ...entry,
      ...(cost !== undefined && { cost_usd: nanosToDollars(cost) }),
    })),
  }
}

/** How the model was found: by a plugin, as one of a list, by a further name of it, or by its own, with a variant or without. */
function strategyOf({ plan, request, loop }: Generation<RoutedRequest>): string {
  if (loop !== null && loop.strategy !== null) return loop.strategy
  if (namesSeveralModels(request)) return 'fallback'
  const { id } = plan.endpoints[0]!.model
  return plan.requested === id || plan.requested.startsWith(`${id}:`) ? 'direct' : 'alias'
}

function namesSeveralModels({ model, models }: RoutedRequest): boolean {
  return (
    models !== undefined &&
    (models.length > 1 || (model !== undefined && models.some((each) => each !== model)))
  )
}

function untranslatedMember({
  droppedFields,
  forgedMembers,
  isHedgeIdle,
  request,
}: Generation<RoutedRequest>) {
  const hedge = isHedgeIdle ? ['provider.hedge'] : []
  const idle = [...forgedMembers, ...(request.idle ?? []), ...idleTraceMembers(request), ...hedge]
  const untranslated = idle.length === 0 ? droppedFields : [...droppedFields, ...idle]
  return untranslated.length > 0 && { untranslated }
}

function routingSummary(count: number, served: ModelEndpoint | null): string {
  const candidates = `${count} ${count === 1 ? 'endpoint' : 'endpoints'} available`
  return served === null ? `${candidates}, none served` : `${candidates}, ${served.provider.name} served`
}
