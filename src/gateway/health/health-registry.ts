/**
 * The health of all endpoints, as far as the calls of all processes have shown it. Every process decides by what it
 * knows itself; what it sees it tells the others: breakers that open and close at once, figures once a second.
 */
import type { Clock } from '../../base/clock.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import { type BreakerPermit, REFUSED } from './breaker.js'
import { EndpointHealth, type PeerObservations } from './endpoint-health.js'

export type { BreakerPermit } from './breaker.js'
export { REFUSED } from './breaker.js'

/** What processes tell each other. Times are durations: their clocks do not agree. */
export type HealthUpdate =
  | { readonly type: 'opened'; readonly key: string; readonly pauseMs: number }
  /** It is being tried: the others need not. */
  | { readonly type: 'probing'; readonly key: string }
  | { readonly type: 'closed'; readonly key: string }
  | { readonly type: 'cooling'; readonly key: string; readonly pauseMs: number }
  | { readonly type: 'observed'; readonly observations: readonly PeerObservations[] }

interface HealthRegistryPorts {
  readonly clock: Clock
  /** From 0 to 1. */
  readonly random: () => number
  /** Tells all other processes; null when there are none. */
  readonly broadcast: ((update: HealthUpdate) => void) | null
}

/** A provider's wish to be left alone is followed this long at most. */
const LONGEST_COOLING_MS = 60_000
/**
 * The process that has opened a breaker probes; the others wait this much longer before they do, in case it has died.
 */
const PEER_GRACE_FACTOR = 3
const BROADCAST_MS = 1_000
/** Pause that the others are told of when a probe has ended without an answer. */
const ABANDONED_PROBE_PAUSE_MS = 1_000
/** Permit of an endpoint that has no breaker. */
const NO_BREAKER: BreakerPermit = -1

export class HealthRegistry {
  readonly #ports: HealthRegistryPorts
  readonly #endpoints = new Map<string, EndpointHealth>()
  #timer: (() => void) | null = null

  constructor(ports: HealthRegistryPorts) {
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
   * Takes the place of a call at an endpoint; `REFUSED` when its breaker is open. Any other permit is brought back
   * once: to `ended`, to `failed` or to `left`.
   */
  tryAcquire(endpoint: ModelEndpoint): BreakerPermit {
    if (!endpoint.hasBreaker) return NO_BREAKER
    const { breaker, key } = this.of(endpoint)
    const permit = breaker.tryAcquire(this.now())
    if (permit !== REFUSED && breaker.isProbe(permit)) this.#ports.broadcast?.({ type: 'probing', key })
    return permit
  }

  /** Something of an answer has come, so many milliseconds after the attempt began. */
  recordAnswer(endpoint: ModelEndpoint, permit: BreakerPermit, ms: number): void {
    const health = this.of(endpoint)
    health.recordLatency(ms, this.now())
    this.#scheduleBroadcast()
    if (health.breaker.recordAnswer(permit)) this.#ports.broadcast?.({ type: 'closed', key: health.key })
  }

  /** The answer is complete. `tokens` came within `ms` milliseconds; 0 where that says nothing of the endpoint. */
  recordEnd(endpoint: ModelEndpoint, permit: BreakerPermit, tokens: number, ms: number): void {
    const health = this.of(endpoint)
    const now = this.now()
    health.recordSuccess(now)
    health.breaker.recordSuccess(permit, now)
    if (tokens >= 2 && ms > 0) health.recordThroughput((tokens / ms) * 1000, now)
    this.#scheduleBroadcast()
  }

  /** The attempt has failed, before or after something had come. */
  recordFailure(endpoint: ModelEndpoint, permit: BreakerPermit, failure: ProviderFailure): void {
    const health = this.of(endpoint)
    const blame = classifyBlame(failure)
    if (blame === 'nobody') {
      this.#releaseProbe(health, permit)
      return
    }
    const floorMs = Math.min(LONGEST_COOLING_MS, (failure.fault.retryAfter ?? 0) * 1000)
    if (blame === 'limit') {
      // A provider that says it is busy is there.
      if (health.breaker.recordAnswer(permit)) this.#ports.broadcast?.({ type: 'closed', key: health.key })
      this.#coolDown(health, floorMs)
      return
    }
    const now = this.now()
    health.recordFailure(now)
    this.#scheduleBroadcast()
    if (!endpoint.hasBreaker || !health.breaker.recordFailure(permit, now, this.#ports.random(), floorMs))
      return
    this.#ports.broadcast?.({ type: 'opened', key: health.key, pauseMs: health.breaker.waitMs(now) })
  }

  /** The caller left; `answering` when something of the answer had come. */
  recordAbort(endpoint: ModelEndpoint, permit: BreakerPermit, answering: boolean): void {
    const health = this.of(endpoint)
    if (answering) {
      health.recordSuccess(this.now())
      this.#scheduleBroadcast()
    }
    this.#releaseProbe(health, permit)
  }

  /** A probe that tells nothing leaves its place to the next: the others wait as if it had just opened. */
  #releaseProbe({ breaker, key }: EndpointHealth, permit: BreakerPermit): void {
    if (breaker.releaseProbe(permit))
      this.#ports.broadcast?.({ type: 'opened', key, pauseMs: ABANDONED_PROBE_PAUSE_MS })
  }

  /** Under load a limit is met often: the others are told when it lasts markedly longer than they know. */
  #coolDown(health: EndpointHealth, pauseMs: number): void {
    const until = this.now() + pauseMs
    if (until > health.coolUntil) health.coolUntil = until
    if (until - health.announcedCoolUntil < pauseMs / 4) return
    health.announcedCoolUntil = until
    this.#ports.broadcast?.({ type: 'cooling', key: health.key, pauseMs })
  }

  /** Forgets all endpoints but these: the configuration has changed. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#endpoints.keys()) if (!keys.has(key)) this.#endpoints.delete(key)
  }

  /** Takes what another process tells. `yields`: it comes before us where both would do the same. */
  applyPeerUpdate(update: HealthUpdate, yields: boolean): void {
    const now = this.now()
    switch (update.type) {
      case 'opened':
        this.#ofKey(update.key).breaker.openedByPeer(now, update.pauseMs * PEER_GRACE_FACTOR, yields)
        break
      case 'probing':
        this.#ofKey(update.key).breaker.probedByPeer(now)
        break
      case 'closed':
        this.#ofKey(update.key).breaker.closedByPeer()
        break
      case 'cooling': {
        const health = this.#ofKey(update.key)
        health.coolUntil = Math.max(health.coolUntil, now + update.pauseMs)
        break
      }
      case 'observed':
        for (const each of update.observations) this.#ofKey(each.key).addPeerObservations(each, now)
    }
  }

  /** Tells the figures a second after the first of them; an idle process tells nothing. */
  #scheduleBroadcast(): void {
    const { broadcast, clock } = this.#ports
    if (broadcast === null || this.#timer !== null) return
    this.#timer = clock.runAfter(BROADCAST_MS, () => {
      this.#timer = null
      const observations = [...this.#endpoints.values()]
        .filter(({ hasUnsentObservations: hasNews }) => hasNews)
        .map((each) => each.drainObservations())
      if (observations.length > 0) broadcast({ type: 'observed', observations })
    })
  }

  close(): void {
    this.#timer?.()
    this.#timer = null
  }
}

/** Whose fault a failure was: the endpoint's, nobody's (the caller's, or ours), or that of a limit. */
function classifyBlame({ fault, status }: ProviderFailure): 'endpoint' | 'nobody' | 'limit' {
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
