/** Messages of chat as those of the messages format (contract/gateway 2.2 and 5.1). */
import type { ChatMessage, ToolCall } from '../../formats/canonical.js'
import { asObject, parseJson } from '../../formats/json-values.js'
import type { ContentBlock, MessagesMessage } from '../../formats/messages.js'
import { type Translation, withoutUndefined } from '../translation.js'
import { toBlocks, toMessagesContent } from './content.js'
import { toThinkingBlocks } from './reasoning.js'

interface MessagesConversation {
  /** Undefined when there is nothing to say. */
  readonly system: string | readonly ContentBlock[] | undefined
  readonly messages: readonly MessagesMessage[]
}

type MessageOfRole<R extends ChatMessage['role']> = ChatMessage & { readonly role: R }

/** Instructions at the head become the system prompt, later ones stay where they are. */
export function toMessagesConversation(
  messages: readonly ChatMessage[],
  translation: Translation,
): MessagesConversation {
  let at = 0
  while (at < messages.length && isInstruction(messages[at]!)) at++
  return {
    system: toSystemPrompt(
      messages.slice(0, at) as readonly MessageOfRole<'system' | 'developer'>[],
      translation,
    ),
    messages: toTurns(messages, at, translation),
  }
}

function isInstruction({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer'
}

function toSystemPrompt(
  instructions: readonly MessageOfRole<'system' | 'developer'>[],
  translation: Translation,
): string | readonly ContentBlock[] | undefined {
  for (const { name } of instructions) if (name !== undefined) translation.drop('messages.name')
  const [first, ...more] = instructions
  if (first === undefined) return undefined
  const system =
    more.length === 0
      ? toMessagesContent(first.content, 'messages.0.content', translation)
      : instructions.flatMap(({ content }, at) => toBlocks(content, `messages.${at}.content`, translation))
  return system.length === 0 ? undefined : system
}

function toTurns(
  messages: readonly ChatMessage[],
  from: number,
  translation: Translation,
): MessagesMessage[] {
  const turns: MessagesMessage[] = []
  for (let at = from; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool') {
      // The results of one turn have to stand together, or the later ones answer nothing.
      const results: ContentBlock[] = []
      for (; messages[at]?.role === 'tool'; at++) {
        results.push(toToolResult(messages[at] as MessageOfRole<'tool'>, at, translation))
      }
      at--
      turns.push({ role: 'user', content: results })
    } else {
      const turn = toTurn(message, at, translation)
      if (turn !== null) turns.push(turn)
    }
  }
  return turns
}

function toTurn(
  message: Exclude<ChatMessage, MessageOfRole<'tool'>>,
  at: number,
  translation: Translation,
): MessagesMessage | null {
  if (message.name !== undefined) translation.drop('messages.name')
  if (message.role === 'assistant') return toAssistantTurn(message, at, translation)
  const role = message.role === 'user' ? 'user' : 'system'
  return { role, content: toMessagesContent(message.content, `messages.${at}.content`, translation) }
}

function toToolResult(
  { tool_call_id, content }: MessageOfRole<'tool'>,
  at: number,
  translation: Translation,
): ContentBlock {
  return {
    type: 'tool_result',
    tool_use_id: toToolUseId(tool_call_id),
    content: toMessagesContent(content, `messages.${at}.content`, translation),
  }
}

/** Null for a message that says nothing in this format, which does not take an empty one. */
function toAssistantTurn(
  message: MessageOfRole<'assistant'>,
  at: number,
  translation: Translation,
): MessagesMessage | null {
  const path = `messages.${at}`
  const { content, refusal, tool_calls: calls = [], audio, images = [] } = message
  if (audio !== undefined) translation.refuse(`${path}.audio`)
  if (images.length > 0) translation.refuse(`${path}.images`)
  refuseAssistantMedia(content, `${path}.content`, translation)
  const thinking = toThinkingBlocks(message, translation)
  const rest: ContentBlock[] = [
    ...(refusal ? [{ type: 'text', text: refusal }] : []),
    ...calls.map((call, i) => toToolUse(call, `${path}.tool_calls.${i}`, translation)),
  ]
  if (thinking.length === 0 && rest.length === 0) {
    const said = toMessagesContent(content ?? '', `${path}.content`, translation)
    return said.length === 0 ? null : { role: 'assistant', content: said }
  }
  return {
    role: 'assistant',
    content: [...thinking, ...toBlocks(content ?? '', `${path}.content`, translation), ...rest],
  }
}

/** In this format pictures and documents come from users only. */
function refuseAssistantMedia(
  content: MessageOfRole<'assistant'>['content'],
  path: string,
  translation: Translation,
): void {
  if (typeof content === 'string' || content === null || content === undefined) return
  const other = content.findIndex(({ type }) => type !== 'text')
  if (other >= 0) translation.refuse(`${path}.${other}`, 'is of a kind that an assistant cannot send here')
}

function toToolUse(call: ToolCall, path: string, translation: Translation): ContentBlock {
  const { name, arguments: text } = call.function
  const input = text.trim() === '' ? {} : asObject(parseJson(text))
  if (input === null)
    translation.refuse(`${path}.function.arguments`, 'must be a JSON object for this provider')
  return withoutUndefined({ type: 'tool_use', id: toToolUseId(call.id), name, input })
}

/** The format takes letters, digits, underscores and hyphens; other characters become their code, so ids stay apart. */
function toToolUseId(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, (letter) => `_${letter.charCodeAt(0).toString(16)}`)
}
