/** Answers that wait for a moment. They go on in the order in which they came. */
export class HeldAnswers {
  readonly #groups = new Map<number, Group>()
  readonly #turningMs: number
  #size = 0

  /**
   * @param turningMs Timers know whole milliseconds and fire up to two late: the last stretch before a moment is spent
   * turning the loop, which goes on reading calls meanwhile. Worth it where many wait for one moment.
   */
  constructor(turningMs = 0) {
    this.#turningMs = turningMs
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
      const group: Group = { waiting: [resolve], timer: null, turn: null }
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

  #arm(until: number, group: Group): void {
    const left = until - performance.now()
    const again = (): void => this.#arm(until, group)
    if (left <= 0) this.release(until)
    else if (left < this.#turningMs) group.turn = setImmediate(again)
    else group.timer = setTimeout(again, Math.min(left - this.#turningMs, LONGEST_TIMER_MS))
  }
}

interface Group {
  readonly waiting: (() => void)[]
  timer: NodeJS.Timeout | null
  turn: NodeJS.Immediate | null
}

/** A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
