/** Messages of the messages format as those of chat (contract/gateway 5.1, 5.5 and 2.2). */
import type {
  ChatMessage,
  ContentPart,
  ReasoningDetail,
  TextPart,
  ToolCall,
} from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import type { Translation } from '../translation.js'
import { markAtEnd, toChatContent, toContentParts, toParts } from './content.js'
import { toReasoningDetail } from './reasoning.js'

export function toChatMessages(
  { system, messages }: MessagesRequest,
  translation: Translation,
): ChatMessage[] {
  const said: ChatMessage[] = []
  if (system !== undefined && system.length > 0) {
    said.push({ role: 'system', content: toInstruction(system, translation.at('system')) })
  }
  const summary = messages.findLastIndex(isSummarized)
  messages.forEach((whole, at) => {
    if (at < summary) return
    const message = at === summary ? fromSummary(whole) : whole
    for (const name of DROPPED_MEMBERS)
      if ((message[name] ?? null) !== null) translation.drop(`messages.${name}`)
    addMessage(said, message, translation.at(`messages.${at}.content`))
  })
  return said
}

/** A server of this format takes nothing of what stands before a summary of it. */
function isSummarized({ content }: MessagesMessage): boolean {
  return typeof content !== 'string' && content.some(isSummary)
}

function isSummary({ type, content }: ContentBlock): boolean {
  return type === 'compaction' && nonEmptyText(content) !== undefined
}

function fromSummary(message: MessagesMessage): MessagesMessage {
  const content = message.content as readonly ContentBlock[]
  return { ...message, content: content.slice(content.findLastIndex(isSummary)) }
}

/** Wishes of a single message, for which chat has no place. */
const DROPPED_MEMBERS = ['clear_at', 'output_config'] as const

function addMessage(said: ChatMessage[], { role, content }: MessagesMessage, translation: Translation): void {
  if (role === 'system') said.push({ role, content: toInstruction(content, translation) })
  else if (role === 'assistant') said.push(toAssistantMessage(content, translation))
  else if (typeof content === 'string') said.push({ role, content })
  else addUserBlocks(said, content, translation)
}

function toInstruction(
  content: string | readonly ContentBlock[],
  translation: Translation,
): string | readonly TextPart[] {
  if (typeof content === 'string') return content
  const other = content.findIndex(({ type }) => type !== 'text')
  if (other >= 0) translation.refuse(`${other}`, 'is of a kind that cannot be an instruction here')
  return toContentParts(content, translation) as TextPart[]
}

/** Results are messages of their own in chat, and what stands beside them follows them. */
function addUserBlocks(said: ChatMessage[], blocks: readonly ContentBlock[], translation: Translation): void {
  const rest: ContentPart[] = []
  blocks.forEach((block, at) => {
    if (block.type === 'tool_result') said.push(toToolMessage(block, translation.at(at)))
    else for (const part of toParts(block, translation.at(at))) rest.push(part)
  })
  if (rest.length > 0 || blocks.length === 0) said.push({ role: 'user', content: rest })
}

/** Chat cannot mark a result as an error, so the text says it: a model that takes it for a success goes astray. */
const TOOL_ERROR = '[tool error]'

function toToolMessage(block: ContentBlock, translation: Translation): ChatMessage {
  const { tool_use_id, content, is_error, cache_control } = block
  const told = toChatContent(content, translation.at('content'))
  const said = is_error === true ? markAsError(told) : told
  return {
    role: 'tool',
    content: asObject(cache_control) === null ? said : markAtEnd(asParts(said), cache_control),
    tool_call_id: String(tool_use_id),
  }
}

function asParts(content: string | readonly ContentPart[]): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function markAsError(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
  if (typeof content === 'string') return content === '' ? TOOL_ERROR : `${TOOL_ERROR} ${content}`
  return [{ type: 'text', text: TOOL_ERROR }, ...content]
}

// ── The assistant ───────────────────────────────────────────────────────────

function toAssistantMessage(
  content: string | readonly ContentBlock[],
  translation: Translation,
): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content }
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  const parts: ContentPart[] = []
  let reasoning = ''
  content.forEach((block, at) => {
    const detail = toReasoningDetail(block, details.length)
    if (detail !== null) {
      details.push(detail)
      reasoning += nonEmptyText(block.thinking) ?? ''
    } else if (block.type === 'tool_use') calls.push(toToolCall(block, translation))
    else for (const part of toAssistantParts(block, translation.at(at))) parts.push(part)
  })
  const alone = details.length === 0 && calls.length === 0
  return {
    role: 'assistant',
    content: alone && parts.length > 0 ? parts : simplifyContent(parts),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/** Of what a server has said in kinds of its own only the words count; a kind without any is left out and named. */
function toAssistantParts(block: ContentBlock, translation: Translation): readonly ContentPart[] {
  if (READABLE.has(block.type) || /_tool_(use|result)$/.test(block.type) || contentText([block]) !== '')
    return toParts(block, translation)
  translation.dropKind('messages', block)
  return []
}

const READABLE: ReadonlySet<string> = new Set([
  ...['text', 'image', 'document', 'search_result', 'compaction', 'container_upload'],
])

/** One text beside calls or thinking is how chat says it; nothing said is null. */
function simplifyContent(parts: readonly ContentPart[]): string | readonly ContentPart[] | null {
  const [first] = parts
  if (first === undefined) return null
  const plain = parts.length === 1 && first.type === 'text' && first.cache_control === undefined
  return plain ? first.text : parts
}

function toToolCall({ id, name, input, cache_control }: ContentBlock, translation: Translation): ToolCall {
  if (cache_control !== undefined && cache_control !== null)
    translation.drop('messages.tool_use.cache_control')
  return {
    id: String(id),
    type: 'function',
    function: { name: String(name), arguments: JSON.stringify(input ?? {}) },
  }
}
