/** A messages request as plugins see it. */
import { contentText } from '../../formats/content-parts.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import type { Question } from '../../plugins/port/plugin.js'
import { asChatRequest } from './as-chat.js'

export function messagesQuestion(request: MessagesRequest): Question {
  const { messages } = request
  const latest = messages.findLastIndex(({ role, content }) => role === 'user' && !isAnswerOfTools(content))
  return {
    request,
    asChat: () => asChatRequest(request, messages),
    latestText: latest < 0 ? '' : contentText(messages[latest]!.content),
    withContext: (text) => ({
      ...request,
      messages: messages.map((message, at) => (at === latest ? withText(message, text) : message)),
    }),
  }
}

/** Results of tools stand in messages of the user, who has not said them. */
function isAnswerOfTools(content: MessagesMessage['content']): boolean {
  return (
    typeof content !== 'string' && content.length > 0 && content.every(({ type }) => type === 'tool_result')
  )
}

/** Results of tools stand first in a message. */
function withText(message: MessagesMessage, text: string): MessagesMessage {
  const { content } = message
  const blocks: readonly ContentBlock[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const rest = blocks.filter(({ type }) => type !== 'tool_result')
  return { ...message, content: [...results, { type: 'text', text }, ...rest] }
}
