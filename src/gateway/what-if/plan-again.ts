/** Where a call of the ledger would go under another configuration. */
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { LedgerRow } from '../../store/ledger-store.js'
import type { Catalog, ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { producesText } from '../metering/format.js'
import { requestOfDemands } from '../routing/parameters.js'
import { planFor, type RoutingState } from '../routing/plan.js'

/** Endpoints are known again by the names that rows have for them. */
export function endpointName(provider: string, model: string): string {
  return `${provider}\n${model}`
}

export const nameOfEndpoint = ({ provider, model }: ModelEndpoint): string =>
  endpointName(provider.name, model.id)

export interface PlanAgain {
  /** In order of trial; where a draw decides who comes first, in any order. */
  readonly endpoints: readonly ModelEndpoint[]
  /** Where a draw decides: the chance of each that takes part. */
  readonly chances: ReadonlyMap<ModelEndpoint, number>
}

/** `no-endpoint`: it would be refused. `untold`: the row does not say what it asked for, and it would matter. */
type Planned = PlanAgain | 'no-endpoint' | 'untold'

/** Kinds of work whose rows are of models that answer with text. */
const TEXT_APIS: ReadonlySet<string> = new Set([
  'completions',
  'turn',
  'advisor',
  'subagent',
  'panel',
  'judge',
])
const NOTHING_DRAWN: ReadonlyMap<ModelEndpoint, number> = new Map()

export function planAgain(row: LedgerRow, catalog: Catalog, state: RoutingState): Planned {
  const { requested, why } = row.detail
  const isUntold = why.asked === 'untold'
  try {
    const request = requestOf(row)
    const serves = 'messages' in request ? producesText : () => true
    const { endpoints, trace } = planFor(catalog, request, callerOf(row), serves, state)
    if (isUntold && (endpoints.length > 1 || endpoints[0]!.model.id !== requested)) return 'untold'
    return { endpoints, chances: trace?.chances ?? NOTHING_DRAWN }
  } catch (error) {
    if (error instanceof Fault) return isUntold ? 'untold' : 'no-endpoint'
    throw error
  }
}

/** As far as routing reads it. */
function requestOf({ detail }: LedgerRow): RoutedRequest {
  const { requested, sessionId, api, why } = detail
  const asked = why.asked === 'untold' || why.asked === null ? {} : why.asked
  const { serviceTier, needs = [], ...rest } = asked
  return {
    model: requested,
    ...(rest as Partial<RoutedRequest>),
    ...(serviceTier !== undefined && { service_tier: serviceTier }),
    ...(sessionId !== null && { session_id: sessionId }),
    ...(TEXT_APIS.has(api) && { messages: [] }),
    ...(api === 'stt' && { is_session_loose: true as const }),
    ...requestOfDemands(needs),
  }
}

function callerOf({ keyHash, organizationId, workspaceId }: LedgerRow): Principal {
  return { keyHash, kind: 'workspace', organizationId, workspaceId, operator: false }
}

/** Whether the plan is the one that the call had: what was drawn then is as good as what would be drawn now. */
export function isSamePlan({ endpoints, chances }: PlanAgain, { detail }: LedgerRow): boolean {
  const { candidates, unlisted } = detail.why
  const planned = candidates.filter(({ place }) => place > 0)
  if (chances.size === 0 || unlisted > 0 || planned.length !== endpoints.length) return false
  return endpoints.every((endpoint) => {
    const before = planned.find(
      ({ provider, model }) => endpointName(provider, model) === nameOfEndpoint(endpoint),
    )
    return before !== undefined && Math.abs((before.chance ?? 0) - (chances.get(endpoint) ?? 0)) < SAME_CHANCE
  })
}

const SAME_CHANCE = 1e-9
