/** One timer for thousands of paced streams: a wheel of slots a millisecond wide. */

/** Does one step of a stream; false when it was the last. */
type PacedStep = () => boolean

export class PaceWheel {
  readonly #slots: Set<PacedStep>[]
  #timer: NodeJS.Timeout | undefined
  #at = 0
  #riders = 0

  /** Every stream is stepped once in `gapMs` whole milliseconds. */
  constructor(gapMs: number) {
    this.#slots = Array.from({ length: gapMs }, () => new Set())
  }

  /** Steps a stream from one gap after now on. Returns how to take it off. */
  add(step: PacedStep): () => void {
    if (this.#riders++ === 0) this.#start()
    // The slot served last comes round after exactly one gap; that of this millisecond may be due in a moment.
    const slot = this.#slots[this.#at % this.#slots.length]!
    slot.add(step)
    return () => this.#leave(slot, step)
  }

  #leave(slot: Set<PacedStep>, step: PacedStep): void {
    if (!slot.delete(step)) return
    if (--this.#riders === 0) clearInterval(this.#timer)
  }

  #start(): void {
    this.#at = Math.floor(performance.now())
    this.#timer = setInterval(() => this.#turn(), 1)
  }

  /** Serves every slot that has come due, late ones too. */
  #turn(): void {
    for (const now = Math.floor(performance.now()); this.#at < now; ) {
      const slot = this.#slots[++this.#at % this.#slots.length]!
      for (const step of slot) if (!step()) this.#leave(slot, step)
    }
  }
}
