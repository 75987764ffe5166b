/** Where calls would go, and what they would come to there. */
import type { LedgerRow } from '../../store/ledger-store.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { Usage } from '../formats/usage.js'
import { chargeableCost, pricesInForce } from '../pricing/price.js'
import { serviceTierFor } from '../routing/plan.js'
import type { PastCall } from './endpoint-history.js'
import { type KnownAttempt, nameOfEndpoint, type PlanAgain } from './plan-again.js'

/** Where a call would go: how that is known, and its figures. */
export type Course =
  | ExactCourse
  | { readonly label: 'estimated'; readonly elsewhere: Elsewhere }
  | { readonly label: 'unknown' }
  | { readonly label: 'refused' }

export interface ExactCourse extends Played {
  readonly label: 'exact'
  /** It would end without an answer, as it did. */
  readonly fails: boolean
}

/** What replicates of a call that may go elsewhere have in common. */
export interface Elsewhere {
  readonly plan: PlanAgain
  readonly known: ReadonlyMap<string, KnownAttempt>
  readonly usage: Usage
}

export interface Played {
  /** Null where nobody has answered. */
  readonly endpoint: ModelEndpoint | null
  readonly cost: number
  readonly firstMs: number
  readonly totalMs: number
}

export function shifted(
  endpoint: ModelEndpoint,
  cost: number,
  times: { firstMs: number; totalMs: number },
  by: number,
): Played {
  return { endpoint, cost, firstMs: times.firstMs + by, totalMs: times.totalMs + by }
}

export function exactly(row: LedgerRow, endpoint: ModelEndpoint | null, cost: number): ExactCourse {
  const { firstEventMs, durationMs } = row.detail
  const fails = row.outcome === 'failed'
  return { label: 'exact', endpoint, cost, firstMs: firstEventMs ?? durationMs, totalMs: durationMs, fails }
}

/** What going down a plan comes to by what the call itself has met: `open` where it has not met enough. */
export function endOfPlan(
  { endpoints }: PlanAgain,
  known: ReadonlyMap<string, KnownAttempt>,
): 'answered' | 'failed' | 'open' {
  for (const endpoint of endpoints) {
    const met = known.get(nameOfEndpoint(endpoint))
    if (met === undefined) return 'open'
    if (met.ok) return 'answered'
  }
  return 'failed'
}

/** `isSame`: it is the endpoint that has served it, in the tier that it said. */
export function costAt(endpoint: ModelEndpoint, row: LedgerRow, usage: Usage, isSame: boolean): number {
  const { serviceTier, why } = row.detail
  const asked = why.asked === 'untold' ? null : why.asked?.serviceTier
  const tier = isSame ? serviceTier : (serviceTierFor(asked, endpoint) ?? null)
  return chargeableCost(usage, pricesInForce(endpoint.prices, tier))?.total ?? 0
}

/**
 * What the call would have consumed elsewhere. The same model is taken to answer as long as it did, another one as long
 * as it did when it was asked something of that length; caches are as warm as they were there.
 */
export function usageLike(usage: Usage, isSameModel: boolean, call: PastCall): Usage {
  const completion = isSameModel ? usage.completion : call.completion
  const grown = usage.completion === 0 ? 0 : completion / usage.completion
  return {
    ...usage,
    completion,
    reasoning: Math.round(usage.reasoning * grown),
    completionAudio: Math.round(usage.completionAudio * grown),
    cached: Math.round(call.cachedShare * usage.prompt),
    cacheWrite: Math.round(call.writtenShare * usage.prompt),
  }
}
