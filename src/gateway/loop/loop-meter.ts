/** What a loop may spend and has spent: over its turns, its tools, and what runs beneath them. */
import type { Consumption } from '../run/generation.js'

export class LoopMeter {
  readonly #parent: LoopMeter | null
  /** Nested loops under way, whose budgets are spoken for. */
  readonly #nested = new Set<LoopMeter>()
  #spent = 0
  #own = 0
  #tokens = 0

  /** @param limit nano-dollars that it may cost; Infinity where nothing limits it */
  constructor(
    readonly limit: number,
    parent: LoopMeter | null = null,
  ) {
    this.#parent = parent
  }

  /** Nano-dollars that the caller was charged. */
  get spent(): number {
    return this.#spent
  }

  /** The same with what went on the caller's own accounts at providers. */
  get cost(): number {
    return this.#spent + this.#own
  }

  get tokens(): number {
    return this.#tokens
  }

  /** Nano-dollars that are neither spent nor promised to what runs beneath. */
  get rest(): number {
    if (this.limit === Number.POSITIVE_INFINITY) return this.limit
    let promised = 0
    for (const { limit, cost } of this.#nested) promised += Math.max(0, limit - cost)
    return Math.max(0, this.limit - this.cost - promised)
  }

  /** A meter for what runs beneath, with the smaller of `budget` and what is left here. Has to be given back. */
  lend(budget: number): LoopMeter {
    const nested = new LoopMeter(Math.min(budget, this.rest), this)
    this.#nested.add(nested)
    return nested
  }

  giveBack(nested: LoopMeter): void {
    this.#nested.delete(nested)
  }

  addTurn({ usage, cost }: Consumption): void {
    this.#add(cost.total, cost.byok ?? 0, usage.prompt + usage.completion)
  }

  /** A call of a tool, or a step of a plugin; nano-dollars. */
  addFee(charged: number): void {
    this.#add(charged, 0, 0)
  }

  #add(spent: number, own: number, tokens: number): void {
    this.#spent += spent
    this.#own += own
    this.#tokens += tokens
    if (this.#parent !== null) this.#parent.#add(spent, own, tokens)
  }
}
