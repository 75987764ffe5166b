import type { RecordingWindow } from './recording-window.js'

/** A worker with this share of its connections in use counts as busy. */
const BUSY_SHARE = 0.95

/** The open connections over time; their integral is brought up to date on every change and at the edges of windows. */
export class ConnectionCount {
  /** In-flight calls of the expected tool; null without an expectation. */
  expected: number | null = null
  open = 0
  #since: number

  constructor(now: number) {
    this.#since = now
  }

  /**
   * Calls in flight from which on the worker is busy: of the connections it has, or of all expected if that is
   * fewer.
   */
  get busyThreshold(): number {
    const here = this.expected === null ? 0 : Math.min(this.expected, this.open)
    return here === 0 ? Number.POSITIVE_INFINITY : BUSY_SHARE * here
  }

  /** A connection was opened (1) or closed (-1). */
  record(change: number, now: number, window: RecordingWindow): void {
    this.advanceTo(now, window)
    const { connections } = window
    this.open += change
    if (change > 0) connections.opened++
    else connections.closed++
    if (this.open > connections.peak) connections.peak = this.open
  }

  /** Brings the integral of the window up to date. */
  advanceTo(now: number, { connections }: RecordingWindow): void {
    if (now <= this.#since) return
    connections.area += this.open * (now - this.#since)
    this.#since = now
  }
}
