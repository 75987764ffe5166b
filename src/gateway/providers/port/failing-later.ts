/** The end of a call that cannot even begin. */
import type { Fault } from '../../../base/fault.js'
import type { Flow, ProviderFailure } from './provider.js'

/** Tells the fault in a later turn, as a failure of which the provider has seen nothing. */
export function failingLater(fault: Fault, receiver: { failed(failure: ProviderFailure): void }): Flow {
  const later = setImmediate(() => receiver.failed({ fault, class: 'not-sent', status: 0 }))
  return { pause: () => {}, resume: () => {}, cancel: () => clearImmediate(later) }
}
