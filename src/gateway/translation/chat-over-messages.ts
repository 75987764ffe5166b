/** Chat served by a provider that speaks the messages format. */
import type { ChatRequest } from '../formats/canonical.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { ChatApi, MessagesApi, ProviderCall } from '../providers/port/provider.js'
import { MessagesToChatStream, toCompletion } from './chat-over-messages/answer.js'
import { toMessagesRequest } from './chat-over-messages/request.js'
import { rejectOnFault, Translation, tierForMessages } from './translation.js'

/**
 * Requests cross before they are sent, answers as they come. What cannot cross ends the call as `not-sent`, or its
 * field is named in `call.droppedFields`.
 */
export function chatOverMessages(messages: MessagesApi): ChatApi {
  return {
    stream: (call, receiver) =>
      rejectOnFault(receiver, () => {
        const translation = new Translation(call.droppedFields)
        const stream = new MessagesToChatStream(receiver, translation)
        return stream.attach(messages.stream(translateCall(call, translation), stream))
      }),
    complete: (call, receiver) =>
      rejectOnFault(receiver, () => {
        const translation = new Translation(call.droppedFields)
        return messages.complete(translateCall(call, translation), {
          onEnd: (answer) => receiver.onEnd(toCompletion(answer, translation)),
          onFailure: (failure) => receiver.onFailure(failure),
        })
      }),
  }
}

function translateCall(
  call: ProviderCall<ChatRequest>,
  translation: Translation,
): ProviderCall<MessagesRequest> {
  const { serviceTier: tier } = call
  return {
    ...call,
    request: toMessagesRequest(call, translation),
    serviceTier: tier === undefined ? undefined : tierForMessages(tier),
  }
}
