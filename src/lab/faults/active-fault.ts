import { seededRandom } from '../../base/random.js'
import type { FaultPlan } from '../control/requests.js'

interface FaultWindow {
  readonly from: number
  readonly to: number
}

/** When a fault is active: the window under way or the next one; null when there is none any more. */
export function faultWindowAt({ startMs, forMs, everyMs }: FaultPlan, at: number): FaultWindow | null {
  const length = forMs ?? Number.POSITIVE_INFINITY
  if (everyMs === null) {
    return at < startMs + length ? { from: startMs, to: startMs + length } : null
  }
  const round = Math.max(0, Math.floor((at - startMs) / everyMs))
  const from = startMs + round * everyMs
  if (at < from + length) return { from, to: from + length }
  return { from: from + everyMs, to: from + everyMs + length }
}

/** A fault in one worker. Times are of this process. */
export class ActiveFault {
  readonly plan: FaultPlan
  readonly #random: () => number

  constructor(plan: FaultPlan, worker: number, toMonotonic: number) {
    this.plan = { ...plan, startMs: plan.startMs - toMonotonic }
    // Each worker draws a sequence of its own.
    this.#random = seededRandom(plan.seed + worker * 0x9e3779b9)
  }

  /** The window in which a call of that time is met; null when it is not. Draws for calls of its operation. */
  strike(operation: string, at: number): FaultWindow | null {
    const { op, prob } = this.plan
    if (op !== '*' && op !== operation) return null
    const window = faultWindowAt(this.plan, at)
    if (window === null || at < window.from) return null
    return prob >= 1 || this.#random() < prob ? window : null
  }
}
