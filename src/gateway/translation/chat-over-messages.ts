/** Chat served by a provider that speaks the messages format. */
import type { ChatRequest } from '../formats/canonical.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { ChatApi, MessagesApi, ProviderCall } from '../providers/port/provider.js'
import { MessagesToChatStream, toCompletion } from './chat-over-messages/answer.js'
import { toMessagesRequest } from './chat-over-messages/request.js'
import { type Translation, tierForMessages, translate } from './translation.js'

/**
 * Requests cross before they are sent, answers as they come. What cannot cross ends the call as `not-sent`, or its
 * field is named in `call.droppedFields`.
 */
export function chatOverMessages(messages: MessagesApi): ChatApi {
  return {
    stream: (call, receiver) =>
      translate(call, receiver, (translation) => {
        const stream = new MessagesToChatStream(receiver, translation)
        return stream.attach(messages.stream(translateCall(call, translation), stream))
      }),
    complete: (call, receiver) =>
      translate(call, receiver, (translation) =>
        messages.complete(translateCall(call, translation), {
          onEnd: (answer) => receiver.onEnd(toCompletion(answer, translation)),
          onFailure: (failure) => receiver.onFailure(failure),
        }),
      ),
  }
}

function translateCall(
  call: ProviderCall<ChatRequest>,
  translation: Translation,
): ProviderCall<MessagesRequest> {
  const serviceTier = tierForMessages(call.serviceTier)
  return { ...call, request: toMessagesRequest(call, translation), serviceTier }
}
