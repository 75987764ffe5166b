/**
 * The health of all endpoints, as far as the calls of all processes have shown it. Every process decides by what it
 * knows itself; what it sees it tells the others: breakers that open and close at once, figures once a second.
 */
import type { Clock } from '../../base/clock.js'
import type { ModelEndpoint } from '../catalog.js'
import type { ProviderFailure } from '../providers/provider.js'
import { EndpointHealth, type Sightings } from './endpoint-health.js'

/** What processes tell each other. Times are durations: their clocks do not agree. */
export type HealthNews =
  | { readonly type: 'opened'; readonly key: string; readonly pauseMs: number }
  | { readonly type: 'closed'; readonly key: string }
  | { readonly type: 'cooling'; readonly key: string; readonly pauseMs: number }
  | { readonly type: 'seen'; readonly sightings: readonly Sightings[] }

export interface HealthPorts {
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

  /** Takes the place of a call at an endpoint. False when its breaker is open: then nothing has to be told. */
  enter(endpoint: ModelEndpoint): boolean {
    return !endpoint.breaks || this.of(endpoint).breaker.enter(this.now())
  }

  /** Something of an answer has come, so many milliseconds after the attempt began. */
  answered(endpoint: ModelEndpoint, ms: number): void {
    const health = this.of(endpoint)
    const now = this.now()
    health.answered(ms, now)
    if (health.breaker.succeeded(now)) this.#ports.tell?.({ type: 'closed', key: health.key })
    this.#arm()
  }

  /** The answer is complete. */
  generated(endpoint: ModelEndpoint, tokens: number, ms: number): void {
    if (tokens < 2 || ms <= 0) return
    this.of(endpoint).generated((tokens / ms) * 1000, this.now())
  }

  /** The attempt has failed, before or after something had come. */
  failed(endpoint: ModelEndpoint, failure: ProviderFailure): void {
    const health = this.of(endpoint)
    const now = this.now()
    const blame = blameOf(failure)
    if (blame === 'nobody') {
      health.breaker.abandoned()
      return
    }
    const floorMs = Math.min(LONGEST_COOLING_MS, (failure.fault.retryAfter ?? 0) * 1000)
    if (blame === 'limit') {
      health.breaker.abandoned()
      health.coolUntil = Math.max(health.coolUntil, now + floorMs)
      this.#ports.tell?.({ type: 'cooling', key: health.key, pauseMs: floorMs })
      return
    }
    health.failed(now)
    this.#arm()
    if (!endpoint.breaks || !health.breaker.failed(now, this.#ports.random(), floorMs)) return
    this.#ports.tell?.({ type: 'opened', key: health.key, pauseMs: health.breaker.waitMs(now) })
  }

  /** The caller left before anything was known. */
  abandoned(endpoint: ModelEndpoint): void {
    this.of(endpoint).breaker.abandoned()
  }

  /** Takes what another process tells. `yields`: it comes before us where both would do the same. */
  hear(news: HealthNews, yields: boolean): void {
    const now = this.now()
    switch (news.type) {
      case 'opened':
        this.#ofKey(news.key).breaker.openedElsewhere(now, news.pauseMs * HEARSAY, yields)
        break
      case 'closed':
        this.#ofKey(news.key).breaker.close()
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
    this.#timer = clock.after(TELL_MS, () => {
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
