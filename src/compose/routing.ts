/** What the gateway of a worker knows about endpoints and sessions, kept in step with the other workers. */
import type { Clock } from '../base/clock.js'
import type { RoutingConfig } from '../gateway/catalog/configuration.js'
import { HealthRegistry } from '../gateway/health/health-registry.js'
import { RetryBudget } from '../gateway/routing/retry.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import { SessionAffinity } from '../gateway/routing/session.js'

export interface RoutingParts {
  readonly health: HealthRegistry
  readonly sessions: SessionAffinity
  readonly retries: RetryBudget
  readonly random: () => number
  /** Takes what the worker of that number has learnt. */
  applyPeerUpdate(from: number, update: RoutingUpdate): void
  /** `endpoints`: the keys of those that exist from now on; what is known of others is forgotten. */
  configure(config: RoutingConfig, endpoints: ReadonlySet<string>): void
  close(): void
}

/** @param broadcast sends to all other workers; null when this one is alone */
export function composeRouting(
  initial: RoutingConfig,
  worker: number,
  clock: Clock,
  broadcast: ((update: RoutingUpdate) => void) | null,
): RoutingParts {
  let config = initial
  const random = Math.random
  const health = new HealthRegistry({
    clock,
    random,
    broadcast: broadcast && ((health) => broadcast({ about: 'health', health })),
  })
  const sessions = new SessionAffinity(broadcast && ((session) => broadcast({ about: 'session', session })))
  return {
    health,
    sessions,
    retries: new RetryBudget(() => config, random),
    random,
    applyPeerUpdate: (from, update) => {
      // Of two workers that would both probe an endpoint, the one with the lower number does.
      if (update.about === 'health') health.applyPeerUpdate(update.health, from < worker)
      else sessions.applyPeerMove(update.session)
    },
    configure: (renewed, endpoints) => {
      config = renewed
      health.keepOnly(endpoints)
    },
    close: () => health.close(),
  }
}
