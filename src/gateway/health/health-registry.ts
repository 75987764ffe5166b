/**
 * The health of all endpoints, as far as the calls of all processes have shown it. Every process decides by what it
 * knows itself; what it sees it tells the others: breakers that open and close at once, figures once a second.
 */
import type { Clock } from '../../base/clock.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import {
  Breaker,
  type BreakerPermit,
  type BreakerState,
  DecayingHistogram,
  REFUSED,
  UptimeRecord,
} from './endpoint-health.js'

export { type BreakerPermit, REFUSED } from './endpoint-health.js'

/** What a process has seen since it told the others, for them to add: bucket and count by turns. */
interface PeerObservations {
  readonly key: string
  readonly successes: number
  readonly failures: number
  readonly latency: readonly number[]
  readonly throughput: readonly number[]
}

class EndpointHealth {
  readonly breaker = new Breaker()
  /** Until then the provider has asked not to be called; calls go elsewhere if they can. */
  coolUntil = 0
  /** As far as the others have been told. */
  announcedCoolUntil = 0
  /** Milliseconds from the begin of an attempt to the first that was seen of its answer. */
  readonly latency: DecayingHistogram
  /** Completion tokens per second. */
  readonly throughput: DecayingHistogram
  /** Every call that came to its end, or to the caller's, once. */
  readonly uptime = new UptimeRecord()

  constructor(
    readonly key: string,
    now: number,
  ) {
    this.latency = new DecayingHistogram(now)
    this.throughput = new DecayingHistogram(now, 'high')
  }

  state(now: number): BreakerState | 'cooling' {
    const state = this.breaker.state(now)
    return state === 'closed' && now < this.coolUntil ? 'cooling' : state
  }

  /** Takes what has been seen since the last time; null for nothing. */
  drainObservations(): PeerObservations | null {
    const latency = this.latency.drainUnsent()
    const throughput = this.throughput.drainUnsent()
    const { successes, failures } = this.uptime.drainUnsent()
    const isNothing = successes + failures + latency.length + throughput.length === 0
    return isNothing ? null : { key: this.key, successes, failures, latency, throughput }
  }

  /** Adds what another process has seen. */
  addPeerObservations({ successes, failures, latency, throughput }: PeerObservations, now: number): void {
    this.uptime.addFromPeer(now, successes, failures)
    this.latency.addFromPeer(latency, now)
    this.throughput.addFromPeer(throughput, now)
  }
}

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
  of({ key }: { readonly key: string }): EndpointHealth {
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
    health.latency.record(ms, this.now())
    this.#scheduleBroadcast()
    this.#recordReachable(health, permit)
  }

  /** The answer is complete. `tokens` came within `ms` milliseconds; 0 where that says nothing of the endpoint. */
  recordEnd(endpoint: ModelEndpoint, permit: BreakerPermit, tokens: number, ms: number): void {
    const health = this.of(endpoint)
    const now = this.now()
    health.uptime.record(now, 1, 0)
    health.breaker.recordSuccess(permit, now)
    if (tokens >= 2 && ms > 0) health.throughput.record((tokens / ms) * 1000, now)
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
      this.#recordReachable(health, permit)
      this.#coolDown(health, floorMs)
      return
    }
    const now = this.now()
    health.uptime.record(now, 0, 1)
    this.#scheduleBroadcast()
    if (!endpoint.hasBreaker || !health.breaker.recordFailure(permit, now, this.#ports.random(), floorMs))
      return
    this.#ports.broadcast?.({ type: 'opened', key: health.key, pauseMs: health.breaker.waitMs(now) })
  }

  /** The caller left; `answering` when something of the answer had come. */
  recordAbort(endpoint: ModelEndpoint, permit: BreakerPermit, answering: boolean): void {
    const health = this.of(endpoint)
    if (answering) {
      health.uptime.record(this.now(), 1, 0)
      this.#scheduleBroadcast()
    }
    this.#releaseProbe(health, permit)
  }

  #recordReachable({ breaker, key }: EndpointHealth, permit: BreakerPermit): void {
    if (breaker.recordAnswer(permit)) this.#ports.broadcast?.({ type: 'closed', key })
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
    if (update.type === 'observed') {
      for (const each of update.observations) this.of(each).addPeerObservations(each, now)
      return
    }
    const health = this.of(update)
    switch (update.type) {
      case 'opened':
        health.breaker.openedByPeer(now, update.pauseMs * PEER_GRACE_FACTOR, yields)
        break
      case 'probing':
        health.breaker.probedByPeer(now)
        break
      case 'closed':
        health.breaker.closedByPeer()
        break
      case 'cooling':
        health.coolUntil = Math.max(health.coolUntil, now + update.pauseMs)
    }
  }

  /** Tells the figures a second after the first of them; an idle process tells nothing. */
  #scheduleBroadcast(): void {
    const { broadcast, clock } = this.#ports
    if (broadcast === null || this.#timer !== null) return
    this.#timer = clock.runAfter(BROADCAST_MS, () => {
      this.#timer = null
      const observations = [...this.#endpoints.values()]
        .map((each) => each.drainObservations())
        .filter((observations) => observations !== null)
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
