/**
 * The health of all endpoints, as far as the calls of all processes have shown it. Every process decides by what it
 * knows itself; what it sees it tells the others: breakers that open and close at once, figures once a second.
 */
import type { Clock } from '../../base/clock.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import { type Pass, REFUSED } from './breaker.js'
import { EndpointHealth, type Sightings } from './endpoint-health.js'

export type { Pass } from './breaker.js'
export { REFUSED } from './breaker.js'

/** What processes tell each other. Times are durations: their clocks do not agree. */
export type HealthNews =
  | { readonly type: 'opened'; readonly key: string; readonly pauseMs: number }
  /** It is being tried: nobody else needs to. */
  | { readonly type: 'probing'; readonly key: string }
  | { readonly type: 'closed'; readonly key: string }
  | { readonly type: 'cooling'; readonly key: string; readonly pauseMs: number }
  | { readonly type: 'seen'; readonly sightings: readonly Sightings[] }

interface HealthPorts {
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  /** Tells all other processes; null when there are none. */
  readonly tell: ((news: HealthNews) => void) | null
}

/** A provider's wish to be left alone is followed this long at most. */
const LONGEST_COOLING_MS = 60_000
/**
 * Who has opened a breaker probes; the others wait this much longer, in case it has died, before they do.
 */
const HEARSAY = 3
const TELL_MS = 1_000
/** What the others hear of a probe that told nothing. */
const ABANDONED_MS = 1_000
/** Pass of an endpoint that has no breaker. */
const FREE: Pass = -1

export class Health {
  readonly #ports: HealthPorts
  readonly #endpoints = new Map<string, EndpointHealth>()
  #timer: (() => void) | null = null

  constructor(ports: HealthPorts) {
    this.#ports = ports
  }

  /** The same object for the same endpoint, also over reloads of the configuration. */
  of(endpoint: ModelEndpoint): EndpointHealth {
    return this.#ofKey(endpoint.key)
  }

  #ofKey(key: string): EndpointHealth {
    let health = this.#endpoints.get(key)
    if (health === undefined) {
      health = new EndpointHealth(key, this.now())
      this.#endpoints.set(key, health)
    }
    return health
  }

  now(): number {
    return this.#ports.clock.monotonicMs()
  }

  /**
   * Takes the place of a call at an endpoint; `REFUSED` when its breaker is open. Any other pass is brought back
   * once: to `ended`, to `failed` or to `left`.
   */
  enter(endpoint: ModelEndpoint): Pass {
    if (!endpoint.breaks) return FREE
    const { breaker, key } = this.of(endpoint)
    const pass = breaker.enter(this.now())
    if (pass !== REFUSED && breaker.isProbe(pass)) this.#ports.tell?.({ type: 'probing', key })
    return pass
  }

  /** Something of an answer has come, so many milliseconds after the attempt began. */
  answered(endpoint: ModelEndpoint, pass: Pass, ms: number): void {
    const health = this.of(endpoint)
    health.answered(ms, this.now())
    this.#arm()
    if (health.breaker.answered(pass)) this.#ports.tell?.({ type: 'closed', key: health.key })
  }

  /** The answer is complete. `tokens` came within `ms` milliseconds; 0 where that says nothing of the endpoint. */
  ended(endpoint: ModelEndpoint, pass: Pass, tokens: number, ms: number): void {
    const health = this.of(endpoint)
    const now = this.now()
    health.succeeded(now)
    health.breaker.succeeded(pass, now)
    if (tokens >= 2 && ms > 0) health.generated((tokens / ms) * 1000, now)
    this.#arm()
  }

  /** The attempt has failed, before or after something had come. */
  failed(endpoint: ModelEndpoint, pass: Pass, failure: ProviderFailure): void {
    const health = this.of(endpoint)
    const blame = blameOf(failure)
    if (blame === 'nobody') {
      this.#abandon(health, pass)
      return
    }
    const floorMs = Math.min(LONGEST_COOLING_MS, (failure.fault.retryAfter ?? 0) * 1000)
    if (blame === 'limit') {
      // Whoever says that it is busy is there.
      if (health.breaker.answered(pass)) this.#ports.tell?.({ type: 'closed', key: health.key })
      this.#cool(health, floorMs)
      return
    }
    const now = this.now()
    health.failed(now)
    this.#arm()
    if (!endpoint.breaks || !health.breaker.failed(pass, now, this.#ports.random(), floorMs)) return
    this.#ports.tell?.({ type: 'opened', key: health.key, pauseMs: health.breaker.waitMs(now) })
  }

  /** The caller left; `answering` when something of the answer had come. */
  left(endpoint: ModelEndpoint, pass: Pass, answering: boolean): void {
    const health = this.of(endpoint)
    if (answering) {
      health.succeeded(this.now())
      this.#arm()
    }
    this.#abandon(health, pass)
  }

  /** A probe that tells nothing leaves its place to the next: the others wait as if it had just opened. */
  #abandon({ breaker, key }: EndpointHealth, pass: Pass): void {
    if (breaker.abandoned(pass)) this.#ports.tell?.({ type: 'opened', key, pauseMs: ABANDONED_MS })
  }

  /** Under load a limit is met often: the others are told when it lasts markedly longer than they know. */
  #cool(health: EndpointHealth, pauseMs: number): void {
    const until = this.now() + pauseMs
    if (until > health.coolUntil) health.coolUntil = until
    if (until - health.toldCoolUntil < pauseMs / 4) return
    health.toldCoolUntil = until
    this.#ports.tell?.({ type: 'cooling', key: health.key, pauseMs })
  }

  /** Forgets all endpoints but these: the configuration has changed. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#endpoints.keys()) if (!keys.has(key)) this.#endpoints.delete(key)
  }

  /** Takes what another process tells. `yields`: it comes before us where both would do the same. */
  hear(news: HealthNews, yields: boolean): void {
    const now = this.now()
    switch (news.type) {
      case 'opened':
        this.#ofKey(news.key).breaker.openedElsewhere(now, news.pauseMs * HEARSAY, yields)
        break
      case 'probing':
        this.#ofKey(news.key).breaker.probedElsewhere(now)
        break
      case 'closed':
        this.#ofKey(news.key).breaker.closedElsewhere()
        break
      case 'cooling': {
        const health = this.#ofKey(news.key)
        health.coolUntil = Math.max(health.coolUntil, now + news.pauseMs)
        break
      }
      case 'seen':
        for (const sightings of news.sightings) this.#ofKey(sightings.key).learn(sightings, now)
    }
  }

  /** Tells the figures a second after the first of them; an idle process tells nothing. */
  #arm(): void {
    const { tell, clock } = this.#ports
    if (tell === null || this.#timer !== null) return
    this.#timer = clock.runAfter(TELL_MS, () => {
      this.#timer = null
      const sightings = [...this.#endpoints.values()]
        .filter(({ hasNews }) => hasNews)
        .map((each) => each.takeNews())
      if (sightings.length > 0) tell({ type: 'seen', sightings })
    })
  }

  close(): void {
    this.#timer?.()
    this.#timer = null
  }
}

/** Whose fault a failure was: the endpoint's, nobody's (the caller's, or ours), or that of a limit. */
function blameOf({ fault, status }: ProviderFailure): 'endpoint' | 'nobody' | 'limit' {
  switch (fault.kind) {
    case 'provider-failed':
    case 'provider-timeout':
    case 'provider-overloaded':
      return 'endpoint'
    case 'unavailable':
      // Without a status it is our own limit of connections, or our own end.
      return status === 0 ? 'nobody' : 'endpoint'
    case 'rate-limited':
      return 'limit'
    default:
      return 'nobody'
  }
}
