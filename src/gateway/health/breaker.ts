/**
 * Whether an endpoint may be called. Opens when it keeps failing, stays open for a while that doubles with every
 * failed probe, then lets one call at a time try. Knows nothing of other processes; `Health` tells them.
 *
 * Every admitted call gets a permit, and says with it how it ended. A permit from before the latest change counts for
 * nothing: the end of a call that began before the breaker opened is no news, and must not free a probe's place.
 */

/** Failures in a row that open it. */
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

export class Breaker {
  #openUntil = 0
  #pauseMs = FIRST_PAUSE_MS
  #isOpen = false
  /** This process has opened it, and is the one that probes. */
  #isOurs = false
  #probingSince: number | null = null
  /** Another process has said that it tries. */
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
    if (this.#probingSince !== null && now - this.#probingSince < MAX_PROBE_MS) return REFUSED
    this.#probingSince = now
    return ++this.#currentPermit
  }

  /** Whether the call of that permit is the one that tries. */
  isProbe(permit: BreakerPermit): boolean {
    return this.#isOpen && this.#probingSince !== null && permit === this.#currentPermit
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
    if (permit !== this.#currentPermit) return false
    if (this.#isOpen) {
      if (this.#probingSince === null) return false
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
      this.#open(now, jitter, floorMs)
      return true
    }
    this.#countCall(now, 1)
    this.#failuresInARow++
    if (this.#failuresInARow < MAX_FAILURES_IN_A_ROW && !this.#failsOften()) return false
    this.#open(now, jitter, floorMs)
    return true
  }

  /** The call ended without saying anything about the endpoint. True when a probe's place is free again. */
  releaseProbe(permit: BreakerPermit): boolean {
    if (!this.isProbe(permit)) return false
    this.#probingSince = null
    return true
  }

  /**
   * Another process has seen it fail, or tries it now: open until it says otherwise, or until it must have been
   * forgotten. Of two that have both seen it, the one that `yields` leaves the probing to the other.
   */
  openedByPeer(now: number, pauseMs: number, yields: boolean): void {
    if (this.#isOpen && this.#isOurs && !yields) return
    this.#isOpen = true
    this.#isOurs = false
    this.#probingSince = null
    this.#probedUntil = Number.NEGATIVE_INFINITY
    this.#openUntil = now + pauseMs
    this.#currentPermit++
  }

  /** Another process tries it: this one does not for as long as that may take, unless it is trying already. */
  probedByPeer(now: number): void {
    if (!this.#isOpen || this.#probingSince !== null) return
    this.#isOurs = false
    this.#probedUntil = now + MAX_PROBE_MS
  }

  /** Another process has seen it answer. */
  closedByPeer(): void {
    if (!this.#isOpen) return
    this.#close()
    this.#currentPermit++
  }

  #close(): void {
    this.#isOpen = false
    this.#probingSince = null
    this.#probedUntil = Number.NEGATIVE_INFINITY
    this.#pauseMs = FIRST_PAUSE_MS
    this.#failuresInARow = 0
    this.#calls = 0
    this.#failures = 0
  }

  #open(now: number, jitter: number, floorMs: number): void {
    this.#isOpen = true
    this.#isOurs = true
    this.#probingSince = null
    this.#probedUntil = Number.NEGATIVE_INFINITY
    this.#currentPermit++
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(this.#pauseMs, floorMs))
    this.#openUntil = now + pause * (1 + jitter / 4)
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
