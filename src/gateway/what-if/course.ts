/** Where calls would go, and what they would come to there. */
import type { LedgerRow } from '../../store/ledger-store.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { Usage } from '../formats/usage.js'
import { chargeableCost, pricesInForce } from '../pricing/price.js'
import { serviceTierFor } from '../routing/plan.js'
import type { PastCall } from './endpoint-history.js'
import type { KnownAttempt, KnownEnd } from './known-attempts.js'
import type { PlanAgain } from './plan-again.js'

/** Where a call would go: how that is known, and its figures. */
export type Course =
  | ExactCourse
  | { readonly label: 'estimated'; readonly elsewhere: Elsewhere }
  | { readonly label: 'unknown' }
  | { readonly label: 'refused' }

export interface ExactCourse extends Played {
  readonly label: 'exact'
}

/** What replicates of a call that may go elsewhere have in common. */
export interface Elsewhere {
  readonly plan: PlanAgain
  readonly known: ReadonlyMap<string, KnownAttempt>
  readonly usage: Usage
}

export interface Played {
  /** Null where nobody has answered, and where that is as it was. */
  readonly endpoint: ModelEndpoint | null
  readonly cost: number
  readonly tokens: number
  readonly firstMs: number
  readonly totalMs: number
  /** It ends without an answer, or its answer breaks off. */
  readonly fails: boolean
}

/** All endpoints of a plan have failed: nothing is charged, whatever their attempts may cost the operator. */
export function unanswered(elapsedMs: number): Played {
  return { endpoint: null, cost: 0, tokens: 0, firstMs: elapsedMs, totalMs: elapsedMs, fails: true }
}

/** The way it went: its own times; `endpoint`: of this configuration, null where prices of none matter. */
export function asItWent(row: LedgerRow, endpoint: ModelEndpoint | null, usage: Usage): ExactCourse {
  const { firstEventMs, durationMs } = row.detail
  return {
    label: 'exact',
    endpoint,
    cost: endpoint === null ? row.cost : costAsItEnded(endpoint, row, usage),
    tokens: row.promptTokens + row.completionTokens,
    firstMs: firstEventMs ?? durationMs,
    totalMs: durationMs,
    fails: row.outcome === 'failed',
  }
}

/** As far as the call has gone it goes again, without the attempts that would not be made. */
export function asFarAsKnown(
  row: LedgerRow,
  { last, elapsedMs, isWholeWay }: KnownEnd,
  usage: Usage,
): Course {
  if (last === null) return { label: 'exact', ...unanswered(elapsedMs) }
  const { endpoint, attempt } = last
  const course = asItWent(row, endpoint, usage)
  if (isWholeWay || attempt.end === 'left') return course
  return { ...course, firstMs: elapsedMs + attempt.firstMs, totalMs: elapsedMs + attempt.totalMs }
}

/** The same endpoint, in the tier that it said; a call that came to nothing pays no fee either. */
function costAsItEnded(endpoint: ModelEndpoint, row: LedgerRow, usage: Usage): number {
  const { outcome, cost, promptTokens, completionTokens, units } = row
  const hasConsumed = cost + promptTokens + completionTokens > 0 || Object.keys(units).length > 0
  return outcome === 'settled' || hasConsumed ? costIn(row.detail.serviceTier, endpoint, usage) : 0
}

/** At an endpoint that did not serve the call. */
export function costElsewhere(endpoint: ModelEndpoint, row: LedgerRow, usage: Usage): number {
  const { asked } = row.detail.why
  const tier = asked === 'untold' ? null : asked?.serviceTier
  return costIn(serviceTierFor(tier, endpoint) ?? null, endpoint, usage)
}

function costIn(tier: string | null, endpoint: ModelEndpoint, usage: Usage): number {
  return chargeableCost(usage, pricesInForce(endpoint.prices, tier))?.total ?? 0
}

/**
 * What the call would have consumed elsewhere. The same model is taken to answer as long as it did, another one as long
 * as it did when it was asked something of that length; caches are as warm as they were there.
 */
export function usageLike(usage: Usage, isAsLong: boolean, call: PastCall): Usage {
  const completion = isAsLong ? usage.completion : call.completion
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
