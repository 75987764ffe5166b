/**
 * Cache breakpoints that the gateway sets itself, for a caller that wants the request cached and has marked nothing.
 * Servers of this format cache up to marked blocks; few know the wish for the request as a whole.
 */
import type { CacheControl } from '../../formats/canonical.js'
import { asList, asObject } from '../../formats/json-values.js'
import type { ContentBlock, MessagesMessage, MessagesTool } from '../../formats/messages.js'
import type { WireObject } from '../http/server.js'

interface PromptMembers {
  readonly messages: readonly MessagesMessage[]
  readonly system?: string | readonly ContentBlock[]
  readonly tools?: readonly MessagesTool[]
  readonly cache_control?: CacheControl
}

/** Kinds that may be marked. */
const MARKABLE: ReadonlySet<string> = new Set([
  ...['text', 'image', 'document', 'search_result', 'tool_use', 'tool_result'],
])

/**
 * The body with marks in the place of its `cache_control`, four at most: on the last tool, the end of the system
 * prompt, the end of what was sent the time before, and the end of the conversation. The body itself where the caller
 * has marked something, or wants nothing cached.
 */
export function withManagedBreakpoints(body: WireObject): WireObject {
  // Asked of every call: the others are not copied.
  if (body.cache_control === undefined) return body
  const { cache_control, ...rest } = body as unknown as PromptMembers
  if (hasMark(rest)) return body
  const mark = cache_control!
  const { tools, system, messages } = rest
  const turns = messages.map(({ role }, at) => (role === 'user' ? at : -1)).filter((at) => at >= 0)
  const ends = new Set([messages.length - 1, turns.filter((at) => at < messages.length - 1).at(-1)])
  return {
    ...rest,
    ...(tools !== undefined && {
      tools: markLast(tools, mark, ({ defer_loading }) => defer_loading !== true),
    }),
    ...(system !== undefined && { system: markContent(system, mark) }),
    messages: messages.map((message, at) =>
      ends.has(at) ? { ...message, content: markContent(message.content, mark) } : message,
    ),
  }
}

function hasMark({ messages, system, tools = [] }: PromptMembers): boolean {
  const marked = (value: unknown): boolean => (asObject(value)?.cache_control ?? null) !== null
  const inside = (content: unknown): boolean =>
    asList(content).some((block) => marked(block) || inside(asObject(block)?.content))
  return tools.some(marked) || inside(system) || messages.some(({ content }) => inside(content))
}

/** The format takes no mark on an empty text. */
function markContent(
  content: string | readonly ContentBlock[],
  mark: CacheControl,
): string | readonly ContentBlock[] {
  if (content === '') return content
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return markLast(blocks, mark, ({ type, text }) => MARKABLE.has(type) && text !== '')
}

function markLast<T extends object>(list: readonly T[], mark: CacheControl, takes: (one: T) => boolean): T[] {
  const last = list.findLastIndex(takes)
  return list.map((one, at) => (at === last ? { ...one, cache_control: mark } : one))
}
