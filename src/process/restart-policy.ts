/** Decides when a worker that died comes back, and when to give up. Pure: time comes in, a decision goes out. */

/** A run shorter than this after readiness, or one that never became ready, counts towards a crash loop. */
const SHORT_RUN_MS = 1_000
const CRASH_LOOP = 8
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 1_000

type RestartDecision =
  | { readonly restart: true; readonly afterMs: number }
  | { readonly restart: false; readonly reason: string }

export class RestartPolicy {
  #short = 0
  #served = false

  /** All workers are ready together: from now on the group is never given up. */
  markServing(): void {
    this.#served = true
  }

  /**
   * A worker died. `readyForMs` is how long it had been ready, or null when it never was. The first short run is
   * followed at once by another start, then the delay doubles up to a second. Eight short runs in a row end a group
   * that never served: its settings or its machine are wrong, and somebody is there to read why. One that has served
   * goes on trying, because a request that kills workers must not end the whole server.
   */
  decideRestart(readyForMs: number | null): RestartDecision {
    if (readyForMs !== null && readyForMs >= SHORT_RUN_MS) {
      this.#short = 0
      return { restart: true, afterMs: 0 }
    }
    this.#short++
    if (!this.#served && this.#short >= CRASH_LOOP) {
      return { restart: false, reason: `workers died ${CRASH_LOOP} times in a row right after their start` }
    }
    const afterMs =
      this.#short === 1 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#short - 2))
    return { restart: true, afterMs }
  }
}
