/** What is known of one endpoint: whether it may be called, how fast it was lately, how often it failed. */

// ── Whether it may be called ────────────────────────────────────────────────

/** Failures in a row that open a breaker. */
const MAX_FAILURES_IN_A_ROW = 5
/** Or this share of at least so many calls within the window. */
const FAILURE_SHARE = 0.5
const MIN_CALLS = 20
const WINDOW_MS = 10_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A probe that never says how it ended, because its process died, blocks the next no longer than this. */
const MAX_PROBE_MS = 120_000

export type BreakerState = 'closed' | 'open' | 'half-open'

/** Of a call that has entered; 0 is none. */
export type BreakerPermit = number

export const REFUSED: BreakerPermit = 0

/**
 * Opens when an endpoint keeps failing, stays open for a while that doubles with every failed probe, then lets one
 * call at a time try. Knows nothing of other processes; the registry tells them.
 *
 * Every admitted call gets a permit, and says with it how it ended. A permit from before the latest change counts for
 * nothing: the end of a call that began before the breaker opened is no news, and must not free a probe's place.
 */
export class Breaker {
  #isOpen = false
  /** This process has opened it, and is the one that probes. */
  #isOurs = false
  #openUntil = 0
  #pauseMs = FIRST_PAUSE_MS
  /** A call of this process tries it. */
  #isProbing = false
  /** Until then nobody else tries: a call of this process or of another one does. */
  #probedUntil = Number.NEGATIVE_INFINITY
  #failuresInARow = 0
  /** Of the window under way. */
  #windowFrom = Number.NEGATIVE_INFINITY
  #calls = 0
  #failures = 0
  /** The permit of calls that begin now; older ones have no say. */
  #currentPermit: BreakerPermit = 1

  state(now: number): BreakerState {
    if (!this.#isOpen) return 'closed'
    return now >= this.#openUntil ? 'half-open' : 'open'
  }

  /** When an open one lets a call try, in milliseconds from now; 0 when it does. */
  waitMs(now: number): number {
    return this.#isOpen ? Math.max(0, this.#openUntil - now) : 0
  }

  /** Admits a call, or gives `REFUSED`. A probe's place is free again when its outcome is recorded. */
  tryAcquire(now: number): BreakerPermit {
    if (!this.#isOpen) return this.#currentPermit
    if (now < this.#openUntil || now < this.#probedUntil) return REFUSED
    this.#isProbing = true
    this.#probedUntil = now + MAX_PROBE_MS
    return ++this.#currentPermit
  }

  /** Whether the call of that permit is the one that tries. */
  isProbe(permit: BreakerPermit): boolean {
    return this.#isOpen && this.#isProbing && permit === this.#currentPermit
  }

  /** Something of an answer has come. True when it has just closed. */
  recordAnswer(permit: BreakerPermit): boolean {
    if (!this.isProbe(permit)) return false
    // The permit stays: an answer that breaks off later is a failure of the closed breaker.
    this.#close()
    return true
  }

  /** The answer is complete. */
  recordSuccess(permit: BreakerPermit, now: number): void {
    if (this.#isOpen || permit !== this.#currentPermit) return
    this.#countCall(now, 0)
    this.#failuresInARow = 0
  }

  /**
   * True when it has just opened, or opened again. `jitter` from 0 to 1 keeps several from probing in step;
   * `floorMs` is the least pause, as the provider wished.
   */
  recordFailure(permit: BreakerPermit, now: number, jitter: number, floorMs: number): boolean {
    if (permit !== this.#currentPermit || (this.#isOpen && !this.#isProbing)) return false
    if (this.#isOpen) this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
    else {
      this.#countCall(now, 1)
      this.#failuresInARow++
      if (this.#failuresInARow < MAX_FAILURES_IN_A_ROW && !this.#failsOften()) return false
    }
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(this.#pauseMs, floorMs))
    this.#open(now + pause * (1 + jitter / 4), true)
    return true
  }

  /** The call ended without saying anything about the endpoint. True when a probe's place is free again. */
  releaseProbe(permit: BreakerPermit): boolean {
    if (!this.isProbe(permit)) return false
    this.#endProbe()
    return true
  }

  /**
   * Another process has seen it fail, or tries it now: open until it says otherwise, or until it must have been
   * forgotten. Of two that have both seen it, the one that `yields` leaves the probing to the other.
   */
  openedByPeer(now: number, pauseMs: number, yields: boolean): void {
    if (!this.#isOpen || !this.#isOurs || yields) this.#open(now + pauseMs, false)
  }

  /** Another process tries it: this one does not for as long as that may take, unless it is trying already. */
  probedByPeer(now: number): void {
    if (!this.#isOpen || this.#isProbing) return
    this.#isOurs = false
    this.#probedUntil = now + MAX_PROBE_MS
  }

  /** Another process has seen it answer. */
  closedByPeer(): void {
    if (!this.#isOpen) return
    this.#close()
    this.#currentPermit++
  }

  #open(until: number, isOurs: boolean): void {
    this.#isOpen = true
    this.#isOurs = isOurs
    this.#openUntil = until
    this.#endProbe()
    this.#currentPermit++
  }

  #close(): void {
    this.#isOpen = false
    this.#pauseMs = FIRST_PAUSE_MS
    this.#failuresInARow = 0
    this.#calls = 0
    this.#failures = 0
  }

  #endProbe(): void {
    this.#isProbing = false
    this.#probedUntil = Number.NEGATIVE_INFINITY
  }

  #countCall(now: number, failures: 0 | 1): void {
    if (now - this.#windowFrom >= WINDOW_MS) {
      this.#windowFrom = now
      this.#calls = 0
      this.#failures = 0
    }
    this.#calls++
    this.#failures += failures
  }

  #failsOften(): boolean {
    return this.#calls >= MIN_CALLS && this.#failures >= this.#calls * FAILURE_SHARE
  }
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
  quantile(p: number, now: number): number | null {
    // Asked first: it may divide the sum.
    const present = this.#weightAt(now)
    if (this.#sum < LEAST_WEIGHT * present) return null
    let left = this.#sum * (this.#better === 'low' ? p : 1 - p)
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#weights[bucket]!
      if (left <= 0) return bucketValue(bucket)
    }
    return bucketValue(BUCKETS - 1)
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
