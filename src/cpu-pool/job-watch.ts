/** How long a job may run, where its thread is ended with it. */
import { JobFlag } from '../../workers/tasks.js'

/** A job may run a quarter of a second longer than its limit. */
const LOOK_MS = 250

/**
 * Aborts `signal` when a thread has worked on a job for `limitMs`. It looks at the flag of the job, because what waits
 * behind another job, or for a thread that loads its modules, has not begun: V8 aborts the whole process where a thread
 * is ended amid the linking of modules.
 */
export class JobWatch {
  readonly #abort = new AbortController()
  readonly #timer: NodeJS.Timeout

  constructor(flags: Int32Array, flag: number, limitMs: number) {
    let seenAt: number | null = null
    this.#timer = setInterval(() => {
      if (Atomics.load(flags, flag) !== JobFlag.Running) return
      seenAt ??= performance.now()
      if (performance.now() - seenAt >= limitMs) this.#abort.abort()
    }, LOOK_MS)
    this.#timer.unref()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
