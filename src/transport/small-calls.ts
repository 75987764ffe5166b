/** Whether there are calls that large bodies would keep waiting. Part of the native edge. */

/** A body from this size on is large. */
export const LARGE_BODY_BYTES = 256 * 1024
/** After so long without a small call nobody is taken to wait for the next one, in milliseconds. */
const QUIET_MS = 250

export class SmallCalls {
  #lastAt = Number.NEGATIVE_INFINITY

  /** A call arrived. @param length of its body; -1 when it comes in chunks */
  arrived(at: number, length: number): void {
    if (length < LARGE_BODY_BYTES) this.#lastAt = at
  }

  areComing(now: number): boolean {
    return now - this.#lastAt < QUIET_MS
  }
}
