/** A messages conversation as a chat request, for tools and plugins that read it or run a model over it. */
import type { ChatRequest } from '../../formats/canonical.js'
import type { MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import { toChatMessages } from '../../translation/messages-over-chat/conversation.js'
import { Translation } from '../../translation/translation.js'

/** Without tools. What chat has no words for is left out. */
export function asChatRequest(
  { model, models, provider, session_id, user, max_tokens, system }: MessagesRequest,
  messages: readonly MessagesMessage[],
): ChatRequest {
  const said = { messages, ...(system !== undefined && { system }) } as MessagesRequest
  return {
    model,
    ...(models !== undefined && { models }),
    ...(provider !== undefined && { provider }),
    ...(session_id !== undefined && { session_id }),
    ...(user !== undefined && { user }),
    max_tokens,
    messages: toChatMessages(said, new Translation([])),
  }
}
