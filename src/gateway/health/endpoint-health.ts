/** What is known of one endpoint: who may call it, how fast it was lately, how often it failed. */
import { Breaker, type BreakerState } from './breaker.js'

/** Buckets per doubling: neighbours differ by 9 %. */
const BUCKETS_PER_OCTAVE = 8
const BUCKETS = 216
/** From the middle of a bucket to its upper end. */
const HALF_BUCKET = 2 ** (0.5 / BUCKETS_PER_OCTAVE)
/** Weights grow instead of old ones being made smaller; past this they are all divided. */
const LARGEST_WEIGHT = 2 ** 40
const HALF_LIFE_MS = 10 * 60_000
/** Less weight than this, in present calls, tells nothing. */
const LEAST_WEIGHT = 0.5

const MIN_VALUE = 0.01

/**
 * Bucket of a value from 0.01 to about a million, in whatever unit the histogram has; what is beyond counts as
 * that.
 */
function bucketOf(value: number): number {
  if (!(value > MIN_VALUE)) return 0
  return Math.min(BUCKETS - 1, Math.round(Math.log2(value / MIN_VALUE) * BUCKETS_PER_OCTAVE))
}

function bucketValue(bucket: number): number {
  return MIN_VALUE * 2 ** (bucket / BUCKETS_PER_OCTAVE)
}

/** Quantiles of the recent past: what was recorded an hour ago hardly counts any more. */
export class DecayingHistogram {
  readonly #weights = new Float64Array(BUCKETS)
  /** Calls by bucket. */
  readonly #unsent = new Map<number, number>()
  #sum = 0
  /** When the weight of a call was 1. */
  #epoch: number
  readonly #better: 'low' | 'high'

  /** `better`: whether a call does well with a low value or with a high one. */
  constructor(now: number, better: 'low' | 'high' = 'low') {
    this.#epoch = now
    this.#better = better
  }

  record(value: number, now: number): void {
    const bucket = bucketOf(value)
    this.#unsent.set(bucket, (this.#unsent.get(bucket) ?? 0) + 1)
    this.#add(bucket, 1, now)
  }

  /** Adds what another process has drained of its own. */
  addFromPeer(pairs: readonly number[], now: number): void {
    for (let at = 0; at < pairs.length; at += 2) this.#add(pairs[at]!, pairs[at + 1]!, now)
  }

  /** What was recorded since the last time: bucket and count by turns. */
  drainUnsent(): number[] {
    const pairs = [...this.#unsent].flat()
    this.#unsent.clear()
    return pairs
  }

  /** What the share `p`, from 0 to 1, of the calls did at least as well as; null when too little is known. */
  quantile(p: number, now: number, least = LEAST_WEIGHT): number | null {
    // Asked first: it may divide the sum.
    const present = this.#weightAt(now)
    if (this.#sum < least * present) return null
    let left = this.#sum * (this.#better === 'low' ? p : 1 - p)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#weights[bucket]!
      if (left <= 0) return bucketValue(bucket)
    }
    return bucketValue(BUCKETS - 1)
  }

  /** What at most the share `p` of the calls is known to have been above; null when fewer than `least` are known. */
  upperBound(p: number, now: number, least: number): number | null {
    const middle = this.quantile(p, now, least)
    return middle === null ? null : middle * HALF_BUCKET
  }

  /** The quantiles that callers are told; null when too little is known. */
  quantiles(now: number) {
    const p50 = this.quantile(0.5, now)
    if (p50 === null) return null
    const [p75, p90, p99] = [0.75, 0.9, 0.99].map((p) => this.quantile(p, now)!) as [number, number, number]
    return { p50, p75, p90, p99 }
  }

  #add(bucket: number, count: number, now: number): void {
    const weight = count * this.#weightAt(now)
    this.#weights[bucket]! += weight
    this.#sum += weight
  }

  #weightAt(now: number): number {
    const weight = 2 ** ((now - this.#epoch) / HALF_LIFE_MS)
    if (weight < LARGEST_WEIGHT) return weight
    for (let bucket = 0; bucket < BUCKETS; bucket++) this.#weights[bucket]! /= weight
    this.#sum /= weight
    this.#epoch = now
    return 1
  }
}

const MINUTES = 1440
const MINUTE_MS = 60_000

/** Successes and failures per minute of the last day. */
export class UptimeRecord {
  readonly #successes = new Uint32Array(MINUTES)
  readonly #failures = new Uint32Array(MINUTES)
  #unsent = { successes: 0, failures: 0 }
  /** The minute, counted from the epoch of the clock, that was written last. */
  #last = Number.NEGATIVE_INFINITY

  record(now: number, successes: number, failures: number): void {
    this.#unsent.successes += successes
    this.#unsent.failures += failures
    this.addFromPeer(now, successes, failures)
  }

  /** Adds what another process has drained of its own. */
  addFromPeer(now: number, successes: number, failures: number): void {
    const at = this.#advance(now)
    this.#successes[at]! += successes
    this.#failures[at]! += failures
  }

  /** What was recorded since the last time. */
  drainUnsent(): { readonly successes: number; readonly failures: number } {
    const unsent = this.#unsent
    this.#unsent = { successes: 0, failures: 0 }
    return unsent
  }

  /** Percentage of calls that succeeded in the last minutes, the one under way included; null without any call. */
  percent(now: number, minutes: number): number | null {
    this.#advance(now)
    let successes = 0
    let failures = 0
    for (let back = 0; back < Math.min(minutes, MINUTES); back++) {
      const at = (((this.#last - back) % MINUTES) + MINUTES) % MINUTES
      successes += this.#successes[at]!
      failures += this.#failures[at]!
    }
    const calls = successes + failures
    return calls === 0 ? null : Math.round((successes / calls) * 10_000) / 100
  }

  /** Clears the minutes that have passed without a call, and says where the present one is. */
  #advance(now: number): number {
    const minute = Math.floor(now / MINUTE_MS)
    const from = Math.max(this.#last + 1, minute - MINUTES + 1)
    for (let each = from; each <= minute; each++) {
      this.#successes[each % MINUTES] = 0
      this.#failures[each % MINUTES] = 0
    }
    if (minute > this.#last) this.#last = minute
    return minute % MINUTES
  }
}

/** What a process has seen since it told the others, for them to add: bucket and count by turns. */
export interface PeerObservations {
  readonly key: string
  readonly successes: number
  readonly failures: number
  readonly latency: readonly number[]
  readonly throughput: readonly number[]
  /** Times to the answer, where they are kept: of streams, and of answers that came whole. */
  readonly streamed?: readonly number[]
  readonly whole?: readonly number[]
}

/** Callers with a breaker of their own at an endpoint; of more the one that failed longest ago is forgotten. */
const MAX_FAILING_CALLERS = 64

export class EndpointHealth {
  /** For everybody. */
  readonly breaker = new Breaker()
  /** Of callers that calls have failed for, the latest last. */
  readonly #callerBreakers = new Map<string, Breaker>()
  /** Until then the provider has asked not to be called; calls go elsewhere if they can. */
  coolUntil = 0
  /** As far as the others have been told. */
  announcedCoolUntil = 0
  /** Milliseconds from the begin of an attempt to the first that was seen of its answer. */
  readonly latency: DecayingHistogram
  /** Completion tokens per second. */
  readonly throughput: DecayingHistogram
  /** Milliseconds to the first content of streams, and to answers that came whole; null as long as nobody asks. */
  #streamed: DecayingHistogram | null = null
  #whole: DecayingHistogram | null = null
  /** Every call that came to its end, or to the caller's, once. */
  readonly uptime = new UptimeRecord()

  constructor(
    readonly key: string,
    now: number,
  ) {
    this.latency = new DecayingHistogram(now)
    this.throughput = new DecayingHistogram(now, 'high')
  }

  /** As a caller meets it; without one, as everybody does. */
  state(now: number, caller: string | null = null): BreakerState | 'cooling' {
    const shared = this.breaker.state(now)
    if (shared === 'open') return 'open'
    const own = this.breakerOf(caller ?? '')?.state(now) ?? 'closed'
    const state = own === 'closed' ? shared : own
    return state === 'closed' && now < this.coolUntil ? 'cooling' : state
  }

  /** When a caller may try an open one, in milliseconds from now; 0 when it may. */
  waitMs(now: number, caller: string): number {
    return Math.max(this.breaker.waitMs(now), this.breakerOf(caller)?.waitMs(now) ?? 0)
  }

  /** The caller's own, or that of all for null; undefined as long as nothing has failed for the caller. */
  breakerOf(caller: string | null): Breaker | undefined {
    return caller === null ? this.breaker : this.#callerBreakers.get(caller)
  }

  /** The same for a failure: now the caller has one. */
  breakerFor(caller: string | null): Breaker {
    if (caller === null) return this.breaker
    const own = this.#callerBreakers.get(caller) ?? new Breaker()
    this.#callerBreakers.delete(caller)
    this.#callerBreakers.set(caller, own)
    if (this.#callerBreakers.size > MAX_FAILING_CALLERS)
      this.#callerBreakers.delete(this.#callerBreakers.keys().next().value!)
    return own
  }

  /** Kept apart: an answer that comes whole takes longer than the first word of one that is streamed. */
  timesToAnswer(isWhole: boolean, now: number): DecayingHistogram {
    if (isWhole) return (this.#whole ??= new DecayingHistogram(now))
    return (this.#streamed ??= new DecayingHistogram(now))
  }

  /** Takes what has been seen since the last time; null for nothing. */
  drainObservations(): PeerObservations | null {
    const latency = this.latency.drainUnsent()
    const throughput = this.throughput.drainUnsent()
    const { successes, failures } = this.uptime.drainUnsent()
    const streamed = this.#streamed?.drainUnsent() ?? []
    const whole = this.#whole?.drainUnsent() ?? []
    const timed = latency.length + streamed.length + whole.length
    if (successes + failures + timed + throughput.length === 0) return null
    return {
      ...{ key: this.key, successes, failures, latency, throughput },
      ...(streamed.length > 0 && { streamed }),
      ...(whole.length > 0 && { whole }),
    }
  }

  /** Adds what another process has seen. */
  addPeerObservations(seen: PeerObservations, now: number): void {
    const { successes, failures, latency, throughput, streamed, whole } = seen
    this.uptime.addFromPeer(now, successes, failures)
    this.latency.addFromPeer(latency, now)
    this.throughput.addFromPeer(throughput, now)
    if (streamed !== undefined) this.timesToAnswer(false, now).addFromPeer(streamed, now)
    if (whole !== undefined) this.timesToAnswer(true, now).addFromPeer(whole, now)
  }
}
