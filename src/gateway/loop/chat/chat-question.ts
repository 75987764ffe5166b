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
    mapTexts: (replace) => {
      const messages = request.messages.flatMap((message, at) => {
        const replaced = mapMessage(message, (text) => replace(text, { role: message.role, message: at }))
        return replaced === null ? [] : [replaced]
      })
      return { ...request, messages } as ChatRequest
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

/** Null where one of its texts is dropped. */
function mapMessage(message: ChatMessage, replace: (text: string) => string | null): ChatMessage | null {
  const { content } = message
  if (typeof content === 'string') {
    const text = replace(content)
    return text === null ? null : text === content ? message : ({ ...message, content: text } as ChatMessage)
  }
  if (!Array.isArray(content)) return message
  const parts: ContentPart[] = []
  for (const part of content as readonly ContentPart[]) {
    const text = part.type === 'text' ? replace(part.text) : ''
    if (text === null) return null
    parts.push(part.type === 'text' && text !== part.text ? { ...part, text } : part)
  }
  return { ...message, content: parts } as ChatMessage
}
