/** Calls of the simulated provider whose work is done in turns of the loop, and not by a schedule. */
import { Fault } from '../base/fault.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type {
  CallHandle,
  FailureReceiver,
  ProviderCall,
  ProviderFailure,
} from '../gateway/providers/port/provider.js'
import { type FaultPoint, planningFailure, UnsupportedRequest } from './faults.js'

/** How a call is to fail, if it is; `afterSteps` counts pieces of sound. Throws what ends the call as a failure. */
export type ScheduleFault = (call: ProviderCall<RoutedRequest>) => FaultPoint | null

/** Works in later turns of the loop. What the work throws ends the call as a failure. */
export function startCall(
  { endpoint }: ProviderCall<RoutedRequest>,
  receiver: FailureReceiver,
  work: (handle: TurnCallHandle) => Promise<void>,
): CallHandle {
  const handle = new TurnCallHandle()
  void handle
    .nextTurn()
    .then(() => (handle.cancelled ? undefined : work(handle)))
    .catch((error: unknown) => {
      if (!handle.cancelled) receiver.onFailure(workFailure(error, endpoint.provider.name))
    })
  return handle
}

function workFailure(error: unknown, providerName: string): ProviderFailure {
  if (error instanceof UnsupportedRequest) return planningFailure(error, providerName)
  const fault = error instanceof Fault ? error : new Fault('internal', { cause: error })
  return { fault, class: 'maybe-processed', status: 0 }
}

/** For what the port never asks. */
export function rejectWith(detail: string) {
  return (call: ProviderCall<RoutedRequest>, receiver: FailureReceiver): CallHandle =>
    startCall(call, receiver, () => Promise.reject(new Fault('internal', { detail })))
}

/** Control over one call; its work asks between pieces whether it is still wanted and may go on. */
class TurnCallHandle implements CallHandle {
  cancelled = false
  #paused = false
  #onResume: (() => void) | null = null

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#onResume?.()
    this.#onResume = null
  }

  cancel(): void {
    this.cancelled = true
    this.resume()
  }

  /** The next turn of the loop, or the one in which the reader has caught up. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#paused && !this.cancelled) this.#onResume = resolve
      else setImmediate(resolve)
    })
  }

  async failAfterWait({ waitMs, failure }: FaultPoint, receiver: FailureReceiver): Promise<void> {
    if (waitMs !== null && waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (!this.cancelled) receiver.onFailure(failure)
  }
}
