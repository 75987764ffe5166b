import { Linked, LinkedList } from '../base/linked-list.js'

/** A stream that has nothing to say yet. */
export class Opening extends Linked {
  /** `performance.now()` at which the silence has lasted too long. */
  dueAt = 0

  constructor(readonly open: () => void) {
    super()
  }
}

/**
 * When to begin an event stream that has nothing to say yet. Until the first event a failure can still be told
 * with a status of its own; but a proxy in front cuts what stays silent. So the answer waits for its first event,
 * and no longer than the keep-alive's silence: then it begins, and a later failure is told inside the stream.
 */
export class Openings {
  readonly #silenceMs: number
  readonly #waiting = new LinkedList<Opening>()
  #timer: NodeJS.Timeout | null = null

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** Calls its `open` once when the silence has lasted too long, unless it is `settled` before. */
  wait(opening: Opening): void {
    opening.dueAt = performance.now() + this.#silenceMs
    this.#waiting.add(opening)
    this.#arm()
  }

  settled(opening: Opening): void {
    this.#waiting.delete(opening)
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
    for (const opening of this.#waiting.members().reverse()) {
      if (opening.dueAt > now) break
      // An earlier one of this round may have settled it.
      if (opening.list === null) continue
      this.#waiting.delete(opening)
      opening.open()
    }
    if (this.#waiting.size > 0) this.#arm()
  }
}

const TICK_MS = 250
