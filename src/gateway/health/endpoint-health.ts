/** What is known of one endpoint: whether it may be called, how fast it was lately, how often it failed. */
import { Breaker, type BreakerState } from './breaker.js'
import { DecayingHistogram, UptimeRecord } from './observations.js'

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
