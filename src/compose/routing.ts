/** What the gateway of a worker knows about endpoints and sessions, kept in step with the other workers. */
import type { Clock } from '../base/clock.js'
import type { RoutingConfig } from '../gateway/catalog/configuration.js'
import { Health } from '../gateway/health/health.js'
import type { RoutingNews } from '../gateway/routing/news.js'
import { RetryBudget } from '../gateway/routing/retry.js'
import { Sessions } from '../gateway/routing/session.js'

export interface Routing {
  readonly health: Health
  readonly sessions: Sessions
  readonly retries: RetryBudget
  readonly random: () => number
  /** Takes what the worker of that number has told. */
  hear(from: number, news: RoutingNews): void
  /** `endpoints`: the keys of those that exist from now on; what is known of others is forgotten. */
  configure(config: RoutingConfig, endpoints: ReadonlySet<string>): void
  close(): void
}

/** @param tell tells all other workers; null when this one is alone */
export function composeRouting(
  initial: RoutingConfig,
  worker: number,
  clock: Clock,
  tell: ((news: RoutingNews) => void) | null,
): Routing {
  let config = initial
  const random = Math.random
  const health = new Health({
    clock,
    random,
    tell: tell === null ? null : (news) => tell({ about: 'health', health: news }),
  })
  const sessions = new Sessions(tell === null ? null : (news) => tell({ about: 'session', session: news }))
  return {
    health,
    sessions,
    retries: new RetryBudget(() => config, random),
    random,
    hear: (from, news) => {
      // Of two workers that would both probe an endpoint, the one with the lower number does.
      if (news.about === 'health') health.hear(news.health, from < worker)
      else sessions.hear(news.session)
    },
    configure: (renewed, endpoints) => {
      config = renewed
      health.keep(endpoints)
    },
    close: () => health.close(),
  }
}
