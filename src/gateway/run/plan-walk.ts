/** The endpoints of a plan in their order: which one is asked next. */
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { RoutedRequest } from '../formats/canonical.js'
import { type CallPermit, type HealthRegistry, REFUSED } from '../health/health-registry.js'
import type { Generation } from './generation.js'
import { isLike } from './hedging.js'

/** An endpoint that may be asked. */
interface Place {
  readonly endpoint: ModelEndpoint
  readonly permit: CallPermit
}

export class PlanWalk {
  readonly #generation: Generation<RoutedRequest>
  readonly #health: HealthRegistry
  #next = 0
  /** Endpoints whose context was too short for the prompt. */
  #tooSmall: ModelEndpoint[] | null = null

  constructor(generation: Generation<RoutedRequest>, health: HealthRegistry) {
    this.#generation = generation
    this.#health = health
  }

  /** The next that takes a call; null when none does. */
  next(): Place | null {
    return this.#choose(null)
  }

  /** The next that takes a call, as long as it may be asked beside a late one. */
  nextBeside(late: ModelEndpoint): Place | null {
    return this.#choose(late)
  }

  /** Whether one may be asked beside this one, if it takes calls. */
  hasBeside(late: ModelEndpoint): boolean {
    const next = this.#generation.plan.endpoints[this.#next]
    return next !== undefined && isLike(late, next)
  }

  /** All of them once more. */
  restart(): void {
    this.#next = 0
  }

  /** The prompt is too long for an endpoint: only one that takes more is any hope. */
  excludeSmall(endpoint: ModelEndpoint): void {
    this.#tooSmall = [...(this.#tooSmall ?? []), endpoint]
  }

  #choose(late: ModelEndpoint | null): Place | null {
    const { plan, caller } = this.#generation
    while (this.#next < plan.endpoints.length) {
      const endpoint = plan.endpoints[this.#next]!
      if (late !== null && !isLike(late, endpoint)) return null
      this.#next++
      if (this.#tooSmall?.every((short) => hasLargerContext(endpoint, short)) === false) continue
      const permit = this.#health.tryAcquire(endpoint, caller.organizationId)
      if (permit !== REFUSED) return { endpoint, permit }
    }
    return null
  }
}

/**
 * Whether an endpoint may take a prompt that was too long for another one. One that does not say how much it takes
 * is no hope, and where the other one did not say either, only another model is.
 */
function hasLargerContext(endpoint: ModelEndpoint, short: ModelEndpoint): boolean {
  const least = contextLengthOf(short)
  return least === 0 ? endpoint.model !== short.model : contextLengthOf(endpoint) > least
}

function contextLengthOf(endpoint: ModelEndpoint): number {
  return endpoint.contextLength ?? endpoint.model.contextLength ?? 0
}
