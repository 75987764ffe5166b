import type { HttpCall } from '../../transport/exchange.js'
import type { ActiveFault } from './active-fault.js'
import type { RequestedFault } from './lab-headers.js'
import type { StreamFaults } from './stream-faults.js'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** What is to happen to one call. */
export interface FaultDecision {
  /** The call is not begun before, `performance.now()`; 0 for at once. */
  heldUntil: number
  /** Most calls that may be held at a time. */
  maxHeld: number
  /** Waits so much longer. */
  slowMs: number
  /** Status of an error instead of the answer; 0 for none. */
  error: number
  reset: boolean
  streamFaults: Mutable<StreamFaults> | null
}

const COALESCE_MS = 100

/** Null when nothing is to happen. Faults that meet a call are drawn in the order in which they were made. */
export function decideFaults(
  call: HttpCall,
  operation: string,
  faults: readonly ActiveFault[],
  wishes: RequestedFault | null,
): FaultDecision | null {
  const fate: FaultDecision = {
    heldUntil: 0,
    maxHeld: 0,
    slowMs: 0,
    error: 0,
    reset: false,
    streamFaults: null,
  }
  let any = wishes !== null
  for (const fault of faults) {
    if (!fault.matchesOperation(operation)) continue
    const window = fault.windowAt(call.arrivedAt)
    if (window === null || !fault.strikesThisCall()) continue
    any = true
    applyFault(fate, fault, window.to)
  }
  if (wishes !== null) {
    fate.slowMs += wishes.delayMs
    fate.error ||= wishes.status
    if (wishes.cutAt !== null) streamFaultsOf(fate).cut = { token: wishes.cutAt }
  }
  return any ? fate : null
}

function applyFault(fate: FaultDecision, { plan }: ActiveFault, until: number): void {
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
      streamFaultsOf(fate).bytesPerS = bytesPerS
      break
    case 'stall-at-token':
      streamFaultsOf(fate).stall = { token, ms: addMs }
      break
    case 'cut-at-token':
      streamFaultsOf(fate).cut = { token }
      break
    case 'error-at-token':
      streamFaultsOf(fate).error = { token }
      break
    case 'coalesce':
      streamFaultsOf(fate).coalesceMs = addMs > 0 ? addMs : COALESCE_MS
      break
    case 'split-utf8':
      streamFaultsOf(fate).splitUtf8 = true
      break
    case 'block':
    case 'accept-pause':
      break
  }
}

function streamFaultsOf(fate: FaultDecision): Mutable<StreamFaults> {
  fate.streamFaults ??= {}
  return fate.streamFaults
}
