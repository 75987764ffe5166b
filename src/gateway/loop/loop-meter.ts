/** What a loop may spend and has spent: over its turns, its tools, and what runs beneath them. */
import type { Consumption } from '../run/generation.js'

export class LoopMeter {
  readonly #parent: LoopMeter | null
  /** Nested loops under way, whose budgets are spoken for. */
  readonly #nested = new Set<LoopMeter>()
  #spent = 0
  #tokens = 0

  /** @param limit nano-dollars that may be spent; Infinity where nothing limits it */
  constructor(
    readonly limit: number,
    parent: LoopMeter | null = null,
  ) {
    this.#parent = parent
  }

  /** Nano-dollars. */
  get spent(): number {
    return this.#spent
  }

  get tokens(): number {
    return this.#tokens
  }

  /** Nano-dollars that are neither spent nor promised to what runs beneath. */
  get rest(): number {
    if (this.limit === Number.POSITIVE_INFINITY) return this.limit
    let promised = 0
    for (const { limit, spent } of this.#nested) promised += Math.max(0, limit - spent)
    return Math.max(0, this.limit - this.#spent - promised)
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
    this.#add(cost.total, usage.prompt + usage.completion)
  }

  /** A call of a tool, or a step of a plugin; nano-dollars. */
  addFee(charged: number): void {
    this.#add(charged, 0)
  }

  #add(spent: number, tokens: number): void {
    this.#spent += spent
    this.#tokens += tokens
    if (this.#parent !== null) this.#parent.#add(spent, tokens)
  }
}
