/** A messages request as plugins see it. */
import { contentText } from '../../formats/content-parts.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import type { Question } from '../../plugins/port/plugin.js'
import { asChatRequest } from './as-chat.js'

export function messagesQuestion(request: MessagesRequest): Question {
  const { messages } = request
  const latest = messages.findLastIndex(({ role, content }) => role === 'user' && !isAnswerOfTools(content))
  const replaceMessages = (changed: readonly MessagesMessage[]): MessagesRequest => ({
    ...request,
    messages: changed,
  })
  return {
    request,
    asChat: () => asChatRequest(request, messages),
    latestText: latest < 0 ? '' : contentText(messages[latest]!.content),
    withContext: (text) =>
      replaceMessages(messages.map((message, at) => (at === latest ? withText(message, text) : message))),
    mapTexts: (replace) =>
      replaceMessages(
        messages.flatMap((message, at) => {
          const mapped = mapMessage(message, (text) => replace(text, { role: message.role, message: at }))
          return mapped === null ? [] : [mapped]
        }),
      ),
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

/** Null where one of its texts is dropped. */
function mapMessage(
  message: MessagesMessage,
  replace: (text: string) => string | null,
): MessagesMessage | null {
  const { content } = message
  if (typeof content === 'string') {
    const text = replace(content)
    return text === null ? null : text === content ? message : { ...message, content: text }
  }
  const blocks: ContentBlock[] = []
  for (const block of content) {
    const text = block.type === 'text' ? replace(String(block.text)) : ''
    if (text === null) return null
    blocks.push(block.type === 'text' && text !== block.text ? { ...block, text } : block)
  }
  return { ...message, content: blocks }
}
