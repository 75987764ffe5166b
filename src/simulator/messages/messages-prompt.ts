/** What a simulated model reads of a messages request, in the words in which it plans every answer. */
import type {
  ChatMessage,
  ChatRequest,
  ChatTool,
  ContentPart,
  TextPart,
  ToolCall,
} from '../../gateway/formats/canonical.js'
import type {
  ContentBlock,
  MessagesMessage,
  MessagesRequest,
  MessagesTool,
} from '../../gateway/formats/messages.js'
import { nativeToolName } from '../../gateway/formats/native-tools.js'
import { UnsupportedRequest } from '../faults.js'

/**
 * The request to plan by. Nothing that decides about the answer is left out; the format itself is, so that an equal
 * request is answered alike however it is metered. `redacts` keeps the thinking from being shown. Throws an `UnsupportedRequest`.
 */
export function toChatRequest(request: MessagesRequest, redacts: boolean): ChatRequest {
  for (const name of UNSUPPORTED_MEMBERS)
    if (request[name] != null) throw new UnsupportedRequest(`${name} is not supported by this model`)
  const functions = toChatTools(request.tools ?? [])
  const messages = toChatMessages(request)
  const { output_config: output, temperature, stop_sequences: stops, cache_control } = request
  const format = output?.format
  return {
    messages,
    max_completion_tokens: request.max_tokens,
    ...(temperature !== undefined && { temperature }),
    ...(stops !== undefined && { stop: stops }),
    ...(cache_control && { cache_control }),
    ...(format && {
      response_format: { type: 'json_schema', json_schema: { name: 'output', schema: format.schema } },
    }),
    ...(functions.length > 0 && { tools: functions, ...toToolChoice(request) }),
    ...toReasoning(request, redacts),
  }
}

/** What would be another answer without it. */
const UNSUPPORTED_MEMBERS = ['compaction', 'container', 'inference_geo', 'safeguards'] as const

// ── Tools ───────────────────────────────────────────────────────────────────

/** Tools that the caller runs and whose arguments the format fixes. */
const KNOWN_TOOLS: readonly (readonly [kind: RegExp, parameters: Readonly<Record<string, unknown>>])[] = [
  [/^bash_\d{8}$/, objectSchemaOf('command')],
  [/^text_editor_\d{8}$/, objectSchemaOf('command', 'path')],
  [/^memory_\d{8}$/, objectSchemaOf('command', 'path')],
  [/^computer_\d{8}$/, objectSchemaOf('action')],
]

function objectSchemaOf(...names: readonly string[]): Readonly<Record<string, unknown>> {
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  return { type: 'object', properties, required: names, additionalProperties: false }
}

/** Tools that the gateway runs are left out: they come here only to be counted. */
function toChatTools(tools: readonly MessagesTool[]): readonly ChatTool[] {
  return tools.flatMap(({ type, name = '', description, input_schema }, at): ChatTool[] => {
    const kind = type ?? 'custom'
    if (nativeToolName(kind) !== null) return []
    const parameters = kind === 'custom' ? input_schema : KNOWN_TOOLS.find(([known]) => known.test(kind))?.[1]
    if (parameters === undefined)
      throw new UnsupportedRequest(`tools.${at}: this model runs no tool of type "${kind}"`)
    const told = typeof description === 'string' ? { description } : {}
    return [{ type: 'function', function: { name, ...told, parameters } }]
  })
}

function toToolChoice({ tool_choice: choice }: MessagesRequest): Partial<ChatRequest> {
  if (choice === undefined) return {}
  if (choice.type === 'none') return { tool_choice: 'none' }
  const several = choice.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}
  if (choice.type === 'tool')
    return { tool_choice: { type: 'function', function: { name: choice.name } }, ...several }
  return { tool_choice: choice.type === 'any' ? 'required' : 'auto', ...several }
}

// ── Thinking ────────────────────────────────────────────────────────────────

/** Whether thinking is billed and kept. */
export function isThinkingOmitted({ thinking }: MessagesRequest): boolean {
  return thinking !== undefined && 'display' in thinking && thinking.display === 'omitted'
}

function toReasoning(request: MessagesRequest, redacts: boolean): Partial<ChatRequest> {
  const { thinking, output_config: output } = request
  const exclude = redacts || isThinkingOmitted(request)
  if (thinking === undefined) return exclude ? { reasoning: { exclude } } : {}
  if (thinking.type === 'disabled') return { reasoning: { enabled: false } }
  if (thinking.type === 'enabled') {
    return { reasoning: { enabled: true, max_tokens: thinking.budget_tokens as number, exclude } }
  }
  return { reasoning: { enabled: true, effort: output?.effort ?? null, exclude } }
}

// ── Messages ────────────────────────────────────────────────────────────────

function toChatMessages({ system, messages }: MessagesRequest): ChatMessage[] {
  const read: ChatMessage[] = system === undefined ? [] : [{ role: 'system', content: toTextParts(system) }]
  for (const message of messages) addChatMessage(message, read)
  return read
}

function addChatMessage({ role, content }: MessagesMessage, read: ChatMessage[]): void {
  if (role === 'system') read.push({ role, content: toTextParts(content) })
  else if (typeof content === 'string') read.push({ role, content })
  else if (role === 'assistant') read.push(toAssistantMessage(content))
  else addUserMessage(content, read)
}

function toTextParts(content: string | readonly ContentBlock[]): string | readonly TextPart[] {
  return typeof content === 'string' ? content : content.map(toTextPart)
}

/** A text as it is, any other block as its JSON. */
function toTextPart(block: ContentBlock): TextPart {
  const text = block.type === 'text' ? (block.text as string) : JSON.stringify(block)
  return { type: 'text', text, ...(block.cache_control ? { cache_control: { type: 'ephemeral' } } : {}) }
}

function toAssistantMessage(content: readonly ContentBlock[]): ChatMessage {
  const parts: TextPart[] = []
  const calls: ToolCall[] = []
  for (const block of content) {
    if (block.type === 'tool_use') calls.push(toToolCall(block))
    // What was thought before counts for nothing, as with real models.
    else if (block.type !== 'thinking' && block.type !== 'redacted_thinking') parts.push(toTextPart(block))
  }
  return { role: 'assistant', content: parts, ...(calls.length > 0 && { tool_calls: calls }) }
}

function toToolCall({ id, name, input }: ContentBlock): ToolCall {
  return {
    id: id as string,
    type: 'function',
    function: { name: name as string, arguments: JSON.stringify(input ?? {}) },
  }
}

/**
 * The results of tools come last: what a caller adds beside them asks for no further call, and the loops of
 * clients end.
 */
function addUserMessage(content: readonly ContentBlock[], read: ChatMessage[]): void {
  const parts = content.filter(({ type }) => type !== 'tool_result').map(toContentPart)
  if (parts.length > 0 || content.length === 0) read.push({ role: 'user', content: parts })
  for (const block of content) {
    if (block.type !== 'tool_result') continue
    const said = (block.content ?? '') as string | readonly ContentBlock[]
    const result = typeof said === 'string' ? said : said.map(toContentPart)
    read.push({ role: 'tool', tool_call_id: block.tool_use_id as string, content: result })
  }
}

function toContentPart(block: ContentBlock): ContentPart {
  const data = mediaReferenceOf(block)
  if (data === undefined) return toTextPart(block)
  const cache = block.cache_control ? ({ cache_control: { type: 'ephemeral' } } as const) : {}
  if (block.type === 'image') return { type: 'image_url', image_url: { url: data }, ...cache }
  return { type: 'file', file: { file_data: data }, ...cache }
}

const MEMBER_OF_SOURCE: ReadonlyMap<string, string> = new Map([
  ['base64', 'data'],
  ['url', 'url'],
  ['file', 'file_id'],
])

/**
 * The data or the address of a medium; undefined for what is text. Only the member that the kind of the source has is
 * read: the schema has checked no other, and a caller may write anything there.
 */
function mediaReferenceOf({ type, source, file_id }: ContentBlock): string | undefined {
  if (type === 'container_upload') return file_id as string
  if (type !== 'image' && type !== 'document') return undefined
  const members = source as Readonly<Record<string, string>>
  const member = MEMBER_OF_SOURCE.get(members.type!)
  return member === undefined ? undefined : members[member]
}
