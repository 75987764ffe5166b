/** Messages of the messages format as those of chat (contract/gateway 5.1, 5.5 and 2.2). */
import type {
  CacheControl,
  ChatMessage,
  ContentPart,
  ReasoningDetail,
  TextPart,
  ToolCall,
} from '../../formats/canonical.js'
import { asObject, nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import { formatDataUrl } from '../data-url.js'
import { type Translation, withoutUndefined } from '../translation.js'
import { toReasoningDetail } from './reasoning.js'

export function toChatMessages(
  { system, messages }: MessagesRequest,
  translation: Translation,
): ChatMessage[] {
  const said: ChatMessage[] = []
  if (system !== undefined && system.length > 0) {
    said.push({ role: 'system', content: toInstruction(system, translation.at('system')) })
  }
  messages.forEach((message, at) => {
    for (const name of DROPPED_MEMBERS)
      if ((message[name] ?? null) !== null) translation.drop(`messages.${name}`)
    addMessage(said, message, translation.at(`messages.${at}.content`))
  })
  return said
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
    else rest.push(toContentPart(block, translation.at(at)))
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
    content: asObject(cache_control) === null ? said : markAtEnd(said, cache_control as CacheControl),
    tool_call_id: String(tool_use_id),
  }
}

/** In chat a mark stands on a part. */
function markAtEnd(
  content: string | readonly ContentPart[],
  cache_control: CacheControl,
): readonly ContentPart[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  return parts.map((part, at) => (at === parts.length - 1 ? { ...part, cache_control } : part))
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
    else parts.push(toContentPart(block, translation.at(at)))
  })
  const alone = details.length === 0 && calls.length === 0
  return {
    role: 'assistant',
    content: alone ? parts : simplifyContent(parts),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

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

// ── Blocks as content parts (contract/gateway 5.5 and 2.3) ─────────────────────

/** The text itself, or its blocks as parts. */
function toChatContent(content: unknown, translation: Translation): string | readonly ContentPart[] {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? toContentParts(content as readonly ContentBlock[], translation) : ''
}

function toContentParts(blocks: readonly ContentBlock[], translation: Translation): ContentPart[] {
  return blocks.map((block, at) => toContentPart(block, translation.at(at)))
}

function toContentPart(block: ContentBlock, translation: Translation): ContentPart {
  switch (block.type) {
    case 'text':
      return toTextPart(block, translation)
    case 'image':
      return toImagePart(block, translation)
    case 'document':
      return toFilePart(block, translation)
    default:
      return translation.refuse('', 'is of a kind that this provider cannot read')
  }
}

function toTextPart({ text, citations, cache_control }: ContentBlock, translation: Translation): ContentPart {
  if (Array.isArray(citations) && citations.length > 0) translation.drop('messages.citations')
  return withCacheControl({ type: 'text', text: String(text ?? '') }, cache_control)
}

function toImagePart({ source, cache_control }: ContentBlock, translation: Translation): ContentPart {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') {
    return withCacheControl({ type: 'image_url', image_url: { url } }, cache_control)
  }
  if (type !== 'base64') translation.refuse('source', 'means nothing to this provider')
  const inline = formatDataUrl({ mediaType: String(media_type), data: String(data) })
  return withCacheControl({ type: 'image_url', image_url: { url: inline } }, cache_control)
}

function toFilePart(block: ContentBlock, translation: Translation): ContentPart {
  const { source, title, context, citations, cache_control } = block
  if (asObject(citations)?.enabled === true) translation.refuse('citations')
  if (nonEmptyText(context) !== undefined) translation.refuse('context')
  const file = withoutUndefined({
    file_data: toFileData(source, translation),
    filename: nonEmptyText(title),
  })
  return withCacheControl({ type: 'file', file }, cache_control)
}

function toFileData(source: unknown, translation: Translation): string {
  const { type, url, media_type, data } = asObject(source) ?? {}
  if (type === 'url' && typeof url === 'string') return url
  if (type === 'base64') return formatDataUrl({ mediaType: String(media_type), data: String(data) })
  if (type === 'text') {
    return formatDataUrl({ mediaType: 'text/plain', data: Buffer.from(String(data)).toString('base64') })
  }
  return translation.refuse('source', 'means nothing to this provider')
}

function withCacheControl(made: ContentPart, cacheControl: unknown): ContentPart {
  return asObject(cacheControl) === null ? made : { ...made, cache_control: cacheControl as CacheControl }
}
