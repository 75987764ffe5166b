import { seededRandom } from '../../base/random.js'
import { type FaultPlan, faultWindowAt } from './fault-plan.js'

/** A fault in one worker. Times are of this process. */
export class ActiveFault {
  readonly plan: FaultPlan
  readonly #toMonotonic: number
  readonly #random: () => number

  constructor(plan: FaultPlan, worker: number, toMonotonic: number) {
    this.plan = plan
    this.#toMonotonic = toMonotonic
    // Each worker draws a sequence of its own.
    this.#random = seededRandom(plan.seed + worker * 0x9e3779b9)
  }

  matchesOperation(operation: string): boolean {
    return this.plan.op === '*' || this.plan.op === operation
  }

  /** The window under way at `at`; null when there is none. */
  windowAt(at: number): { readonly from: number; readonly to: number } | null {
    const window = this.nextWindow(at)
    return window !== null && at >= window.from ? window : null
  }

  /** The window under way or the next one. */
  nextWindow(at: number): { readonly from: number; readonly to: number } | null {
    const window = faultWindowAt(this.plan, at + this.#toMonotonic)
    if (window === null) return null
    return { from: window.from - this.#toMonotonic, to: window.to - this.#toMonotonic }
  }

  /** Draws whether this call is met. */
  strikesThisCall(): boolean {
    return this.plan.prob >= 1 || this.#random() < this.plan.prob
  }
}
