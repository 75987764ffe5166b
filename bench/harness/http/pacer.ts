/**
 * Calls back when the next thing is due. Timers of Node are whole milliseconds and fire up to two late, so the last
 * stretch before a due time is spent turning the event loop, which goes on reading answers meanwhile.
 */

/** Below this distance the loop turns; above it a timer may sleep for what lies beyond. */
const TURNING_MS = 2
/** A turn that only watches the clock takes microseconds; in what is longer somebody else had the processor. */
const MOST_IDLE_TURN_MS = 0.1

export class Pacer {
  readonly #step: () => number
  #idleMs = 0
  #turnedAt = 0
  #worked = false
  #stopped = false

  /** `step` does what is due and returns when it wants to be called next, as a time of `performance.now()`. */
  constructor(step: () => number) {
    this.#step = step
  }

  /** Milliseconds so far in which the processor only watched the clock. */
  get idleMs(): number {
    return this.#idleMs
  }

  start(): void {
    this.#turnedAt = performance.now()
    this.#turn()
  }

  stop(): void {
    this.#stopped = true
  }

  /** Something happened since the last turn, so the time since then was not idle. */
  worked(): void {
    this.#worked = true
  }

  readonly #turn = (): void => {
    if (this.#stopped) return
    const began = performance.now()
    if (!this.#worked) this.#idleMs += Math.min(began - this.#turnedAt, MOST_IDLE_TURN_MS)
    this.#worked = false
    const next = this.#step()
    const now = performance.now()
    this.#turnedAt = now
    const ahead = next - now
    if (ahead < TURNING_MS + 1) setImmediate(this.#turn)
    else this.#sleep(Math.floor(ahead - TURNING_MS))
  }

  /** Never long, so that timeouts and an interruption are noticed. */
  #sleep(ms: number): void {
    setTimeout(
      () => {
        // The processor was free, which is not the same as watching the clock.
        this.#worked = true
        this.#turn()
      },
      Math.min(ms, 10),
    )
  }
}
