/** What is known of one endpoint: whether it may be called, how fast it was lately, how often it failed. */
import { Breaker, type BreakerState } from './breaker.js'

/** What a process has seen since it told the others, for them to add: bucket and count by turns. */
export interface PeerObservations {
  readonly key: string
  readonly successes: number
  readonly failures: number
  readonly latency: readonly number[]
  readonly throughput: readonly number[]
}

interface QuantileSet {
  readonly p50: number
  readonly p75: number
  readonly p90: number
  readonly p99: number
}

export class EndpointHealth {
  readonly breaker = new Breaker()
  /** Until then the provider has asked not to be called; calls go elsewhere if they can. */
  coolUntil = 0
  /** As far as the others have been told. */
  announcedCoolUntil = 0
  readonly #latency: DecayingHistogram
  readonly #throughput: DecayingHistogram
  readonly #uptime = new UptimeRecord()
  #unsentSuccesses = 0
  #unsentFailures = 0
  #hasUnsent = false

  constructor(
    readonly key: string,
    now: number,
  ) {
    this.#latency = new DecayingHistogram(now)
    this.#throughput = new DecayingHistogram(now)
  }

  /** Something has been seen that the others do not know. */
  get hasUnsentObservations(): boolean {
    return this.#hasUnsent
  }

  /** Milliseconds from the begin of an attempt to the first that was seen of its answer. */
  recordLatency(ms: number, now: number): void {
    this.#latency.record(ms, now)
    this.#hasUnsent = true
  }

  /** Once per call that came to its end, or to the caller's. */
  recordSuccess(now: number): void {
    this.#uptime.record(now, 1, 0)
    this.#unsentSuccesses++
    this.#hasUnsent = true
  }

  recordThroughput(tokensPerSecond: number, now: number): void {
    this.#throughput.record(tokensPerSecond, now)
    this.#hasUnsent = true
  }

  recordFailure(now: number): void {
    this.#uptime.record(now, 0, 1)
    this.#unsentFailures++
    this.#hasUnsent = true
  }

  /** `p` from 0 to 1; milliseconds, null when too little is known. */
  latencyMs(p: number, now: number): number | null {
    return this.#latency.quantile(p, now)
  }

  /** Completion tokens per second that at least the share `p` of the calls reached; null when too little is known. */
  throughput(p: number, now: number): number | null {
    return this.#throughput.quantile(1 - p, now)
  }

  latencyQuantiles(now: number): QuantileSet | null {
    return quantileSet((p) => this.latencyMs(p, now))
  }

  throughputQuantiles(now: number): QuantileSet | null {
    return quantileSet((p) => this.throughput(p, now))
  }

  uptime(now: number, minutes: number): number | null {
    return this.#uptime.percent(now, minutes)
  }

  state(now: number): BreakerState | 'cooling' {
    const state = this.breaker.state(now)
    return state === 'closed' && now < this.coolUntil ? 'cooling' : state
  }

  /** Takes what has been seen since the last time. */
  drainObservations(): PeerObservations {
    const observations = {
      key: this.key,
      successes: this.#unsentSuccesses,
      failures: this.#unsentFailures,
      latency: this.#latency.drainUnsent(),
      throughput: this.#throughput.drainUnsent(),
    }
    this.#unsentSuccesses = 0
    this.#unsentFailures = 0
    this.#hasUnsent = false
    return observations
  }

  /** Adds what another process has seen. */
  addPeerObservations({ successes, failures, latency, throughput }: PeerObservations, now: number): void {
    this.#uptime.record(now, successes, failures)
    this.#latency.addFromPeer(latency, now)
    this.#throughput.addFromPeer(throughput, now)
  }
}

function quantileSet(quantile: (p: number) => number | null): QuantileSet | null {
  const p50 = quantile(0.5)
  if (p50 === null) return null
  return { p50, p75: quantile(0.75)!, p90: quantile(0.9)!, p99: quantile(0.99)! }
}

// ── What calls have shown of it lately ────────────────────────────────────────

/** Buckets per doubling: neighbours differ by 9 %. */
const BUCKETS_PER_OCTAVE = 8
const BUCKETS = 216
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
  readonly #unsent = new Uint32Array(BUCKETS)
  #sum = 0
  /** When the weight of a call was 1. */
  #epoch: number

  constructor(now: number) {
    this.#epoch = now
  }

  record(value: number, now: number): void {
    const bucket = bucketOf(value)
    this.#unsent[bucket]!++
    this.#add(bucket, 1, now)
  }

  /** Adds what another process has drained of its own. */
  addFromPeer(pairs: readonly number[], now: number): void {
    for (let at = 0; at < pairs.length; at += 2) this.#add(pairs[at]!, pairs[at + 1]!, now)
  }

  /** What was recorded since the last time: bucket and count by turns. */
  drainUnsent(): number[] {
    const pairs: number[] = []
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      if (this.#unsent[bucket]! > 0) pairs.push(bucket, this.#unsent[bucket]!)
    }
    this.#unsent.fill(0)
    return pairs
  }

  /** How many present calls the past weighs. */
  weight(now: number): number {
    // Asked first: it may divide the sum.
    const present = this.#weightAt(now)
    return this.#sum / present
  }

  /** Null when too little is known. */
  quantile(p: number, now: number): number | null {
    if (this.weight(now) < LEAST_WEIGHT) return null
    let left = this.#sum * p
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#weights[bucket]!
      if (left <= 0) return bucketValue(bucket)
    }
    return bucketValue(BUCKETS - 1)
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
  /** The minute, counted from the epoch of the clock, that was written last. */
  #last = Number.NEGATIVE_INFINITY

  record(now: number, successes: number, failures: number): void {
    const at = this.#advance(now)
    this.#successes[at]! += successes
    this.#failures[at]! += failures
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
