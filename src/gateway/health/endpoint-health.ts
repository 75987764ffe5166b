/** What is known of one endpoint: whether it may be called, how fast it was lately, how often it failed. */
import { Breaker, type BreakerState } from './breaker.js'
import { BUCKETS, bucketOf, DecayingHistogram } from './decaying-histogram.js'
import { UptimeRecord } from './uptime.js'

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

const QUANTILES = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const

export class EndpointHealth {
  readonly breaker = new Breaker()
  /** Until then the provider has asked not to be called; calls go elsewhere if they can. */
  coolUntil = 0
  /** As far as the others have been told. */
  announcedCoolUntil = 0
  readonly #latency: DecayingHistogram
  readonly #throughput: DecayingHistogram
  readonly #uptime = new UptimeRecord()
  readonly #unsent = {
    latency: new Uint32Array(BUCKETS),
    throughput: new Uint32Array(BUCKETS),
    successes: 0,
    failures: 0,
  }
  #hasNews = false

  constructor(
    readonly key: string,
    now: number,
  ) {
    this.#latency = new DecayingHistogram(now)
    this.#throughput = new DecayingHistogram(now)
  }

  /** Something has been seen that the others do not know. */
  get hasUnsentObservations(): boolean {
    return this.#hasNews
  }

  /** Milliseconds from the begin of an attempt to the first that was seen of its answer. */
  recordLatency(ms: number, now: number): void {
    const bucket = bucketOf(ms)
    this.#latency.record(bucket, now)
    this.#unsent.latency[bucket]!++
    this.#hasNews = true
  }

  /** Once per call that came to its end, or to the caller's. */
  recordSuccess(now: number): void {
    this.#unsent.successes++
    this.#hasNews = true
    this.#uptime.record(now, 1, 0)
  }

  recordThroughput(tokensPerSecond: number, now: number): void {
    const bucket = bucketOf(tokensPerSecond)
    this.#throughput.record(bucket, now)
    this.#unsent.throughput[bucket]!++
    this.#hasNews = true
  }

  recordFailure(now: number): void {
    this.#unsent.failures++
    this.#hasNews = true
    this.#uptime.record(now, 0, 1)
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
    const { successes, failures, latency, throughput } = this.#unsent
    const sightings = {
      key: this.key,
      successes,
      failures,
      latency: toSparsePairs(latency),
      throughput: toSparsePairs(throughput),
    }
    latency.fill(0)
    throughput.fill(0)
    this.#unsent.successes = 0
    this.#unsent.failures = 0
    this.#hasNews = false
    return sightings
  }

  /** Adds what another process has seen. */
  addPeerObservations({ successes, failures, latency, throughput }: PeerObservations, now: number): void {
    this.#uptime.record(now, successes, failures)
    for (let at = 0; at < latency.length; at += 2) this.#latency.record(latency[at]!, now, latency[at + 1]!)
    for (let at = 0; at < throughput.length; at += 2) {
      this.#throughput.record(throughput[at]!, now, throughput[at + 1]!)
    }
  }
}

function quantileSet(quantile: (p: number) => number | null): QuantileSet | null {
  const p50 = quantile(QUANTILES.p50)
  if (p50 === null) return null
  return {
    p50,
    p75: quantile(QUANTILES.p75)!,
    p90: quantile(QUANTILES.p90)!,
    p99: quantile(QUANTILES.p99)!,
  }
}

function toSparsePairs(counts: Uint32Array): number[] {
  const pairs: number[] = []
  for (let bucket = 0; bucket < counts.length; bucket++) {
    if (counts[bucket]! > 0) pairs.push(bucket, counts[bucket]!)
  }
  return pairs
}
