/** Whether there are calls that large bodies would keep waiting. Part of the native edge. */
import { LARGE_BYTES } from '../base/large-turns.js'

/** After so long without a small call nobody is taken to wait for the next one, in milliseconds. */
const QUIET_MS = 250

export class SmallCalls {
  #lastAt = Number.NEGATIVE_INFINITY

  /** A call arrived. @param length of its body; -1 when it comes in chunks */
  arrived(at: number, length: number): void {
    if (length < LARGE_BYTES) this.#lastAt = at
  }

  areComing(now: number): boolean {
    return now - this.#lastAt < QUIET_MS
  }
}
