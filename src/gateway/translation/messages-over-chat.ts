/** The messages format served by a provider that speaks chat. */
import type { ChatRequest } from '../formats/canonical.js'
import type { MessagesRequest } from '../formats/messages.js'
import type { ChatApi, MessagesApi, ProviderCall } from '../providers/port/provider.js'
import { ChatToMessagesStream, toMessagesAnswer } from './messages-over-chat/answer.js'
import { toChatRequest } from './messages-over-chat/request.js'
import { type Translation, tierForChat, translate } from './translation.js'

/**
 * Requests cross before they are sent, answers as they come. What cannot cross ends the call as `not-sent`, or its
 * field is named in `call.droppedFields`.
 */
export function messagesOverChat(chat: ChatApi): MessagesApi {
  return {
    stream: (call, receiver) =>
      translate(call, receiver, (translation) => {
        const stream = new ChatToMessagesStream(receiver, call, translation)
        return stream.attach(chat.stream(translateCall(call, translation), stream))
      }),
    complete: (call, receiver) =>
      translate(call, receiver, (translation) =>
        chat.complete(translateCall(call, translation), {
          onEnd: (completion) => {
            const answer = toMessagesAnswer(completion, call, translation)
            if ('fault' in answer) receiver.onFailure(answer)
            else receiver.onEnd(answer)
          },
          onFailure: (failure) => receiver.onFailure(failure),
        }),
      ),
  }
}

function translateCall(
  call: ProviderCall<MessagesRequest>,
  translation: Translation,
): ProviderCall<ChatRequest> {
  return { ...call, request: toChatRequest(call, translation), serviceTier: tierForChat(call.serviceTier) }
}
