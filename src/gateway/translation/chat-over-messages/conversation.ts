/** Messages of chat as those of the messages format (contract/gateway 2.2 and 5.1). */
import type { Message, ToolCall } from '../../formats/canonical.js'
import type { Block, MessagesMessage } from '../../formats/messages.js'
import { objectOf, parsed } from '../../formats/shape.js'
import { type Crossing, compact } from '../crossing.js'
import { blocksOf, contentOf } from './content.js'
import { thinkingBlocks } from './reasoning.js'

interface Conversation {
  /** Undefined when there is nothing to say. */
  readonly system: string | readonly Block[] | undefined
  readonly messages: readonly MessagesMessage[]
}

type Of<R extends Message['role']> = Message & { readonly role: R }

/** Instructions at the head become the system prompt, later ones stay where they are. */
export function conversationOf(messages: readonly Message[], crossing: Crossing): Conversation {
  let at = 0
  while (at < messages.length && isInstruction(messages[at]!)) at++
  return {
    system: systemOf(messages.slice(0, at) as readonly Of<'system' | 'developer'>[], crossing),
    messages: turnsOf(messages, at, crossing),
  }
}

function isInstruction({ role }: Message): boolean {
  return role === 'system' || role === 'developer'
}

function systemOf(
  instructions: readonly Of<'system' | 'developer'>[],
  crossing: Crossing,
): string | readonly Block[] | undefined {
  for (const { name } of instructions) if (name !== undefined) crossing.lose('messages.name')
  const [first, ...more] = instructions
  if (first === undefined) return undefined
  const system =
    more.length === 0
      ? contentOf(first.content, 'messages.0.content', crossing)
      : instructions.flatMap(({ content }, at) => blocksOf(content, `messages.${at}.content`, crossing))
  return system.length === 0 ? undefined : system
}

function turnsOf(messages: readonly Message[], from: number, crossing: Crossing): MessagesMessage[] {
  const turns: MessagesMessage[] = []
  for (let at = from; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool') {
      // The results of one turn have to stand together, or the later ones answer nothing.
      const results: Block[] = []
      for (; messages[at]?.role === 'tool'; at++) {
        results.push(resultOf(messages[at] as Of<'tool'>, at, crossing))
      }
      at--
      turns.push({ role: 'user', content: results })
    } else {
      const turn = turnOf(message, at, crossing)
      if (turn !== null) turns.push(turn)
    }
  }
  return turns
}

function turnOf(
  message: Exclude<Message, Of<'tool'>>,
  at: number,
  crossing: Crossing,
): MessagesMessage | null {
  if (message.name !== undefined) crossing.lose('messages.name')
  if (message.role === 'assistant') return assistantOf(message, at, crossing)
  const role = message.role === 'user' ? 'user' : 'system'
  return { role, content: contentOf(message.content, `messages.${at}.content`, crossing) }
}

function resultOf({ tool_call_id, content }: Of<'tool'>, at: number, crossing: Crossing): Block {
  return {
    type: 'tool_result',
    tool_use_id: idOf(tool_call_id),
    content: contentOf(content, `messages.${at}.content`, crossing),
  }
}

/** Null for a message that says nothing in this format, which does not take an empty one. */
function assistantOf(message: Of<'assistant'>, at: number, crossing: Crossing): MessagesMessage | null {
  const path = `messages.${at}`
  const { content, refusal, tool_calls: calls = [], audio, images = [] } = message
  if (audio !== undefined) crossing.refuse(`${path}.audio`)
  if (images.length > 0) crossing.refuse(`${path}.images`)
  refuseMedia(content, `${path}.content`, crossing)
  const thinking = thinkingBlocks(message, crossing)
  const rest: Block[] = [
    ...(refusal ? [{ type: 'text', text: refusal }] : []),
    ...calls.map((call, i) => toolUseOf(call, `${path}.tool_calls.${i}`, crossing)),
  ]
  if (thinking.length === 0 && rest.length === 0) {
    const said = contentOf(content ?? '', `${path}.content`, crossing)
    return said.length === 0 ? null : { role: 'assistant', content: said }
  }
  return {
    role: 'assistant',
    content: [...thinking, ...blocksOf(content ?? '', `${path}.content`, crossing), ...rest],
  }
}

/** In this format pictures and documents come from users only. */
function refuseMedia(content: Of<'assistant'>['content'], path: string, crossing: Crossing): void {
  if (typeof content === 'string' || content === null || content === undefined) return
  const other = content.findIndex(({ type }) => type !== 'text')
  if (other >= 0) crossing.refuse(`${path}.${other}`, 'is of a kind that an assistant cannot send here')
}

function toolUseOf(call: ToolCall, path: string, crossing: Crossing): Block {
  const { name, arguments: text } = call.function
  const input = text.trim() === '' ? {} : objectOf(parsed(text))
  if (input === null) crossing.refuse(`${path}.function.arguments`, 'must be a JSON object for this provider')
  return compact({ type: 'tool_use', id: idOf(call.id), name, input })
}

/** The format takes letters, digits, underscores and hyphens; other characters become their code, so ids stay apart. */
function idOf(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, (letter) => `_${letter.charCodeAt(0).toString(16)}`)
}
