/** What the gateway of a worker knows about endpoints and sessions, kept in step with the other workers. */
import type { RoutingConfig } from '../gateway/catalog/configuration.js'
import { HealthRegistry } from '../gateway/health/health-registry.js'
import { ModelPins } from '../gateway/routing/model-pins.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import { SessionAffinity } from '../gateway/routing/session.js'
import { Hedging } from '../gateway/run/hedging.js'
import { RetryBudget } from '../gateway/run/rescue.js'
import type { WorkerContext } from './worker-context.js'

export type RoutingParts = ReturnType<typeof composeRouting>

interface RoutingOptions extends Pick<WorkerContext, 'worker' | 'clock' | 'broadcast'> {
  readonly config: { readonly gateway: { readonly routing: RoutingConfig } }
}

export function composeRouting({ config: { gateway }, worker, clock, broadcast }: RoutingOptions) {
  let config = gateway.routing
  const random = Math.random
  const health = new HealthRegistry({
    clock,
    random,
    broadcast: broadcast && ((health) => broadcast({ about: 'health', health })),
  })
  const sessions = new SessionAffinity(broadcast && ((session) => broadcast({ about: 'session', session })))
  const pins = new ModelPins(broadcast && ((pin) => broadcast({ about: 'pin', pin })))
  return {
    health,
    sessions,
    pins,
    retries: new RetryBudget(() => config, random),
    hedging: new Hedging(() => config),
    random,
    /** Takes what the worker of that number has learnt. */
    applyPeerUpdate: (from: number | 'elsewhere', update: RoutingUpdate): void => {
      // Of two workers that would both probe an endpoint, the one with the lower number does. Every machine does.
      const relation = from === 'elsewhere' ? 'elsewhere' : from < worker ? 'before-us' : 'after-us'
      if (update.about === 'health') health.applyPeerUpdate(update.health, relation)
      else if (update.about === 'pin') pins.applyPeerPin(update.pin)
      else sessions.applyPeerMove(update.session)
    },
    /** `endpoints`: the keys of those that exist from now on; what is known of others is forgotten. */
    configure: (renewed: RoutingConfig, endpoints: ReadonlySet<string>): void => {
      config = renewed
      health.keepOnly(endpoints)
    },
    close: () => health.close(),
  }
}
