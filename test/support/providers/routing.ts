/** What planning and running look at besides the request, for one process that is alone. */
import { type Clock, systemClock } from '../../../src/base/clock.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { RoutingConfig } from '../../../src/gateway/catalog/configuration.js'
import { Health } from '../../../src/gateway/health/health.js'
import type { Situation } from '../../../src/gateway/routing/plan.js'
import { RetryBudget } from '../../../src/gateway/routing/retry.js'
import { Sessions } from '../../../src/gateway/routing/session.js'
import { failure } from './scripted-provider.js'

/** Draws keep the order of the configuration where weights are equal: each lot is later than the one before. */
function inOrder(): () => number {
  let drawn = 0
  return () => (drawn = (drawn + 1e-6) % 1)
}

const NO_RETRIES: RoutingConfig = { retries: 0, retryWaitMs: 0, retryBudget: 0 }

export interface SituationParts extends Situation {
  readonly retries: RetryBudget
}

export function situation(
  clock: Clock = systemClock,
  random: () => number = inOrder(),
  config: RoutingConfig = NO_RETRIES,
): SituationParts {
  return {
    health: new Health({ clock, random: () => 0, tell: null }),
    sessions: new Sessions(null),
    retries: new RetryBudget(() => config, random),
    random,
  }
}

/** A call that is answered after so many milliseconds, and complete. `tokens` came within a second. */
export function served(health: Health, endpoint: ModelEndpoint, ms: number, tokens = 0): void {
  const pass = health.enter(endpoint)
  health.answered(endpoint, pass, ms)
  health.ended(endpoint, pass, tokens, 1000)
}

/** A call that the endpoint answers with a 500. */
export function broke(health: Health, endpoint: ModelEndpoint): void {
  health.failed(endpoint, health.enter(endpoint), failure('provider-failed', 'refused', 500))
}

/** As many failures as open a breaker. */
export function breakIt(health: Health, endpoint: ModelEndpoint): void {
  for (let failures = 0; failures < 5; failures++) broke(health, endpoint)
}
