import type { Clock } from '../../../src/base/clock.js'

interface Timer {
  readonly due: number
  readonly task: () => void
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now = 0
  readonly #startUnix: number
  readonly #timers = new Set<Timer>()

  /** `startUnix` is the Unix time in seconds at which it stands first. */
  constructor(startUnix = 1_700_000_000) {
    this.#startUnix = startUnix
  }

  unixSeconds(): number {
    return this.#startUnix + this.#now / 1000
  }

  monotonicMs(): number {
    return this.#now
  }

  runAfter(ms: number, task: () => void): () => void {
    const timer = { due: this.#now + ms, task }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Timers that have been set and have neither fired nor been called off. */
  get pending(): number {
    return this.#timers.size
  }

  /** Moves on by `ms` and fires what is due, in order; each timer sees the time it was set for. */
  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next)
      this.#now = next.due
      next.task()
    }
    this.#now = end
  }

  #next(end: number): Timer | undefined {
    return [...this.#timers].filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0]
  }
}
