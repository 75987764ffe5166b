/** What planning and running look at besides the request, for one process that is alone. */
import { type Clock, systemClock } from '../../../src/base/clock.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { RoutingConfig } from '../../../src/gateway/catalog/configuration.js'
import { HealthRegistry } from '../../../src/gateway/health/health-registry.js'
import type { RoutingState } from '../../../src/gateway/routing/plan.js'
import { SessionAffinity } from '../../../src/gateway/routing/session.js'
import { Hedging } from '../../../src/gateway/run/hedging.js'
import { RetryBudget } from '../../../src/gateway/run/rescue.js'
import { CALLER, failure } from './scripted-provider.js'

/** Draws keep the order of the configuration where weights are equal: each lot is later than the one before. */
function ascendingDraws(): () => number {
  let drawn = 0
  return () => (drawn = (drawn + 1e-6) % 1)
}

const NO_RETRIES: RoutingConfig = {
  rescue: 'unanswered',
  retries: 0,
  retryWaitMs: 0,
  retryBudget: 0,
  hedge: 'never',
  hedgeBudget: 0,
}

export interface RoutingStateParts extends RoutingState {
  readonly retries: RetryBudget
  readonly hedging: Hedging
}

export function routingState(
  clock: Clock = systemClock,
  random: () => number = ascendingDraws(),
  config: RoutingConfig = NO_RETRIES,
): RoutingStateParts {
  return {
    health: new HealthRegistry({ clock, random: () => 0, broadcast: null }),
    sessions: new SessionAffinity(null),
    retries: new RetryBudget(() => config, random),
    hedging: new Hedging(() => config),
    random,
  }
}

/** A call that is answered after so many milliseconds, and complete. `tokens` came within a second. */
export function recordServedCall(
  health: HealthRegistry,
  endpoint: ModelEndpoint,
  ms: number,
  tokens = 0,
  caller = CALLER.organizationId,
): void {
  const permit = health.tryAcquire(endpoint, caller)
  health.recordAnswer(endpoint, permit, ms)
  health.recordEnd(endpoint, permit, tokens, 1000)
}

/** A call that the endpoint answers with a 500. */
export function recordFailedCall(
  health: HealthRegistry,
  endpoint: ModelEndpoint,
  caller = CALLER.organizationId,
): void {
  health.recordFailure(
    endpoint,
    health.tryAcquire(endpoint, caller),
    failure('provider-failed', 'refused', 500),
  )
}

/** As many refused connections as open a breaker for everybody. */
export function openBreakerOf(health: HealthRegistry, endpoint: ModelEndpoint): void {
  for (let failures = 0; failures < 5; failures++) {
    const permit = health.tryAcquire(endpoint, CALLER.organizationId)
    health.recordFailure(endpoint, permit, failure('provider-failed', 'not-sent', 0))
  }
}
