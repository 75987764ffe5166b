/**
 * Whether an endpoint may be called: opens when calls keep failing, lets one at a time try after a pause, closes when
 * one is answered (contract/decisions 64).
 */

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

/** Callers told apart in a window; the failures of all further ones count as those of one. */
const MAX_CALLERS_COUNTED = 64

export type BreakerState = 'closed' | 'open' | 'half-open'

/** Of a call that has entered; 0 is none. */
export type BreakerPermit = number

export const NO_PERMIT: BreakerPermit = 0
/** Of calls that enter a breaker before it has opened for the first time. */
export const FIRST_PERMIT: BreakerPermit = 1

/**
 * Opens when an endpoint keeps failing, stays open for a while that doubles with every failed probe, then lets one
 * call at a time try. Knows nothing of other processes; the registry tells them.
 *
 * A request may be what makes an endpoint fail, so failures carry the caller that may have provoked them, and of those
 * the caller that has most does not count: what is left must suffice. Whoever gives no caller counts them all.
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
  /** Since the last success. */
  readonly #inARow = new FailureTally()
  /** Of the window under way. */
  #windowFrom = Number.NEGATIVE_INFINITY
  #calls = 0
  readonly #failures = new FailureTally()
  /** The permit of calls that begin now; older ones have no say. */
  #currentPermit = FIRST_PERMIT

  state(now: number): BreakerState {
    if (!this.#isOpen) return 'closed'
    return now >= this.#openUntil ? 'half-open' : 'open'
  }

  /** When an open one lets a call try, in milliseconds from now; 0 when it does. */
  waitMs(now: number): number {
    return this.#isOpen ? Math.max(0, this.#openUntil - now) : 0
  }

  /** Admits a call, or gives `NO_PERMIT`. A probe's place is free again when its outcome is recorded. */
  tryAcquire(now: number): BreakerPermit {
    if (!this.#isOpen) return this.#currentPermit
    if (now < this.#openUntil || now < this.#probedUntil) return NO_PERMIT
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
    this.#countCall(now)
    this.#inARow.clear()
  }

  /**
   * True when it has just opened, or opened again. `jitter` from 0 to 1 keeps several from probing in step;
   * `floorMs` is the least pause, as the provider wished. `caller`: whose request may have provoked it; null for nobody's.
   */
  recordFailure(
    permit: BreakerPermit,
    now: number,
    jitter: number,
    floorMs: number,
    caller: string | null = null,
  ): boolean {
    if (permit !== this.#currentPermit || (this.#isOpen && !this.#isProbing)) return false
    if (this.#isOpen) this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
    else {
      this.#countCall(now)
      this.#failures.add(caller)
      this.#inARow.add(caller)
      if (this.#inARow.counted < MAX_FAILURES_IN_A_ROW && !this.#failsOften()) return false
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
    this.#inARow.clear()
    this.#calls = 0
    this.#failures.clear()
  }

  #endProbe(): void {
    this.#isProbing = false
    this.#probedUntil = Number.NEGATIVE_INFINITY
  }

  #countCall(now: number): void {
    if (now - this.#windowFrom >= WINDOW_MS) {
      this.#windowFrom = now
      this.#calls = 0
      this.#failures.clear()
    }
    this.#calls++
  }

  #failsOften(): boolean {
    const calls = this.#calls - this.#failures.leftOut
    return calls >= MIN_CALLS && this.#failures.counted >= calls * FAILURE_SHARE
  }
}

/** Failures, of which those of the caller that has most are left out. */
class FailureTally {
  #total = 0
  #most = 0
  #byCaller: Map<string, number> | null = null

  /** All but `leftOut`. */
  get counted(): number {
    return this.#total - this.#most
  }

  /** Those of the caller that has most. */
  get leftOut(): number {
    return this.#most
  }

  /** `caller`: null where no caller can have provoked it. */
  add(caller: string | null): void {
    this.#total++
    if (caller === null) return
    this.#byCaller ??= new Map()
    const name = this.#byCaller.has(caller) || this.#byCaller.size < MAX_CALLERS_COUNTED ? caller : ''
    const failures = (this.#byCaller.get(name) ?? 0) + 1
    this.#byCaller.set(name, failures)
    this.#most = Math.max(this.#most, failures)
  }

  clear(): void {
    this.#total = 0
    this.#most = 0
    this.#byCaller = null
  }
}
