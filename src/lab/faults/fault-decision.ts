import type { HttpCall } from '../../transport/exchange.js'
import type { FaultPlan } from '../control/requests.js'
import type { ActiveFault } from './active-fault.js'
import type { RequestedFault } from './lab-headers.js'
import type { StreamFaults } from './stream-faults.js'

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
  streamFaults: StreamFaults | null
}

const COALESCE_MS = 100

/** Null when nothing is to happen. Faults that meet a call are drawn in the order in which they were made. */
export function decideFaults(
  call: HttpCall,
  operation: string,
  faults: readonly ActiveFault[],
  requested: RequestedFault | null,
): FaultDecision | null {
  let decision = requested === null ? null : emptyDecision()
  for (const fault of faults) {
    const window = fault.strike(operation, call.arrivedAt)
    if (window === null) continue
    decision ??= emptyDecision()
    applyFault(decision, fault.plan, window.to)
  }
  if (decision === null || requested === null) return decision
  const { delayMs, status, cutAt } = requested
  decision.slowMs += delayMs
  decision.error ||= status
  if (cutAt !== null) decision.streamFaults = { ...decision.streamFaults, cut: { token: cutAt } }
  return decision
}

function emptyDecision(): FaultDecision {
  return { heldUntil: 0, maxHeld: 0, slowMs: 0, error: 0, reset: false, streamFaults: null }
}

/** What happens to a stream, by kind of fault. */
const STREAM_FAULTS: Readonly<Partial<Record<FaultPlan['kind'], (plan: FaultPlan) => StreamFaults>>> = {
  throttle: ({ bytesPerS }) => ({ bytesPerS }),
  'stall-at-token': ({ token, addMs }) => ({ stall: { token, ms: addMs } }),
  'cut-at-token': ({ token }) => ({ cut: { token } }),
  'error-at-token': ({ token }) => ({ error: { token } }),
  coalesce: ({ addMs }) => ({ coalesceMs: addMs > 0 ? addMs : COALESCE_MS }),
  'split-utf8': () => ({ splitUtf8: true }),
}

function applyFault(decision: FaultDecision, plan: FaultPlan, until: number): void {
  if (plan.kind === 'hold') {
    decision.heldUntil = Math.max(decision.heldUntil, until)
    decision.maxHeld = plan.maxHeld
  } else if (plan.kind === 'slow') decision.slowMs += plan.addMs
  else if (plan.kind === 'error') decision.error ||= plan.status
  else if (plan.kind === 'reset') decision.reset = true
  const streamFault = STREAM_FAULTS[plan.kind]
  if (streamFault !== undefined) decision.streamFaults = { ...decision.streamFaults, ...streamFault(plan) }
}
