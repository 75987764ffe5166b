/** The end of a call that cannot even begin. */
import type { Fault } from '../../../base/fault.js'
import type { CallHandle, ProviderFailure } from './provider.js'

/** Tells the fault in a later turn, as a failure of which the provider has seen nothing. */
export function rejectCall(
  fault: Fault,
  receiver: { onFailure(failure: ProviderFailure): void },
): CallHandle {
  const later = setImmediate(() => receiver.onFailure({ fault, class: 'not-sent', status: 0 }))
  return { pause: () => {}, resume: () => {}, cancel: () => clearImmediate(later) }
}
