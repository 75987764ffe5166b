/** How an answer waits for its reader. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'

/** How often the socket of a slow reader is looked after: well before the native clock of ten seconds runs out. */
const NUDGE_MS = 4_000

/** The exchange, as far as the sending of its answer concerns it. */
export interface SendingOwner {
  readonly arrivedAt: number
  /** Nothing may touch the native response any more. */
  isOver(): boolean
  /** The connection ends with this answer, and uWS does not know it. */
  readonly endsConnection: boolean
  /** Ends the connection, and with it the call: the socket has taken all of the answer. */
  endConnection(): void
  /** So many bytes of a body of known size were handed to the socket so far. */
  onBytesSent(bytes: number): void
  /** The answer has ended; `aborted` when not all of it was handed to the socket. */
  settle(aborted: boolean): void
  /** Whether the call waits for its reader. */
  setWaiting(waits: boolean): void
  onAbort(callback: () => void): void
  /** Runs a step and keeps what it throws from native code. */
  guarded(step: () => void): void
  /** Code of ours has thrown. */
  onDefect(error: unknown): void
}

/**
 * An answer that goes out as its reader takes it (rule 13). uWS gives a write that was not taken ten seconds, and stops
 * that clock only when about a third of the socket's buffer is free again, for which a slow reader needs minutes where
 * the buffer is large. So the clock is wound up again every four seconds, and what waits is offered once more, which
 * shows whether the reader has taken anything. The limit for one that does not is ours.
 */
export abstract class PacedAnswer {
  /** The native clock runs: a write was not taken, and the socket has not become writable since. */
  #clockRuns = false
  #waits = false
  #waitsSince = 0
  /** All the time it has waited before. */
  #waitedMs = 0
  #takenAt = 0
  #nudgedAt = 0

  constructor(
    protected readonly res: HttpResponse,
    protected readonly owner: SendingOwner,
  ) {}

  /** Offers what waits once more. */
  protected abstract offerAgain(): void

  /** The reader is behind. */
  get waitsForReader(): boolean {
    return this.#waits
  }

  /** Milliseconds for which it has waited since the reader fell behind; 0 when it is not. */
  stalledMs(now: number): number {
    return this.#waits ? now - this.#waitsSince : 0
  }

  /** Milliseconds for which it has waited in all. */
  waitedMs(now: number): number {
    return this.#waitedMs + this.stalledMs(now)
  }

  /** Called every quarter of a second; false when the reader has taken nothing for `timeoutMs`. */
  checkReader(now: number, timeoutMs: number): boolean {
    if (this.#clockRuns && now - this.#nudgedAt >= Math.min(NUDGE_MS, timeoutMs / 4)) {
      this.#nudgedAt = now
      // Either of them alone would leave the connection deaf or the clock stopped.
      this.res.pause()
      this.res.resume()
      if (this.#waits) this.offerAgain()
    }
    return !this.#waits || now - this.#takenAt < timeoutMs
  }

  /** A write was not taken. */
  protected waitForReader(): void {
    this.#clockRuns = true
    if (this.#waits) return
    this.#waits = true
    this.owner.setWaiting(true)
    this.#waitsSince = performance.now()
    this.#takenAt = this.#waitsSince
    this.#nudgedAt = this.#waitsSince
  }

  /** uWS has stopped its clock. */
  protected onClockStopped(): void {
    this.#clockRuns = false
  }

  /** The reader has taken a part of what waits. */
  protected onProgress(): void {
    this.#takenAt = performance.now()
  }

  /** Nothing waits any more. */
  protected onCaughtUp(): void {
    this.#waitedMs = this.waitedMs(performance.now())
    this.#waits = false
    this.owner.setWaiting(false)
  }
}
