/** A queue in which callers have equal turns, by work and not by number. */

/** What waits: whose it is, and what it costs, in a unit of the queue's user. */
interface WaitingWork {
  readonly caller: string
  readonly cost: number
}

/** What waits of one caller. */
interface CallerLine<T> {
  /** Oldest first. */
  readonly works: Set<T>
  cost: number
  /** Work that the caller may still take in its turn; in debt it sits out as many turns as it took too much. */
  credit: number
}

/**
 * Deficit round robin (Shreedhar and Varghese 1995), except that a turn may be overdrawn and is paid back afterwards:
 * a piece of work cannot be cut, and who waits for one that is larger than a turn would wait for nothing.
 */
export class FairQueue<T extends WaitingWork> {
  readonly #turn: number
  /** The first one has its turn. Of a caller of whom nothing waits there is one only while it is in debt. */
  readonly #lines = new Map<string, CallerLine<T>>()
  /** Callers of whom something waits. */
  #callers = 0
  #size = 0
  #cost = 0

  /** @param turn work of a turn */
  constructor(turn: number) {
    this.#turn = turn
  }

  get size(): number {
    return this.#size
  }

  /** All work that waits. */
  get cost(): number {
    return this.#cost
  }

  has(work: T): boolean {
    return this.#lines.get(work.caller)?.works.has(work) === true
  }

  add(work: T): void {
    let line = this.#lines.get(work.caller)
    if (line === undefined) {
      line = { works: new Set(), cost: 0, credit: this.#turn }
      this.#lines.set(work.caller, line)
    }
    if (line.works.size === 0) this.#callers++
    line.works.add(work)
    line.cost += work.cost
    this.#size++
    this.#cost += work.cost
  }

  /** Takes out work that nobody wants any more. */
  remove(work: T): void {
    const line = this.#lines.get(work.caller)
    if (line?.works.delete(work) !== true) return
    line.cost -= work.cost
    this.#size--
    this.#cost -= work.cost
    if (line.works.size > 0) return
    this.#callers--
    // Otherwise who has one work waiting at a time would never pay back.
    if (line.credit >= 0) this.#lines.delete(work.caller)
  }

  /** What comes next, of callers that are not `passed` over. */
  peek(passed?: (caller: string) => boolean): T | undefined {
    // A line that is put behind the others is met again in the same loop, a turn richer.
    for (const [caller, line] of this.#lines) {
      if (passed?.(caller)) continue
      const [oldest] = line.works
      if (line.credit > 0 && oldest !== undefined) return oldest
      line.credit += this.#turn
      this.#lines.delete(caller)
      if (oldest !== undefined || line.credit < 0) this.#lines.set(caller, line)
    }
    return undefined
  }

  /** Takes out what `peek` has shown, on its caller's account. */
  take(work: T): void {
    const line = this.#lines.get(work.caller)
    if (line !== undefined) line.credit -= work.cost
    this.remove(work)
  }

  /** Whether a caller would stay within an equal part of `budget` with so much more. */
  isWithinShare({ caller, cost }: WaitingWork, budget: number): boolean {
    const line = this.#lines.get(caller)
    const held = line?.cost ?? 0
    return held + cost <= budget / (held > 0 ? this.#callers : this.#callers + 1)
  }

  /** The newest work of the caller of whom most waits. */
  newestOfHeaviest(): T | undefined {
    let heaviest: CallerLine<T> | undefined
    for (const line of this.#lines.values()) {
      if (heaviest === undefined || line.cost > heaviest.cost) heaviest = line
    }
    return heaviest && [...heaviest.works].pop()
  }

  /** Everything that waits, in no particular order. */
  *all(): Iterable<T> {
    for (const { works } of this.#lines.values()) yield* works
  }
}
