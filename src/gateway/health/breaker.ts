/**
 * Whether an endpoint may be called. Opens when it keeps failing, stays open for a while that doubles with every
 * failed probe, then lets one call at a time try. Knows nothing of other processes; `Health` tells them.
 */

/** Failures in a row that open it. */
const IN_A_ROW = 5
/** Or this share of at least so many calls within the window. */
const SHARE = 0.5
const LEAST_CALLS = 20
const WINDOW_MS = 10_000
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** A probe that never says how it ended, because its process died, blocks the next no longer than this. */
const PROBE_MS = 120_000

export type BreakerState = 'closed' | 'open' | 'half-open'

export class Breaker {
  #openUntil = 0
  #pauseMs = FIRST_PAUSE_MS
  #isOpen = false
  /** This process has opened it, and is the one that probes. */
  #isOurs = false
  #probingSince: number | null = null
  #failuresInARow = 0
  /** Of the window under way. */
  #windowFrom = Number.NEGATIVE_INFINITY
  #calls = 0
  #failures = 0

  state(now: number): BreakerState {
    if (!this.#isOpen) return 'closed'
    return now >= this.#openUntil ? 'half-open' : 'open'
  }

  /** When an open one lets a call try, in milliseconds from now; 0 when it does. */
  waitMs(now: number): number {
    return this.#isOpen ? Math.max(0, this.#openUntil - now) : 0
  }

  /** Takes the place of a call; a probe's place is free again when its outcome is told. False when there is none. */
  enter(now: number): boolean {
    if (!this.#isOpen) return true
    if (now < this.#openUntil) return false
    if (this.#probingSince !== null && now - this.#probingSince < PROBE_MS) return false
    this.#probingSince = now
    return true
  }

  /** True when it has just closed. */
  succeeded(now: number): boolean {
    this.#count(now, 0)
    this.#failuresInARow = 0
    if (!this.#isOpen) return false
    this.close()
    return true
  }

  /**
   * True when it has just opened, or opened again. `jitter` from 0 to 1 keeps several from probing in step;
   * `floorMs` is the least pause, as the provider wished.
   */
  failed(now: number, jitter: number, floorMs: number): boolean {
    this.#count(now, 1)
    this.#failuresInARow++
    if (this.#isOpen) {
      // A call that began before it opened says nothing new.
      if (this.#probingSince === null) return false
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
      this.#open(now, jitter, floorMs)
      return true
    }
    if (this.#failuresInARow < IN_A_ROW && !this.#failsOften()) return false
    this.#open(now, jitter, floorMs)
    return true
  }

  /** The call of a probe ended without saying anything about the endpoint. */
  abandoned(): void {
    this.#probingSince = null
  }

  /**
   * Another process has seen it fail: open until it says otherwise, or until it must have been forgotten. Of two that
   * have both seen it, the one that `yields` leaves the probing to the other.
   */
  openedElsewhere(now: number, pauseMs: number, yields: boolean): void {
    if (this.#isOpen && this.#isOurs && !yields) return
    this.#isOpen = true
    this.#isOurs = false
    this.#probingSince = null
    this.#openUntil = now + pauseMs
  }

  close(): void {
    this.#isOpen = false
    this.#probingSince = null
    this.#pauseMs = FIRST_PAUSE_MS
    this.#failuresInARow = 0
    this.#calls = 0
    this.#failures = 0
  }

  #open(now: number, jitter: number, floorMs: number): void {
    this.#isOpen = true
    this.#isOurs = true
    this.#probingSince = null
    const pause = Math.min(LONGEST_PAUSE_MS, Math.max(this.#pauseMs, floorMs))
    this.#openUntil = now + pause * (1 + jitter / 4)
  }

  #count(now: number, failures: 0 | 1): void {
    if (now - this.#windowFrom >= WINDOW_MS) {
      this.#windowFrom = now
      this.#calls = 0
      this.#failures = 0
    }
    this.#calls++
    this.#failures += failures
  }

  #failsOften(): boolean {
    return this.#calls >= LEAST_CALLS && this.#failures >= this.#calls * SHARE
  }
}
