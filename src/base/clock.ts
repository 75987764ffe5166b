/** Where time comes from. Handed in as an argument, so that tests can hold it in their hands. */
export interface Clock {
  /** Unix time in seconds, with a fraction. */
  unixSeconds(): number
  /** Milliseconds on a clock that never steps back; only differences mean something. */
  monotonicMs(): number
  /** Runs `task` once after `ms` milliseconds; the returned function calls it off. */
  after(ms: number, task: () => void): () => void
}

export const systemClock: Clock = {
  unixSeconds: () => Date.now() / 1000,
  monotonicMs: () => performance.now(),
  after: (ms, task) => {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it fires.
 * The timer is released in both cases.
 */
export function sleep(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const leave = (): void => {
      cancel()
      reject(signal!.reason)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    })
    signal?.addEventListener('abort', leave, { once: true })
  })
}
