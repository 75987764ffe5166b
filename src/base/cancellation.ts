/** How a piece of work learns that it is no longer wanted. */

/** A caller that may stop waiting. An `HttpCall` of the transport is one. */
export interface Cancellation {
  /** Calls `abort` once when the caller stops waiting; at once when it has done so already. */
  onAbort(abort: () => void): void
}

/** The same, of somebody who has a signal. */
export function cancellationOf(signal: AbortSignal): Cancellation {
  return {
    onAbort: (abort) => {
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
    },
  }
}

/** A caller that never stops waiting. */
export const NEVER_ABORTED: Cancellation = Object.freeze({ onAbort: () => {} })
