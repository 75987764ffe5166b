/** Chat served by a provider that speaks the messages format. */
import type { ChatRequest } from '../formats/canonical.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { ChatFace, MessagesFace, ProviderCall } from '../providers/port/provider.js'
import { completionOf } from './chat-over-messages/answer.js'
import { messagesRequestOf } from './chat-over-messages/request.js'
import { StreamAsChat } from './chat-over-messages/stream.js'
import { Crossing, unlessRefused } from './crossing.js'
import { tierForMessages } from './service-tiers.js'

/**
 * Requests cross before they are sent, answers as they come. What cannot cross ends the call as `not-sent`, or its
 * field is named in `call.lost`.
 */
export function chatOverMessages(messages: MessagesFace): ChatFace {
  return {
    stream: (call, receiver) =>
      unlessRefused(receiver, () => {
        const crossing = new Crossing(call.lost)
        const stream = new StreamAsChat(receiver, crossing)
        return stream.begin(messages.stream(translated(call, crossing), stream))
      }),
    complete: (call, receiver) =>
      unlessRefused(receiver, () => {
        const crossing = new Crossing(call.lost)
        return messages.complete(translated(call, crossing), {
          ended: (answer) => receiver.ended(completionOf(answer, crossing)),
          failed: (failure) => receiver.failed(failure),
        })
      }),
  }
}

function translated(call: ProviderCall<ChatRequest>, crossing: Crossing): ProviderCall<MessagesRequest> {
  const { serviceTier: tier } = call
  return {
    ...call,
    request: messagesRequestOf(call, crossing),
    serviceTier: tier === undefined ? undefined : tierForMessages(tier),
  }
}
