/** Faults on purpose: as data, and as each worker has them. */
import { seededRandom } from '../../base/random.js'

/** Faults of the whole server: no operation can be named. */
export const SERVER_FAULTS = ['block', 'accept-pause'] as const
/** Faults of single answers. */
const ANSWER_FAULTS = ['hold', 'slow', 'error', 'reset', 'throttle'] as const
/** Faults of event streams. */
const STREAM_FAULTS = ['stall-at-token', 'cut-at-token', 'error-at-token', 'coalesce', 'split-utf8'] as const

export const LAB_FAULT_KINDS = [...SERVER_FAULTS, ...ANSWER_FAULTS, ...STREAM_FAULTS] as const
export type LabFaultKind = (typeof LAB_FAULT_KINDS)[number]

/** A fault as the workers get it. Times are milliseconds on the clock that all processes share. */
export interface FaultPlan {
  readonly id: string
  readonly kind: LabFaultKind
  /** Name of an operation, or `*`. */
  readonly op: string
  /** Null for all workers. */
  readonly worker: number | null
  readonly startMs: number
  /** How long it lasts; null until it is deleted. */
  readonly forMs: number | null
  /** From begin to begin; null happens once. */
  readonly everyMs: number | null
  /** Share of the calls it meets. */
  readonly prob: number
  readonly seed: number
  /** Of `error`. */
  readonly status: number
  /** Of `slow`. */
  readonly addMs: number
  /** Of `throttle`. */
  readonly bytesPerS: number
  /** Of stream faults: after so many tokens. */
  readonly token: number
  /** Of `hold`: answers that are withheld at a time; beyond them calls get 503. */
  readonly maxHeld: number
}

/** When a fault is active: the window under way or the next one; null when there is none any more. */
export function faultWindowAt(
  plan: FaultPlan,
  at: number,
): { readonly from: number; readonly to: number } | null {
  const { startMs, forMs, everyMs } = plan
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
