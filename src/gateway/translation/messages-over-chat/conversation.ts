/** Messages of the messages format as those of chat (contract/gateway 5.1, 5.5 and 2.2). */
import type { ContentPart, Message, ReasoningDetail, TextPart, ToolCall } from '../../formats/canonical.js'
import type { Block, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import type { Crossing } from '../crossing.js'
import { contentOf, partOf, partsOf } from './content.js'
import { detailOf } from './reasoning.js'

export function conversationOf({ system, messages }: MessagesRequest, crossing: Crossing): Message[] {
  const said: Message[] = []
  if (system !== undefined && system.length > 0) {
    said.push({ role: 'system', content: instructionOf(system, 'system', crossing) })
  }
  messages.forEach((message, at) => {
    for (const name of UNKNOWN) if ((message[name] ?? null) !== null) crossing.lose(`messages.${name}`)
    add(said, message, `messages.${at}.content`, crossing)
  })
  return said
}

/** Wishes of a single message, for which chat has no place. */
const UNKNOWN = ['clear_at', 'output_config'] as const

function add(said: Message[], { role, content }: MessagesMessage, path: string, crossing: Crossing): void {
  if (role === 'system') said.push({ role, content: instructionOf(content, path, crossing) })
  else if (role === 'assistant') said.push(assistantOf(content, path, crossing))
  else if (typeof content === 'string') said.push({ role, content })
  else addUser(said, content, path, crossing)
}

function instructionOf(
  content: string | readonly Block[],
  path: string,
  crossing: Crossing,
): string | readonly TextPart[] {
  if (typeof content === 'string') return content
  const other = content.findIndex(({ type }) => type !== 'text')
  if (other >= 0) crossing.refuse(`${path}.${other}`, 'is of a kind that cannot be an instruction here')
  return partsOf(content, path, crossing) as TextPart[]
}

/** Results are messages of their own in chat, and what stands beside them follows them. */
function addUser(said: Message[], blocks: readonly Block[], path: string, crossing: Crossing): void {
  const rest: ContentPart[] = []
  blocks.forEach((block, at) => {
    if (block.type === 'tool_result') said.push(resultOf(block, `${path}.${at}`, crossing))
    else rest.push(partOf(block, `${path}.${at}`, crossing))
  })
  if (rest.length > 0 || blocks.length === 0) said.push({ role: 'user', content: rest })
}

/** Chat cannot mark a result as an error, so the text says it: a model that takes it for a success goes astray. */
const FAILED = '[tool error]'

function resultOf(block: Block, path: string, crossing: Crossing): Message {
  const { tool_use_id, content, is_error, cache_control } = block
  if (cache_control !== undefined && cache_control !== null)
    crossing.lose('messages.tool_result.cache_control')
  const told = contentOf(content, `${path}.content`, crossing)
  return {
    role: 'tool',
    content: is_error === true ? marked(told) : told,
    tool_call_id: String(tool_use_id),
  }
}

function marked(content: string | readonly ContentPart[]): string | readonly ContentPart[] {
  if (typeof content === 'string') return content === '' ? FAILED : `${FAILED} ${content}`
  return [{ type: 'text', text: FAILED }, ...content]
}

// ── The assistant ───────────────────────────────────────────────────────────

function assistantOf(content: string | readonly Block[], path: string, crossing: Crossing): Message {
  if (typeof content === 'string') return { role: 'assistant', content }
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  const parts: ContentPart[] = []
  let reasoning = ''
  content.forEach((block, at) => {
    const detail = detailOf(block, details.length)
    if (detail !== null) {
      details.push(detail)
      reasoning += textOf(block.thinking) ?? ''
    } else if (block.type === 'tool_use') calls.push(callOf(block, crossing))
    else parts.push(partOf(block, `${path}.${at}`, crossing))
  })
  const alone = details.length === 0 && calls.length === 0
  return {
    role: 'assistant',
    content: alone ? parts : simplest(parts),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/** One text beside calls or thinking is how chat says it; nothing said is null. */
function simplest(parts: readonly ContentPart[]): string | readonly ContentPart[] | null {
  const [first] = parts
  if (first === undefined) return null
  const plain = parts.length === 1 && first.type === 'text' && first.cache_control === undefined
  return plain ? first.text : parts
}

function callOf({ id, name, input, cache_control }: Block, crossing: Crossing): ToolCall {
  if (cache_control !== undefined && cache_control !== null) crossing.lose('messages.tool_use.cache_control')
  return {
    id: String(id),
    type: 'function',
    function: { name: String(name), arguments: JSON.stringify(input ?? {}) },
  }
}
