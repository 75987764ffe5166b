/**
 * The health of all endpoints, as far as the calls of all processes have shown it. Every process decides by what it
 * knows itself; what it sees it tells the others: breakers that open and close at once, figures once a second.
 */
import type { Clock } from '../../base/clock.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { ProviderFailure } from '../providers/port/provider.js'
import { type Breaker, type BreakerPermit, FIRST_PERMIT, NO_PERMIT } from './breaker.js'
import { EndpointHealth, type PeerObservations } from './endpoint-health.js'

/** Of a call that may go to an endpoint. */
export interface CallPermit {
  /** The organization that calls. */
  readonly caller: string
  /** Of the breaker for everybody; `NO_PERMIT` for a call that has no say there. */
  readonly shared: BreakerPermit
  /** Of the caller's own. */
  readonly own: BreakerPermit
}

/** No place: the breaker of all, or the caller's own, is open. */
export const REFUSED: CallPermit = Object.freeze({ caller: '', shared: NO_PERMIT, own: NO_PERMIT })

/** A breaker of an endpoint: a caller's own, or that of all for null. */
interface NamedBreaker {
  readonly key: string
  readonly caller: string | null
}

/** What processes tell each other. Times are durations: their clocks do not agree. */
export type HealthUpdate =
  | ({ readonly type: 'opened'; readonly pauseMs: number } & NamedBreaker)
  /** It is being tried: the others need not. */
  | ({ readonly type: 'probing' } & NamedBreaker)
  | ({ readonly type: 'closed' } & NamedBreaker)
  | { readonly type: 'cooling'; readonly key: string; readonly pauseMs: number }
  | { readonly type: 'observed'; readonly observations: readonly PeerObservations[] }

/**
 * How a process that tells stands to this one: of two of one machine the one before does what both would do; one
 * elsewhere, on another machine, does nothing in our place.
 */
type PeerRelation = 'before-us' | 'after-us' | 'elsewhere'

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
/** Of the calls of an endpoint, as many are not late; and as many have to be known. */
const LATE_SHARE = 0.95
const LEAST_TIMES = 40
/** Endpoints under keys of callers whose health is kept; the one that was met first goes first. */
const MOST_UNDER_KEYS = 500
/** Pause that the others are told of when a probe has ended without an answer. */
const ABANDONED_PROBE_PAUSE_MS = 1_000
/** Permit of an endpoint that has no breaker. */
const NO_BREAKER: CallPermit = Object.freeze({ caller: '', shared: -1, own: -1 })

export class HealthRegistry {
  readonly #ports: HealthRegistryPorts
  readonly #endpoints = new Map<string, EndpointHealth>()
  /** The same of endpoints under keys of callers: what comes of a key is known of nobody else, and told to nobody. */
  readonly #underKeys = new Map<string, EndpointHealth>()
  #timer: (() => void) | null = null

  constructor(ports: HealthRegistryPorts) {
    this.#ports = ports
  }

  /** The same object for the same endpoint, also over reloads of the configuration. */
  of({ key, own }: Pick<ModelEndpoint, 'key' | 'own'>): EndpointHealth {
    const known = own === undefined ? this.#endpoints : this.#underKeys
    let health = known.get(key)
    if (health === undefined) {
      health = new EndpointHealth(key, this.now())
      known.set(key, health)
      if (this.#underKeys.size > MOST_UNDER_KEYS) this.#underKeys.delete(this.#underKeys.keys().next().value!)
    }
    return health
  }

  /** Whether calls had better go elsewhere: it is at its limit, or keeps failing for everybody or that caller. */
  isResting({ key, own }: Pick<ModelEndpoint, 'key' | 'own'>, caller: string): boolean {
    const health = (own === undefined ? this.#endpoints : this.#underKeys).get(key)
    const state = health?.state(this.now(), caller) ?? 'closed'
    return state === 'open' || state === 'cooling'
  }

  /** Endpoints of the operator that are not called as usual. */
  disturbed(): { readonly endpoint: string; readonly state: 'open' | 'half-open' | 'cooling' }[] {
    const now = this.now()
    return [...this.#endpoints].flatMap(([endpoint, health]) => {
      const state = health.state(now)
      return state === 'closed' ? [] : [{ endpoint, state }]
    })
  }

  #tell(update: Exclude<HealthUpdate, { readonly type: 'observed' }>): void {
    if (!this.#underKeys.has(update.key)) this.#ports.broadcast?.(update)
  }

  now(): number {
    return this.#ports.clock.monotonicMs()
  }

  /**
   * Takes the place of a call at an endpoint, or gives `REFUSED`. Any other permit is brought back once: to `recordEnd`, to `recordFailure` or to `recordAbort`.
   */
  tryAcquire(endpoint: ModelEndpoint, caller: string): CallPermit {
    if (!endpoint.hasBreaker) return NO_BREAKER
    const health = this.of(endpoint)
    const now = this.now()
    const shared = health.breaker.state(now)
    const breaker = health.breakerOf(caller)
    if (shared === 'open') return REFUSED
    if (breaker === undefined || breaker.state(now) === 'closed') {
      const permit = this.#enter(health.breaker, health.key, null, now)
      if (permit === NO_PERMIT) return REFUSED
      return { caller, shared: permit, own: breaker?.tryAcquire(now) ?? FIRST_PERMIT }
    }
    const own = this.#enter(breaker, health.key, caller, now)
    if (own === NO_PERMIT) return REFUSED
    // Whoever keeps failing is not the probe for the others. When it is answered, that says enough.
    return { caller, shared: shared === 'closed' ? health.breaker.tryAcquire(now) : NO_PERMIT, own }
  }

  #enter(breaker: Breaker, key: string, caller: string | null, now: number): BreakerPermit {
    const permit = breaker.tryAcquire(now)
    if (permit !== NO_PERMIT && breaker.isProbe(permit)) this.#tell({ type: 'probing', key, caller })
    return permit
  }

  /** Something of an answer has come, so many milliseconds after the attempt began. */
  recordAnswer(endpoint: ModelEndpoint, permit: CallPermit, ms: number): void {
    const health = this.of(endpoint)
    health.latency.record(ms, this.now())
    this.#scheduleBroadcast()
    this.#recordReachable(health, permit)
  }

  /** The answer is complete. `tokens` came within `ms` milliseconds; 0 where that says nothing of the endpoint. */
  recordEnd(endpoint: ModelEndpoint, permit: CallPermit, tokens: number, ms: number): void {
    const health = this.of(endpoint)
    const now = this.now()
    health.uptime.record(now, 1, 0)
    health.breaker.recordSuccess(permit.shared, now)
    health.breakerOf(permit.caller)?.recordSuccess(permit.own, now)
    if (tokens >= 2 && ms > 0) health.throughput.record((tokens / ms) * 1000, now)
    this.#scheduleBroadcast()
  }

  /**
   * The attempt has failed, before or after something had come. `waitedMs`: how long nothing has come, so that an
   * endpoint whose callers give up counts as slow; 0 where something had (contract/decisions 44).
   */
  recordFailure(endpoint: ModelEndpoint, permit: CallPermit, failure: ProviderFailure, waitedMs = 0): void {
    const health = this.of(endpoint)
    if (failure.fault.kind === 'provider-timeout' && waitedMs > 0) health.latency.record(waitedMs, this.now())
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
    health.uptime.record(this.now(), 0, 1)
    this.#scheduleBroadcast()
    if (!endpoint.hasBreaker) return
    const { caller } = permit
    // A simulated endpoint fails as its callers ask.
    const isProvoked = failure.class !== 'not-sent' || endpoint.simulation !== null
    this.#recordBreakerFailure(health, null, permit.shared, floorMs, isProvoked ? caller : null)
    // That there was no connection is nothing that a request can have brought about.
    if (isProvoked) this.#recordBreakerFailure(health, caller, permit.own, floorMs, null)
    else if (health.breakerOf(caller)?.releaseProbe(permit.own) === true)
      this.#tellAbandoned(health.key, caller)
  }

  #recordBreakerFailure(
    health: EndpointHealth,
    caller: string | null,
    permit: BreakerPermit,
    floorMs: number,
    provokedBy: string | null,
  ): void {
    const breaker = health.breakerFor(caller)
    const now = this.now()
    if (!breaker.recordFailure(permit, now, this.#ports.random(), floorMs, provokedBy)) return
    this.#tell({ type: 'opened', key: health.key, caller, pauseMs: breaker.waitMs(now) })
  }

  /** The caller left; `answering` when something of the answer had come. */
  recordAbort(endpoint: ModelEndpoint, permit: CallPermit, answering: boolean): void {
    const health = this.of(endpoint)
    if (answering) {
      health.uptime.record(this.now(), 1, 0)
      this.#scheduleBroadcast()
    }
    this.#releaseProbe(health, permit)
  }

  /** How long the answer was waited for, of a stream or of one that came whole; kept where a second endpoint may be asked. */
  recordTimeToAnswer(endpoint: ModelEndpoint, isWhole: boolean, ms: number): void {
    const now = this.now()
    this.of(endpoint).timesToAnswer(isWhole, now).record(ms, now)
    this.#scheduleBroadcast()
  }

  /**
   * It has not answered for `ms`, and is asked no longer. How long it would have taken is not known; that it was later
   * than most is. Without a word of it the slow ones would drop out of the figures, and what counts as late sink.
   */
  recordOvertaken(endpoint: ModelEndpoint, isWhole: boolean, ms: number): void {
    this.of(endpoint).latency.record(ms, this.now())
    this.recordTimeToAnswer(endpoint, isWhole, ms)
  }

  /** Milliseconds after which an endpoint is later than with 95 of 100 calls; null where too little is known. */
  lateAfterMs(endpoint: ModelEndpoint, isWhole: boolean): number | null {
    const now = this.now()
    return this.of(endpoint).timesToAnswer(isWhole, now).upperBound(LATE_SHARE, now, LEAST_TIMES)
  }

  #recordReachable(health: EndpointHealth, { caller, shared, own }: CallPermit): void {
    const { breaker, key } = health
    const hasClosedOwn = health.breakerOf(caller)?.recordAnswer(own) === true
    if (hasClosedOwn) this.#tell({ type: 'closed', key, caller })
    let hasClosed = breaker.recordAnswer(shared)
    if (hasClosedOwn && shared === NO_PERMIT) {
      breaker.closedByPeer()
      hasClosed = true
    }
    if (hasClosed) this.#tell({ type: 'closed', key, caller: null })
  }

  /** A probe that tells nothing leaves its place to the next. */
  #releaseProbe(health: EndpointHealth, { caller, shared, own }: CallPermit): void {
    if (health.breaker.releaseProbe(shared)) this.#tellAbandoned(health.key, null)
    if (health.breakerOf(caller)?.releaseProbe(own) === true) this.#tellAbandoned(health.key, caller)
  }

  /** The others wait as if it had just opened. */
  #tellAbandoned(key: string, caller: string | null): void {
    this.#tell({ type: 'opened', key, caller, pauseMs: ABANDONED_PROBE_PAUSE_MS })
  }

  /** Under load a limit is met often: the others are told when it lasts markedly longer than they know. */
  #coolDown(health: EndpointHealth, pauseMs: number): void {
    const until = this.now() + pauseMs
    if (until > health.coolUntil) health.coolUntil = until
    if (until - health.announcedCoolUntil < pauseMs / 4) return
    health.announcedCoolUntil = until
    this.#tell({ type: 'cooling', key: health.key, pauseMs })
  }

  /** Forgets all endpoints but these: the configuration has changed. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#endpoints.keys()) if (!keys.has(key)) this.#endpoints.delete(key)
  }

  /** Takes what another process tells. */
  applyPeerUpdate(update: HealthUpdate, relation: PeerRelation): void {
    const now = this.now()
    if (update.type === 'observed') {
      for (const each of update.observations) this.of(each).addPeerObservations(each, now)
      return
    }
    const health = this.of(update)
    switch (update.type) {
      case 'opened': {
        const pauseMs = update.pauseMs * (relation === 'elsewhere' ? 1 : PEER_GRACE_FACTOR)
        health.breakerFor(update.caller).openedByPeer(now, pauseMs, relation === 'before-us')
        break
      }
      case 'probing':
        health.breakerOf(update.caller)?.probedByPeer(now)
        break
      case 'closed':
        health.breakerOf(update.caller)?.closedByPeer()
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
