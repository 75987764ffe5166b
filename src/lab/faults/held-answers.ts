/** Answers that wait for a moment. They go on in the order in which they came. */
export class HeldAnswers {
  readonly #groups = new Map<number, Group>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Resolves when `performance.now()` has reached `until`, or `release` is called. */
  wait(until: number): Promise<void> {
    let group = this.#groups.get(until)
    if (group === undefined) {
      group = { waiting: [], timer: null }
      this.#groups.set(until, group)
      this.#arm(until, group)
    }
    this.#size++
    const { waiting } = group
    return new Promise((resolve) => waiting.push(resolve))
  }

  /** Lets all of them go on, or those that wait for one moment. */
  release(until?: number): void {
    for (const [moment, { waiting, timer }] of [...this.#groups]) {
      if (until !== undefined && moment !== until) continue
      if (timer !== null) clearTimeout(timer)
      this.#groups.delete(moment)
      this.#size -= waiting.length
      for (const resolve of waiting) resolve()
    }
  }

  /** Node's timers know whole milliseconds and can fire a little early. */
  #arm(until: number, group: Group): void {
    group.timer = setTimeout(
      () => {
        if (performance.now() < until) this.#arm(until, group)
        else this.release(until)
      },
      Math.min(Math.max(0, until - performance.now()), LONGEST_TIMER_MS),
    )
  }
}

interface Group {
  readonly waiting: (() => void)[]
  timer: NodeJS.Timeout | null
}

/** A longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
