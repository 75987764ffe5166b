/**
 * Calls back when the next thing is due. Timers of Node are whole milliseconds and fire up to two late, so the last
 * stretch before a due time is spent turning the event loop, which goes on reading answers meanwhile.
 */

import { SampleSet } from '../figures/sample-set.js'

/** Below this distance the loop turns; above it a timer may sleep for what lies beyond. */
const TURNING_MS = 2
/** A turn that only watches the clock takes microseconds; in what is longer somebody else had the processor. */
const MOST_IDLE_TURN_MS = 0.1

export class Pacer {
  readonly #step: () => number
  readonly #turningMs: number
  #idleMs = 0
  #turnedAt = 0
  #busy = false
  #stopped = false

  /**
   * `step` does what is due and returns when it wants to be called next, as a time of `performance.now()`. Without
   * `precise` timers alone are used: no processor is spent on watching the clock, and what is due is a little late.
   */
  constructor(step: () => number, precise = true) {
    this.#step = step
    this.#turningMs = precise ? TURNING_MS : 0
  }

  /** Milliseconds so far in which the processor only watched the clock. */
  get idleMs(): number {
    return this.#idleMs
  }

  start(): void {
    this.#turnedAt = performance.now()
    this.#turnLoop()
  }

  stop(): void {
    this.#stopped = true
  }

  /** Something happened since the last turn, so the time since then was not idle. */
  markBusy(): void {
    this.#busy = true
  }

  readonly #turnLoop = (): void => {
    if (this.#stopped) return
    const began = performance.now()
    if (!this.#busy) this.#idleMs += Math.min(began - this.#turnedAt, MOST_IDLE_TURN_MS)
    this.#busy = false
    const next = this.#step()
    const now = performance.now()
    this.#turnedAt = now
    const ahead = next - now
    if (this.#turningMs === 0) this.#sleep(Math.max(0, Math.ceil(ahead)))
    else if (ahead < this.#turningMs + 1) setImmediate(this.#turnLoop)
    else this.#sleep(Math.floor(ahead - this.#turningMs))
  }

  /** Never long, so that timeouts and an interruption are noticed. */
  #sleep(ms: number): void {
    setTimeout(
      () => {
        // The processor was free, which is not the same as watching the clock.
        this.#busy = true
        this.#turnLoop()
      },
      Math.min(ms, 10),
    )
  }
}

/** A fixed schedule: due times are computed from the start, never from the previous firing. */
interface PacePlan {
  readonly perSecond: number
  /** How many are due at the same moment; the rate stays the same. Default 1. */
  readonly burst?: number
  /** Ends the schedule; without it only `running` does. */
  readonly seconds?: number
  /** As for a pacer; false unless it says. */
  readonly precise?: boolean
  /** Asked before each firing; false ends the schedule. */
  readonly running?: () => boolean
}

/**
 * Calls `fire(due)` for each due time (`performance.now()` milliseconds), late ones too: neither skips nor slows down
 * when the server or this process stalls. Resolves with how late the firings were; rejects when `fire` throws.
 */
export function runPaced(plan: PacePlan, fire: (due: number) => void): Promise<SampleSet> {
  const { perSecond, burst = 1, seconds = Number.POSITIVE_INFINITY, precise = false, running } = plan
  const lateness = new SampleSet()
  const gap = (1_000 * burst) / perSecond
  const groups = Math.round((seconds * 1_000) / gap)
  const start = performance.now()
  let group = 0
  return new Promise((resolve, reject) => {
    const step = (): number => {
      for (;;) {
        const due = start + group * gap
        if (group >= groups || running?.() === false) {
          pacer.stop()
          resolve(lateness)
          return due
        }
        const late = performance.now() - due
        if (late < 0) return due
        group++
        lateness.record(late)
        for (let i = 0; i < burst; i++) fire(due)
      }
    }
    const guarded = (): number => {
      try {
        return step()
      } catch (error) {
        pacer.stop()
        reject(error)
        return Number.POSITIVE_INFINITY
      }
    }
    const pacer = new Pacer(guarded, precise)
    pacer.start()
  })
}

/** The same for calls that take their time; resolves when the last of them has ended. */
export async function runPacedCalls(plan: PacePlan, call: (due: number) => Promise<void>) {
  const pending = new Set<Promise<void>>()
  const lateness = await runPaced(plan, (due) => {
    const one = call(due)
    pending.add(one)
    void one.finally(() => pending.delete(one))
  })
  await Promise.all(pending)
  return lateness
}
