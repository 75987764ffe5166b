import type { HttpCall } from '../../transport/exchange.js'
import type { ActiveFault } from './active-fault.js'
import type { Wishes } from './call-wishes.js'
import type { StreamTroubles } from './stream-faults.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** What is to happen to one call. */
export interface Fate {
  /** The call is not begun before, `performance.now()`; 0 for at once. */
  heldUntil: number
  /** Most calls that may be held at a time. */
  maxHeld: number
  /** Waits so much longer. */
  slowMs: number
  /** Status of an error instead of the answer; 0 for none. */
  error: number
  reset: boolean
  troubles: Mutable<StreamTroubles> | null
}

const COALESCE_MS = 100

/** Null when nothing is to happen. Faults that meet a call are drawn in the order in which they were made. */
export function fateOf(
  call: HttpCall,
  operation: string,
  faults: readonly ActiveFault[],
  wishes: Wishes | null,
): Fate | null {
  const fate: Fate = { heldUntil: 0, maxHeld: 0, slowMs: 0, error: 0, reset: false, troubles: null }
  let any = wishes !== null
  for (const fault of faults) {
    if (!fault.meets(operation)) continue
    const window = fault.windowAt(call.arrivedAt)
    if (window === null || !fault.drawn()) continue
    any = true
    suffer(fate, fault, window.to)
  }
  if (wishes !== null) {
    fate.slowMs += wishes.delayMs
    fate.error ||= wishes.status
    if (wishes.cutAt !== null) troublesOf(fate).cut = { token: wishes.cutAt }
  }
  return any ? fate : null
}

function suffer(fate: Fate, { plan }: ActiveFault, until: number): void {
  const { kind, status, addMs, maxHeld, token, bytesPerS } = plan
  switch (kind) {
    case 'hold':
      fate.heldUntil = Math.max(fate.heldUntil, until)
      fate.maxHeld = maxHeld
      break
    case 'slow':
      fate.slowMs += addMs
      break
    case 'error':
      fate.error ||= status
      break
    case 'reset':
      fate.reset = true
      break
    case 'throttle':
      troublesOf(fate).bytesPerS = bytesPerS
      break
    case 'stall-at-token':
      troublesOf(fate).stall = { token, ms: addMs }
      break
    case 'cut-at-token':
      troublesOf(fate).cut = { token }
      break
    case 'error-at-token':
      troublesOf(fate).error = { token }
      break
    case 'coalesce':
      troublesOf(fate).coalesceMs = addMs > 0 ? addMs : COALESCE_MS
      break
    case 'split-utf8':
      troublesOf(fate).splitUtf8 = true
      break
    case 'block':
    case 'accept-pause':
      break
  }
}

function troublesOf(fate: Fate): Mutable<StreamTroubles> {
  fate.troubles ??= {}
  return fate.troubles
}
