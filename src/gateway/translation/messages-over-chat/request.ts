/** A request of the messages format as one of chat (contract/gateway 5 and 2). */
import type { ChatRequest, FunctionTool, ResponseFormat, ToolChoice } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { MessagesRequest, MessagesTool } from '../../formats/messages.js'
import { callerToolFunction } from '../../formats/native-tools.js'
import type { ProviderCall } from '../../providers/port/provider.js'
import { type Translation, tierForChat, withoutUndefined } from '../translation.js'
import { toChatMessages } from './conversation.js'
import { toReasoningSettings } from './reasoning.js'

/** Throws the fault that refuses what cannot cross; names in `translation` what was left out. */
export function toChatRequest(
  { request, endpoint }: ProviderCall<MessagesRequest>,
  translation: Translation,
): ChatRequest {
  refuseUnsupported(request, translation)
  dropUnsupported(request, translation)
  const { tool_choice: choice, cache_control, service_tier, output_config, tools = [] } = request
  const limit = tokenLimitName(endpoint.supportedParameters)
  return withoutUndefined({
    model: request.model,
    messages: toChatMessages(request, translation),
    [limit]: request.max_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    top_k: request.top_k,
    stop: toStop(request.stop_sequences, translation),
    tools: tools.length === 0 ? undefined : toChatTools(tools, translation),
    tool_choice: tools.length === 0 ? undefined : toToolChoice(choice),
    parallel_tool_calls: tools.length > 0 && forbidsParallelCalls(choice) ? false : undefined,
    ...toReasoningSettings(request, translation),
    response_format: toResponseFormat(output_config?.format ?? null),
    cache_control: cache_control ?? undefined,
    service_tier: tierForChat(service_tier),
    stream: request.stream,
    user: request.user,
    extra: request.extra,
  }) as unknown as ChatRequest
}

/** What would be another answer without it, or one that was made where it must not be. */
const MESSAGES_ONLY = ['compaction', 'container', 'inference_geo', 'safeguards'] as const

function refuseUnsupported(request: MessagesRequest, translation: Translation): void {
  for (const name of MESSAGES_ONLY) if (request[name] != null) translation.refuse(name)
}

/** Older servers know `max_tokens` only, some newer ones refuse it; a configuration that lists just one decides. */
function tokenLimitName(supported: ReadonlySet<string> | undefined): 'max_tokens' | 'max_completion_tokens' {
  if (supported === undefined || supported.has('max_tokens')) return 'max_tokens'
  return supported.has('max_completion_tokens') ? 'max_completion_tokens' : 'max_tokens'
}

function dropUnsupported(
  { speed, context_management, output_config }: MessagesRequest,
  translation: Translation,
): void {
  if (speed === 'fast') translation.drop('speed')
  const edits = context_management?.edits
  if (Array.isArray(edits) && edits.length > 0) translation.drop('context_management')
  if (output_config?.task_budget) translation.drop('output_config.task_budget')
}

const MOST_STOPS = 4

function toStop(
  stops: readonly string[] | undefined,
  translation: Translation,
): readonly string[] | undefined {
  if (stops === undefined || stops.length === 0) return undefined
  if (stops.length > MOST_STOPS)
    translation.refuse('stop_sequences', `of more than ${MOST_STOPS} cannot be kept by this provider`)
  return stops
}

// ── Tools ───────────────────────────────────────────────────────────────────

/** Members of a tool that only say when and how it is loaded or called, each with the value that says nothing. */
function dropToolMembers(tool: MessagesTool, translation: Translation): void {
  if (tool.defer_loading === true) translation.drop('tools.defer_loading')
  if (Array.isArray(tool.input_examples) && tool.input_examples.length > 0)
    translation.drop('tools.input_examples')
  if (tool.eager_input_streaming === true) translation.drop('tools.eager_input_streaming')
}

function toChatTools(tools: readonly MessagesTool[], translation: Translation): readonly FunctionTool[] {
  return tools.map((tool, at) => {
    const { type, name, description, input_schema, strict, cache_control, allowed_callers: callers } = tool
    // The arguments of these the format fixes, so they are told to a model that may not know them.
    const known = callerToolFunction(type)
    if (known === null && type !== undefined && type !== null && type !== 'custom')
      translation.refuse(`tools.${at}.type`)
    // A tool that only the server's own code may call is none that the model could.
    if (Array.isArray(callers) && !callers.includes('direct'))
      translation.refuse(`tools.${at}.allowed_callers`)
    dropToolMembers(tool, translation)
    const called = withoutUndefined({
      name: String(name),
      description: known?.description ?? description,
      parameters: known?.parameters ?? input_schema,
      strict: typeof strict === 'boolean' ? strict : undefined,
    })
    return withoutUndefined({
      type: 'function' as const,
      function: called,
      cache_control: cache_control ?? undefined,
    })
  })
}

function toToolChoice(choice: MessagesRequest['tool_choice']): ToolChoice | undefined {
  if (choice === undefined) return undefined
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.type === 'any' ? 'required' : choice.type
}

function forbidsParallelCalls(choice: MessagesRequest['tool_choice']): boolean {
  return choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true
}

// ── Structured output ───────────────────────────────────────────────────────

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Chat wants a name, which the title of the schema is, where it can be one. */
function toResponseFormat(
  format: NonNullable<MessagesRequest['output_config']>['format'],
): ResponseFormat | undefined {
  if (format === undefined || format === null) return undefined
  const { title, description, ...rest } = format.schema
  const named = typeof title === 'string' && NAME.test(title)
  const schema = named ? rest : { ...(title === undefined ? {} : { title }), ...rest }
  return {
    type: 'json_schema',
    json_schema: withoutUndefined({
      name: named ? title : 'answer',
      description: nonEmptyText(description),
      schema,
      strict: true,
    }),
  }
}
