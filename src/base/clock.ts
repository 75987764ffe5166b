/** Where time comes from. Handed in as an argument, so that tests can hold it in their hands. */
export interface Clock {
  /** Unix time in seconds, with a fraction. */
  unixSeconds(): number
  /** Milliseconds on a clock that never steps back; only differences mean something. */
  monotonicMs(): number
  /** Runs `task` once after `ms` milliseconds; the returned function calls it off. */
  runAfter(ms: number, task: () => void): () => void
}

export const systemClock: Clock = {
  unixSeconds: () => Date.now() / 1000,
  monotonicMs: () => performance.now(),
  runAfter: (ms, task) => {
    const timer = setTimeout(task, Math.ceil(ms))
    return () => clearTimeout(timer)
  },
}

/** Unix time in whole milliseconds. */
export function unixMs(clock: Pick<Clock, 'unixSeconds'>): number {
  return Math.floor(clock.unixSeconds() * 1000)
}

/** Unix milliseconds as ISO 8601 in UTC. */
export function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString()
}

/**
 * Resolves when at least `ms` milliseconds have passed, or rejects with the signal's reason as soon as it fires.
 * The timer is released in both cases. Node's timers know whole milliseconds and count from the begin of the
 * loop's turn, so one can fire early; then the rest is waited for as well.
 */
export function sleep(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason)
      return
    }
    const until = clock.monotonicMs() + ms
    let cancel: () => void
    const leave = (): void => {
      cancel()
      reject(signal!.reason)
    }
    const fired = (): void => {
      const left = until - clock.monotonicMs()
      if (left > 0) {
        cancel = clock.runAfter(left, fired)
        return
      }
      signal?.removeEventListener('abort', leave)
      resolve()
    }
    cancel = clock.runAfter(ms, fired)
    signal?.addEventListener('abort', leave, { once: true })
  })
}
