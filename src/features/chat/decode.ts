/** From the wire to the canonical request: rules that join fields, headers, and what is not passed on. */
import { Fault, ValidationIssue } from '../../base/fault.js'
import type { ChatRequest } from '../../gateway/formats/canonical.js'
import { STATE_MEMBERS } from '../../gateway/formats/extra-members.js'
import { asList, type JsonObject } from '../../gateway/formats/json-values.js'
import { type RequestedTool, serverToolName } from '../../gateway/formats/tooling.js'
import { readFileAnnotations } from '../../gateway/plugins/file-parser/parsed-files.js'
import {
  type BodyRule,
  bodyIssue,
  requireRules,
  routingContradiction,
  withoutMembers,
} from '../../inference-http/request-members.js'
import { NOTHING_ASKED, toolingMember, toolNamedTwice } from '../../inference-http/server-tools.js'
import { memberNames, sortMembers } from '../../inference-http/sort-members.js'
import { type ChatBody, chatMembers } from './schema.js'

/**
 * The canonical request of a validated body. Throws `invalid-input` for the first rule between fields that is
 * broken. What this version accepts because it changes nothing is gone; often that is nothing at all, and then
 * the answer is the body itself.
 * @param sessionId `x-session-id`, `''` when absent; a `session_id` in the body wins over it (contract/gateway 1.3)
 */
export function decodeChat(body: ChatBody, sessionId: string): ChatRequest {
  requireRules(body, RULES, sessionId)
  const fromHeader = sessionId !== '' && body.session_id === undefined
  const server = body.tools === undefined ? NO_TOOLS : requestedTools(body.tools)
  if (server.length > 0) requireToolsOnce(server)
  const sorted = pruneRequest(sortMembers(body, MEMBERS), server.length > 0)
  const asked = toolingMember(body, server)
  const request: DecodedChat =
    asked === NOTHING_ASKED ? sorted : { ...sorted, ...withParsedFiles(asked, body) }
  return (fromHeader ? { ...request, session_id: sessionId } : request) as ChatRequest
}

/** What an earlier answer has told of the files that it was asked about (contract/tools 4.2). */
function withParsedFiles(asked: Pick<ChatRequest, 'tooling'>, { messages }: ChatBody): typeof asked {
  if (asked.tooling === undefined) return asked
  const said = messages.flatMap((each) => (each.role === 'assistant' ? asList(each.annotations) : []))
  return said.length === 0 ? asked : { tooling: { ...asked.tooling, parsedFiles: readFileAnnotations(said) } }
}

const NO_TOOLS: readonly RequestedTool[] = Object.freeze([])

function requireToolsOnce(tools: readonly RequestedTool[]): void {
  const twice = toolNamedTwice(tools)
  if (twice !== null) throw new Fault('invalid-input', { issues: [twice] })
}

/** The tools that the gateway runs. A shorthand has its parameters beside its type as well. */
function requestedTools(tools: NonNullable<ChatBody['tools']>): readonly RequestedTool[] {
  return tools.flatMap((tool, at): RequestedTool[] => {
    const type = tool.type as string
    const name = serverToolName(type)
    if (name === null) return []
    const { type: _, parameters = {}, ...members } = tool as JsonObject & { readonly parameters?: JsonObject }
    return [{ name, parameters: { ...members, ...parameters }, type, place: ['tools', at], isNative: false }]
  })
}

/** The compiler compares the schema with the canonical request here; only the nulls of an echo are ours to remove. */
type DecodedChat = Omit<ChatRequest, 'messages'> & Pick<ChatBody, 'messages'>

/** Members that have been judged and say nothing to a provider. */
const SPENT_MEMBERS = [
  'plugins',
  'stop_server_tools_when',
  'max_tool_calls',
  'web_search_options',
  'transforms',
  'preset',
  'prompt',
  'n',
  'functions',
  'function_call',
  ...STATE_MEMBERS,
] as const

const MEMBERS = memberNames(chatMembers, SPENT_MEMBERS)

type SortedChat = Omit<ChatBody, (typeof SPENT_MEMBERS)[number]> & Pick<ChatRequest, 'extra'>

/**
 * Providers refuse an empty list of models or of tools, and a choice or an order of calls where there are no tools.
 * A schema beside `json_object` is the one of `json_schema`, which more providers read.
 */
function pruneRequest(sorted: SortedChat, hasServerTools: boolean): DecodedChat {
  let request = hasServerTools ? withoutServerTools(sorted) : sorted
  if (request.models?.length === 0) request = withoutMembers(request, ['models'])
  if (typeof request.structured_outputs === 'object') request = renameStructuredOutputs(request)
  if (request.modalities === null) request = withoutMembers(request, ['modalities'])
  if (request.stream === null) request = withoutMembers(request, ['stream'])
  if (request.metadata === null) request = withoutMembers(request, ['metadata'])
  if (!request.tools?.length && !hasServerTools && hasToolMembers(request))
    request = withoutMembers(request, TOOL_MEMBERS)
  const format = request.response_format
  if (format?.type === 'json_object' && format.schema !== undefined) {
    const { schema } = format
    request = {
      ...request,
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } },
    }
  }
  if (!request.messages.some(hasNullMember)) return request as DecodedChat
  return { ...request, messages: request.messages.map(withoutNulls) } as DecodedChat
}

/** Functions of the caller alone; a tool that is chosen goes by its neutral name. */
function withoutServerTools(request: SortedChat): SortedChat {
  const { tools = [], tool_choice: choice, ...rest } = request
  const own = tools.filter(({ type }) => serverToolName(type as string) === null)
  const chosen = typeof choice === 'object' ? serverToolName(choice.type) : null
  const tool_choice = chosen === null ? choice : { type: `service:${chosen}` }
  return {
    ...rest,
    ...(own.length > 0 && { tools: own }),
    ...(tool_choice !== undefined && { tool_choice }),
  }
}

/** A flag speaks to the gateway; an object of this name is a member that vLLM takes. */
function renameStructuredOutputs(request: SortedChat): SortedChat {
  const { structured_outputs, ...rest } = request
  if (structured_outputs === null) return rest
  return { ...rest, extra: { ...request.extra, structured_outputs } }
}

const TOOL_MEMBERS = ['tools', 'tool_choice', 'parallel_tool_calls'] as const

function hasToolMembers({ tools, tool_choice, parallel_tool_calls }: SortedChat): boolean {
  return tools !== undefined || tool_choice !== undefined || parallel_tool_calls !== undefined
}

type BodyMessage = ChatBody['messages'][number]

const ECHOED_MEMBERS = ['tool_calls', 'audio', 'images', 'reasoning_details'] as const

function hasNullMember(message: BodyMessage): boolean {
  if (message.role !== 'assistant') return false
  if (message.tool_calls === null || message.audio === null || message.images === null) return true
  return message.reasoning_details === null || message.annotations !== undefined
}

/** In an echoed answer null stands for what it did not have; providers want it left out. */
function withoutNulls(message: BodyMessage): BodyMessage {
  if (message.role !== 'assistant') return message
  const names = ECHOED_MEMBERS.filter((name) => message[name] === null)
  return withoutMembers(message, [...names, 'annotations'])
}

// ── Rules that join fields (contract/decisions 8 to 10 and 34) ─────────────────

const RULES: readonly BodyRule<ChatBody>[] = [
  modelIsNamed,
  everyResultAnswersACall,
  everyAssistantSaysSomething,
  effortsAgree,
  effortOrBudget,
  alternativesNeedLogprobs,
  choiceIsATool,
  echoNeedsAStream,
  routingContradiction,
]

/** A router names one itself. */
function modelIsNamed({ model, models, plugins = [] }: ChatBody): ValidationIssue | null {
  if (model !== undefined || (models !== undefined && models.length > 0)) return null
  const isRouter = (plugin: { readonly id: string; readonly enabled?: boolean }): boolean =>
    plugin.id.endsWith('-router') && plugin.enabled !== false
  if (plugins.some(isRouter)) return null
  return new ValidationIssue(['body', 'model'], 'missing')
}

function everyResultAnswersACall({ messages }: ChatBody): ValidationIssue | null {
  let calls: Set<string> | undefined
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'assistant' && message.tool_calls) {
      calls ??= new Set()
      for (const { id } of message.tool_calls) calls.add(id)
    } else if (message.role === 'tool' && calls?.has(message.tool_call_id) !== true) {
      return bodyIssue(['messages', at, 'tool_call_id'], 'answers no call of an earlier assistant message')
    }
  }
  return null
}

/** Content may only be left out where something else was said: a call, a refusal, audio, pictures, reasoning. */
function everyAssistantSaysSomething({ messages }: ChatBody): ValidationIssue | null {
  for (let at = 0; at < messages.length; at++) {
    const said = messages[at]!
    if (said.role !== 'assistant' || said.content !== undefined) continue
    const { tool_calls, refusal, audio, images, reasoning, reasoning_details } = said
    const rest = tool_calls ?? refusal ?? audio ?? images ?? reasoning ?? reasoning_details ?? null
    if (rest === null) return new ValidationIssue(['body', 'messages', at, 'content'], 'missing')
  }
  return null
}

function effortsAgree({ reasoning, reasoning_effort: short }: ChatBody): ValidationIssue | null {
  const long = reasoning?.effort
  if (short == null || long == null || short === long) return null
  return bodyIssue(['reasoning_effort'], 'must not differ from reasoning.effort')
}

function effortOrBudget({ reasoning, reasoning_effort: short }: ChatBody): ValidationIssue | null {
  if (reasoning?.max_tokens == null || (reasoning.effort ?? short ?? null) === null) return null
  return bodyIssue(['reasoning', 'max_tokens'], 'cannot be combined with an effort')
}

function alternativesNeedLogprobs({ logprobs, top_logprobs }: ChatBody): ValidationIssue | null {
  if (top_logprobs == null || logprobs === true) return null
  return bodyIssue(['top_logprobs'], 'needs logprobs: true')
}

function choiceIsATool({ tools = [], tool_choice: choice }: ChatBody): ValidationIssue | null {
  if (choice === undefined || choice === 'none' || choice === 'auto') return null
  if (choice === 'required') return tools.length > 0 ? null : bodyIssue(['tool_choice'], 'needs tools')
  if (choice.type !== 'function') {
    const chosen = serverToolName(choice.type)
    if (chosen !== null && tools.some(({ type }) => serverToolName(type as string) === chosen)) return null
    return bodyIssue(['tool_choice', 'type'], 'is none of the tools in tools')
  }
  for (const tool of tools) if (functionName(tool) === choice.function?.name) return null
  return bodyIssue(['tool_choice', 'function', 'name'], 'is none of the functions in tools')
}

function functionName(tool: object): string | undefined {
  return (tool as { function?: { name: string } }).function?.name
}

function echoNeedsAStream({ debug, stream }: ChatBody): ValidationIssue | null {
  if (debug?.echo_upstream_body !== true || stream === true) return null
  return bodyIssue(['debug', 'echo_upstream_body'], 'needs stream: true')
}
