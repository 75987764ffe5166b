import { LinkedList, LinkedNode } from '../base/linked-list.js'

/** A stream that has nothing to say yet. */
export class FirstEventTimer extends LinkedNode {
  /** `performance.now()` at which the silence has lasted too long. */
  dueAt = 0

  constructor(readonly onSilence: () => void) {
    super()
  }
}

/**
 * When to begin an event stream that has nothing to say yet. Until the first event a failure can still be told
 * with a status of its own; but a proxy in front cuts what stays silent. So the answer waits for its first event,
 * and no longer than the keep-alive's silence: then it begins, and a later failure is told inside the stream.
 */
export class FirstEventTimers {
  readonly #silenceMs: number
  readonly #running = new LinkedList<FirstEventTimer>()
  #timer: NodeJS.Timeout | null = null

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** Calls its `open` once when the silence has lasted too long, unless it is `settled` before. */
  start(opening: FirstEventTimer): void {
    opening.dueAt = performance.now() + this.#silenceMs
    this.#running.add(opening)
    this.#arm()
  }

  clear(opening: FirstEventTimer): void {
    this.#running.delete(opening)
  }

  /** One timer for all: one per stream would be made and thrown away with nearly every call. */
  #arm(): void {
    if (this.#timer !== null) return
    this.#timer = setTimeout(() => this.#tick(), Math.min(this.#silenceMs, TICK_MS))
    this.#timer.unref()
  }

  #tick(): void {
    this.#timer = null
    const now = performance.now()
    // Those that come due together open in the order of their arrival: the newest stand in front.
    for (const opening of this.#running.members().reverse()) {
      if (opening.dueAt > now) break
      // An earlier one of this round may have settled it.
      if (opening.list === null) continue
      this.#running.delete(opening)
      opening.onSilence()
    }
    if (this.#running.size > 0) this.#arm()
  }
}

const TICK_MS = 250
