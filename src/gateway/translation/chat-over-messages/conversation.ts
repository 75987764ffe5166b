/** Messages of chat as those of the messages format (contract/gateway 2.2 and 5.1). */
import type { ChatMessage, ContentPart, TextPart, ToolCall } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesMessage } from '../../formats/messages.js'
import { parseDataUrl } from '../data-url.js'
import { type Translation, withoutUndefined } from '../translation.js'
import { toThinkingBlocks } from './reasoning.js'

interface MessagesConversation {
  /** Undefined when there is nothing to say. */
  readonly system: string | readonly ContentBlock[] | undefined
  readonly messages: readonly MessagesMessage[]
}

type MessageOfRole<R extends ChatMessage['role']> = ChatMessage & { readonly role: R }
type Instruction = MessageOfRole<'system' | 'developer'>

/** Instructions at the head become the system prompt, later ones stay where they are. */
export function toMessagesConversation(
  messages: readonly ChatMessage[],
  translation: Translation,
): MessagesConversation {
  const instructions: Instruction[] = []
  for (const message of messages) {
    if (message.role !== 'system' && message.role !== 'developer') break
    instructions.push(message)
  }
  return {
    system: toSystemPrompt(instructions, translation),
    messages: toTurns(messages, instructions.length, translation),
  }
}

function toSystemPrompt(
  instructions: readonly Instruction[],
  translation: Translation,
): string | readonly ContentBlock[] | undefined {
  for (const { name } of instructions) if (name !== undefined) translation.drop('messages.name')
  const [first, ...more] = instructions
  if (first === undefined) return undefined
  const system =
    more.length === 0
      ? toMessagesContent(first.content, translation.at('messages.0.content'))
      : instructions.flatMap(({ content }, at) => toBlocks(content, translation.at(`messages.${at}.content`)))
  return system.length === 0 ? undefined : system
}

function toTurns(
  messages: readonly ChatMessage[],
  from: number,
  translation: Translation,
): MessagesMessage[] {
  const turns: MessagesMessage[] = []
  /** Results of one turn have to stand together, or the later ones answer nothing. */
  let results: ContentBlock[] | null = null
  for (let at = from; at < messages.length; at++) {
    const message = messages[at]!
    const place = translation.at(`messages.${at}`)
    if (message.role === 'tool') {
      if (results === null) {
        results = []
        turns.push({ role: 'user', content: results })
      }
      results.push(toToolResult(message, place))
    } else {
      results = null
      const turn = toTurn(message, place)
      if (turn !== null) turns.push(turn)
    }
  }
  return turns
}

function toTurn(
  message: Exclude<ChatMessage, MessageOfRole<'tool'>>,
  translation: Translation,
): MessagesMessage | null {
  if (message.name !== undefined) translation.drop('messages.name')
  if (message.role === 'assistant') return toAssistantTurn(message, translation)
  const role = message.role === 'user' ? 'user' : 'system'
  return { role, content: toMessagesContent(message.content, translation.at('content')) }
}

function toToolResult(
  { tool_call_id, content }: MessageOfRole<'tool'>,
  translation: Translation,
): ContentBlock {
  // A result is marked as a whole: servers refuse a mark within one.
  const marked = typeof content === 'string' ? undefined : content.findLast((part) => part.cache_control)
  const told = typeof content === 'string' ? content : content.map(({ cache_control: _, ...part }) => part)
  return withoutUndefined({
    type: 'tool_result',
    tool_use_id: toToolUseId(tool_call_id),
    content: toMessagesContent(told, translation.at('content')),
    cache_control: marked?.cache_control,
  })
}

/** Null for a message that says nothing in this format, which does not take an empty one. */
function toAssistantTurn(
  message: MessageOfRole<'assistant'>,
  translation: Translation,
): MessagesMessage | null {
  const { content, refusal, tool_calls: calls = [], audio, images = [] } = message
  const spoken = nonEmptyText(audio?.transcript)
  if (audio !== undefined && spoken === undefined) translation.refuse('audio')
  if (images.length > 0) translation.refuse('images')
  const place = translation.at('content')
  refuseAssistantMedia(content, place)
  const thinking = toThinkingBlocks(message, translation)
  const rest: ContentBlock[] = [
    ...(spoken === undefined || content ? [] : [{ type: 'text', text: spoken }]),
    ...(refusal ? [{ type: 'text', text: refusal }] : []),
    ...calls.map((call, i) => toToolUse(call, translation.at(`tool_calls.${i}`))),
  ]
  if (thinking.length === 0 && rest.length === 0) {
    const said = toMessagesContent(content ?? '', place)
    return said.length === 0 ? null : { role: 'assistant', content: said }
  }
  return { role: 'assistant', content: [...thinking, ...toBlocks(content ?? '', place), ...rest] }
}

/** In this format pictures and documents come from users only. */
function refuseAssistantMedia(
  content: MessageOfRole<'assistant'>['content'],
  translation: Translation,
): void {
  if (typeof content === 'string' || content === null || content === undefined) return
  const other = content.findIndex(({ type }) => type !== 'text')
  if (other >= 0) translation.refuse(`${other}`, 'is of a kind that an assistant cannot send here')
}

function toToolUse(call: ToolCall, translation: Translation): ContentBlock {
  const { name, arguments: text } = call.function
  const input = text.trim() === '' ? {} : translation.parseObject('function.arguments', text)
  return withoutUndefined({ type: 'tool_use', id: toToolUseId(call.id), name, input })
}

/** The format takes letters, digits, underscores and hyphens; other characters become their code, so ids stay apart. */
function toToolUseId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, (letter) => `_${letter.charCodeAt(0).toString(16)}`)
}

// ── Content parts as blocks (contract/gateway 2.3 and 5.5) ─────────────────────

/** The text itself, or its parts as blocks. */
function toMessagesContent(
  content: string | readonly ContentPart[],
  translation: Translation,
): string | ContentBlock[] {
  return typeof content === 'string' ? content : toBlocks(content, translation)
}

/** Blocks of a text that has to stand among others; none for an empty one, which the format does not take. */
function toBlocks(content: string | readonly ContentPart[], translation: Translation): ContentBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((part, at) => toBlock(part, translation.at(at)) ?? [])
}

function toBlock(part: ContentPart, translation: Translation): ContentBlock | null {
  switch (part.type) {
    case 'text':
      return part.text === '' ? null : toTextBlock(part)
    case 'image_url':
      return toImageBlock(part, translation)
    case 'file':
      return toDocumentBlock(part, translation)
    default:
      return translation.refuse('', 'is of a kind that this provider cannot read')
  }
}

function toTextBlock({ text, cache_control }: TextPart): ContentBlock {
  return withoutUndefined({ type: 'text', text, cache_control })
}

const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp'])

function toImageBlock(
  { image_url: { url, detail = 'auto' }, cache_control }: ContentPart & { readonly type: 'image_url' },
  translation: Translation,
): ContentBlock {
  if (detail !== 'auto') translation.drop('messages.image_url.detail')
  const media = parseDataUrl(url)
  if (media === null) return withoutUndefined({ type: 'image', source: { type: 'url', url }, cache_control })
  const mediaType = media.mediaType === 'image/jpg' ? 'image/jpeg' : media.mediaType
  if (!PICTURES.has(mediaType)) {
    translation.refuse('image_url', 'must be a JPEG, PNG, GIF or WebP picture for this provider')
  }
  const source = { type: 'base64', media_type: mediaType, data: media.data }
  return withoutUndefined({ type: 'image', source, cache_control })
}

function toDocumentBlock(
  { file, cache_control }: ContentPart & { readonly type: 'file' },
  translation: Translation,
): ContentBlock {
  const { file_data: url, file_id: id, filename: title } = file
  // The id of a file means something to the provider that gave it, and that was another one.
  if (url === undefined || id !== undefined)
    translation.refuse('file.file_id', 'means nothing to this provider')
  return withoutUndefined({
    type: 'document',
    source: toDocumentSource(url, translation),
    title,
    cache_control,
  })
}

function toDocumentSource(url: string, translation: Translation): Readonly<Record<string, string>> {
  const media = parseDataUrl(url)
  if (media === null) return { type: 'url', url }
  const { mediaType, data } = media
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data }
  if (mediaType === 'text/plain') {
    return { type: 'text', media_type: mediaType, data: Buffer.from(data, 'base64').toString() }
  }
  return translation.refuse('file.file_data', 'must be a PDF or plain text for this provider')
}
