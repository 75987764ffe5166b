/** The request of a model beneath a tool: what it takes from the tool's parameters, and whom the request around it is for. */
import type { ChatMessage, ChatRequest, ReasoningEffort } from '../../formats/canonical.js'
import { asObject, type JsonObject, objectsIn } from '../../formats/json-values.js'
import { type RequestedTool, serverToolName, type Tooling } from '../../formats/tooling.js'
import type { ToolRefusal } from '../port/tool.js'

/** Parameters that advisor, subagent and fusion share (contract/gateway 2.4); checked by their schemas. */
export interface InnerParameters {
  readonly model?: string
  readonly instructions?: string
  readonly max_completion_tokens?: number
  readonly max_tool_calls?: number
  readonly temperature?: number
  readonly reasoning?: { readonly effort?: ReasoningEffort; readonly max_tokens?: number }
  readonly tools?: readonly JsonObject[]
  readonly cache_control?: ChatRequest['cache_control']
}

/**
 * Where the parameters of a tool, by its neutral name, break their shape; null where they do not. Those of tools beneath
 * a tool are checked when that tool is readied.
 */
export type InnerParametersFault = (name: string, parameters: unknown) => readonly (string | number)[] | null

/** Why inner tools cannot be had: they have to be tools that run here, and no tool is beneath itself. */
export function refuseInnerTools(
  own: string,
  { tools }: InnerParameters,
  faultIn: InnerParametersFault,
): ToolRefusal | null {
  for (const [at, { type, parameters = {} }] of (tools ?? []).entries()) {
    const member = ['parameters', 'tools', at]
    const refuse = (refused: string, more: ToolRefusal['member']) => ({
      refused,
      member: [...member, ...more!],
    })
    const name = serverToolName(String(type))
    if (name === null) return refuse('must be a server tool: nobody could answer a call of another', ['type'])
    if (name === own) return refuse('is the tool itself, which may not be beneath itself', ['type'])
    const fault = faultIn(name, parameters)
    if (fault !== null) return refuse('is not what the tool takes', ['parameters', ...fault])
  }
  return null
}

/** The model of the request around it. */
export function outerModel({ model, models }: ChatRequest): string {
  return model ?? models?.[0] ?? ''
}

export function innerRequest(
  parameters: InnerParameters,
  outer: ChatRequest,
  own: { readonly model: string; readonly messages: readonly ChatMessage[]; readonly mostToolCalls: number },
): ChatRequest {
  const { instructions, max_completion_tokens, temperature, reasoning, max_tool_calls, cache_control } =
    parameters
  const { user, account, trace } = outer
  const tools = innerTools(parameters)
  const system: ChatMessage[] = instructions === undefined ? [] : [{ role: 'system', content: instructions }]
  return {
    model: own.model,
    messages: [...system, ...own.messages],
    ...(user !== undefined && { user }),
    ...(account !== undefined && { account }),
    ...(trace !== undefined && { trace }),
    ...(max_completion_tokens !== undefined && { max_completion_tokens }),
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning }),
    ...(cache_control !== undefined && { cache_control }),
    ...(tools.length > 0 && { tooling: innerTooling(tools, max_tool_calls ?? own.mostToolCalls) }),
  }
}

function innerTools({ tools }: InnerParameters): readonly RequestedTool[] {
  return (tools ?? []).flatMap(({ type, parameters }, at): RequestedTool[] => {
    const name = serverToolName(String(type))
    const place = ['tools', at]
    const given = asObject(parameters) ?? {}
    return name === null ? [] : [{ name, parameters: given, type: String(type), place, isNative: false }]
  })
}

function innerTooling(tools: readonly RequestedTool[], maxToolCalls: number): Tooling {
  return { tools, plugins: [], disabled: [], stopWhen: null, maxToolCalls }
}

/**
 * The conversation as another model can read it, which has none of its tools: calls and results are told as text, the
 * rest stays as it is. What was said to the first model as its instructions stays with it.
 */
export function tellConversation({ messages }: ChatRequest): readonly ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    switch (message.role) {
      case 'user':
        return [message]
      case 'tool':
        return [{ role: 'user', content: `[Result of ${message.tool_call_id}]\n${textOf(message.content)}` }]
      case 'assistant':
        return tellAnswer(message)
      default:
        return []
    }
  })
}

function tellAnswer({ content, tool_calls }: Extract<ChatMessage, { role: 'assistant' }>): ChatMessage[] {
  const calls = (tool_calls ?? []).map(
    ({ id, function: { name, arguments: args } }) => `[Call ${id}: ${name} ${args}]`,
  )
  const text = [textOf(content), ...calls].filter((part) => part !== '').join('\n')
  return text === '' ? [] : [{ role: 'assistant', content: text }]
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsIn(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}
