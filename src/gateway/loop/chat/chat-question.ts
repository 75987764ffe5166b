/** A chat request as plugins see it. */
import type { ChatMessage, ChatRequest, ContentPart } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import type { Question } from '../../plugins/port/plugin.js'

export function chatQuestion(request: ChatRequest): Question {
  const latest = request.messages.findLastIndex(({ role }) => role === 'user')
  return {
    request,
    asChat: () => request,
    latestText: latest < 0 ? '' : contentText(request.messages[latest]!.content),
    withContext: (text) => {
      const messages = request.messages.map((message, at) =>
        at === latest ? withPart(message, text) : message,
      )
      return latest < 0 ? request : ({ ...request, messages } as ChatRequest)
    },
  }
}

/** The message of a user with a text in front of what it says. */
function withPart(message: ChatMessage, text: string): ChatMessage {
  if (message.role !== 'user') return message
  const { content } = message
  const said: readonly ContentPart[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return { ...message, content: [{ type: 'text', text }, ...said] }
}
