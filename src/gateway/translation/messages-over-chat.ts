/** The messages format served by a provider that speaks chat. */
import { Fault } from '../../base/fault.js'
import type { ChatFace, Flow, MessagesFace, ProviderFailure } from '../providers/provider.js'

export function messagesOverChat(_chat: ChatFace): MessagesFace {
  return {
    stream: (_call, receiver) => notYet(receiver),
    complete: (_call, receiver) => notYet(receiver),
  }
}

function notYet(receiver: { failed(failure: ProviderFailure): void }): Flow {
  const fault = new Fault('bad-request', { note: 'This provider does not serve the messages format' })
  const later = setImmediate(() => receiver.failed({ fault, class: 'not-sent', status: 0 }))
  return { pause: () => {}, resume: () => {}, cancel: () => clearImmediate(later) }
}
