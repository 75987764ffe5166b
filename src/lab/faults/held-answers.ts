/** Answers that wait for a moment. They go on in the order in which they came. */
export class HeldAnswers {
  readonly #groups = new Map<number, WaitingGroup>()
  readonly #spinMs: number
  #size = 0

  /**
   * @param spinMs Timers know whole milliseconds and fire up to two late: the last stretch before a moment is spent
   * turning the loop, which goes on reading calls meanwhile. Worth it where many wait for one moment.
   */
  constructor(spinMs = 0) {
    this.#spinMs = spinMs
  }

  get size(): number {
    return this.#size
  }

  /** Resolves when `performance.now()` has reached `until`, or `release` is called. */
  wait(until: number): Promise<void> {
    return new Promise((resolve) => {
      this.#size++
      const known = this.#groups.get(until)
      if (known !== undefined) {
        known.waiting.push(resolve)
        return
      }
      const group: WaitingGroup = { waiting: [resolve], timer: null, turn: null }
      this.#groups.set(until, group)
      this.#arm(until, group)
    })
  }

  /** Lets all of them go on, or those that wait for one moment. */
  release(until?: number): void {
    for (const [moment, { waiting, timer, turn }] of [...this.#groups]) {
      if (until !== undefined && moment !== until) continue
      if (timer !== null) clearTimeout(timer)
      if (turn !== null) clearImmediate(turn)
      this.#groups.delete(moment)
      this.#size -= waiting.length
      for (const resolve of waiting) resolve()
    }
  }

  #arm(until: number, group: WaitingGroup): void {
    const left = until - performance.now()
    const again = (): void => this.#arm(until, group)
    if (left <= 0) this.release(until)
    else if (left < this.#spinMs) group.turn = setImmediate(again)
    else group.timer = setTimeout(again, Math.min(left - this.#spinMs, LONGEST_TIMER_MS))
  }
}

interface WaitingGroup {
  readonly waiting: (() => void)[]
  timer: NodeJS.Timeout | null
  turn: NodeJS.Immediate | null
}

/** A longer one would fire at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1
