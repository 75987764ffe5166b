/** The messages format served by a provider that speaks chat. */
import type { ChatRequest } from '../formats/canonical.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { ChatFace, MessagesFace, ProviderCall } from '../providers/port/provider.js'
import { Crossing, unlessRefused } from './crossing.js'
import { answerOf } from './messages-over-chat/answer.js'
import { hidesThinking } from './messages-over-chat/reasoning.js'
import { chatRequestOf } from './messages-over-chat/request.js'
import { StreamAsMessages } from './messages-over-chat/stream.js'
import { tierForChat } from './service-tiers.js'

/**
 * Requests cross before they are sent, answers as they come. What cannot cross ends the call as `not-sent`, or its
 * field is named in `call.lost`.
 */
export function messagesOverChat(chat: ChatFace): MessagesFace {
  return {
    stream: (call, receiver) =>
      unlessRefused(receiver, () => {
        const crossing = new Crossing(call.lost)
        const { name } = call.endpoint.provider
        const stream = new StreamAsMessages(receiver, name, crossing, hidesThinking(call.request))
        return stream.begin(chat.stream(translated(call, crossing), stream))
      }),
    complete: (call, receiver) =>
      unlessRefused(receiver, () => {
        const crossing = new Crossing(call.lost)
        const { name } = call.endpoint.provider
        return chat.complete(translated(call, crossing), {
          ended: (completion) => {
            const answer = answerOf(completion, name, crossing, hidesThinking(call.request))
            if ('fault' in answer) receiver.failed(answer)
            else receiver.ended(answer)
          },
          failed: (failure) => receiver.failed(failure),
        })
      }),
  }
}

function translated(call: ProviderCall<MessagesRequest>, crossing: Crossing): ProviderCall<ChatRequest> {
  const { serviceTier: tier } = call
  return {
    ...call,
    request: chatRequestOf(call, crossing),
    serviceTier: tier === undefined ? undefined : tierForChat(tier),
  }
}
