/** What becomes of `cache_control` in front of servers that do not know the name, and refuse what they do not know. */
import type { ChatMessage, ChatRequest, ContentPart } from '../../formats/canonical.js'
import type { ProviderCall } from '../port/provider.js'

/** `as_breakpoint`: as `prompt_cache_breakpoint`, which OpenAI's models know from gpt-5.6 on. */
export type CacheControlUse = 'as_sent' | 'as_breakpoint' | 'left_out'

/** Servers that refuse a member they do not know; they cache without being asked. */
const STRICT_HOSTS = /^api\.openai\.com$|\.openai\.azure\.com$/

/** For a server whose operator does not say. */
export function defaultCacheControlUse(baseUrl: string): CacheControlUse {
  return STRICT_HOSTS.test(new URL(baseUrl).hostname) ? 'left_out' : 'as_sent'
}

/** The request with the marks that the server takes; what is left out is named in `call.droppedFields`. */
export function withMarksFor(
  { request, droppedFields }: Pick<ProviderCall, 'request' | 'droppedFields'>,
  use: CacheControlUse,
): ChatRequest {
  if (use === 'as_sent' || !hasMarks(request)) return request
  const drop = (field: string): void => {
    if (!droppedFields.includes(field)) droppedFields.push(field)
  }
  const { cache_control, messages, tools, ...rest } = request
  if (cache_control !== undefined) drop('cache_control')
  const toPart = (part: ContentPart, role: ChatMessage['role']): ContentPart => {
    const { cache_control: mark, ...plain } = part
    if (mark === undefined) return part
    // What an assistant says can carry no breakpoint.
    if (use === 'as_breakpoint' && role !== 'assistant')
      return { ...plain, prompt_cache_breakpoint: { mode: 'explicit' } }
    drop('messages.cache_control')
    return plain
  }
  const toMessage = (message: ChatMessage): ChatMessage => {
    const { role, content } = message
    if (!Array.isArray(content)) return message
    return { ...message, content: content.map((part) => toPart(part, role)) } as ChatMessage
  }
  const toTool = ({ cache_control: mark, ...tool }: NonNullable<typeof tools>[number]): typeof tool => {
    if (mark !== undefined) drop('tools.cache_control')
    return tool
  }
  return {
    ...rest,
    messages: messages.map(toMessage),
    ...(tools !== undefined && { tools: tools.map(toTool) }),
  } as ChatRequest
}

/** Hot: asked of every call to a strict server. */
function hasMarks({ cache_control, messages, tools }: ChatRequest): boolean {
  if (cache_control !== undefined || tools?.some(isMarked)) return true
  return messages.some(({ content }) => Array.isArray(content) && content.some(isMarked))
}

function isMarked(one: object): boolean {
  return (one as { readonly cache_control?: unknown }).cache_control !== undefined
}
