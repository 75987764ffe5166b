/**
 * When to begin an event stream that has nothing to say yet. Until the first event a failure can still be told
 * with a status of its own; but a proxy in front cuts what stays silent. So the answer waits for its first event,
 * and no longer than the keep-alive's silence: then it begins, and a later failure is told inside the stream.
 */
export class Openings {
  readonly #silenceMs: number
  /** In the order of their arrival, which is the order in which they come due. */
  readonly #waiting = new Map<object, { readonly dueAt: number; readonly open: () => void }>()
  #timer: NodeJS.Timeout | null = null

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  /** Calls `open` once when the silence has lasted too long, unless `settled` is called with the same key before. */
  wait(key: object, open: () => void): void {
    this.#waiting.set(key, { dueAt: performance.now() + this.#silenceMs, open })
    this.#arm()
  }

  settled(key: object): void {
    this.#waiting.delete(key)
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
    for (const [key, { dueAt, open }] of this.#waiting) {
      if (dueAt > now) break
      this.#waiting.delete(key)
      open()
    }
    if (this.#waiting.size > 0) this.#arm()
  }
}

const TICK_MS = 250
