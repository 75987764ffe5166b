/** A request of the messages format as one of chat (contract/gateway 5 and 2). */
import type { ChatRequest, FunctionTool, ResponseFormat, ToolChoice } from '../../formats/canonical.js'
import type { MessagesRequest, MessagesTool } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import type { ProviderCall } from '../../providers/port/provider.js'
import { type Crossing, compact } from '../crossing.js'
import { tierForChat } from '../service-tiers.js'
import { conversationOf } from './conversation.js'
import { reasoningWishes } from './reasoning.js'

/** Throws the fault that refuses what cannot cross; names in `crossing` what was left out. */
export function chatRequestOf(
  { request, endpoint }: ProviderCall<MessagesRequest>,
  crossing: Crossing,
): ChatRequest {
  loseUnknown(request, crossing)
  const { tool_choice: choice, cache_control, service_tier, output_config, tools = [] } = request
  const limit = limitName(endpoint.supportedParameters)
  return compact({
    model: request.model,
    messages: conversationOf(request, crossing),
    [limit]: request.max_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    top_k: request.top_k,
    stop: stopsOf(request.stop_sequences, crossing),
    tools: tools.length === 0 ? undefined : toolsOf(tools, crossing),
    tool_choice: tools.length === 0 ? undefined : choiceOf(choice),
    parallel_tool_calls: tools.length > 0 && isAlone(choice) ? false : undefined,
    ...reasoningWishes(request, crossing),
    response_format: formatOf(output_config?.format ?? null),
    cache_control: cache_control ?? undefined,
    service_tier: service_tier ? tierForChat(service_tier) : undefined,
    stream: request.stream,
    user: request.user,
  }) as unknown as ChatRequest
}

/** Older servers know `max_tokens` only, some newer ones refuse it; a configuration that lists just one decides. */
function limitName(supported: ReadonlySet<string> | undefined): 'max_tokens' | 'max_completion_tokens' {
  if (supported === undefined || supported.has('max_tokens')) return 'max_tokens'
  return supported.has('max_completion_tokens') ? 'max_completion_tokens' : 'max_tokens'
}

function loseUnknown(
  { speed, context_management, output_config }: MessagesRequest,
  crossing: Crossing,
): void {
  if (speed === 'fast') crossing.lose('speed')
  const edits = context_management?.edits
  if (Array.isArray(edits) && edits.length > 0) crossing.lose('context_management')
  if (output_config?.task_budget) crossing.lose('output_config.task_budget')
}

const MOST_STOPS = 4

function stopsOf(stops: readonly string[] | undefined, crossing: Crossing): readonly string[] | undefined {
  if (stops === undefined || stops.length === 0) return undefined
  if (stops.length > MOST_STOPS)
    crossing.refuse('stop_sequences', `of more than ${MOST_STOPS} cannot be kept by this provider`)
  return stops
}

// ── Tools ───────────────────────────────────────────────────────────────────

/** Members of a tool that only say when and how it is loaded or called, each with the value that says nothing. */
function loseToolMembers(tool: MessagesTool, crossing: Crossing): void {
  if (tool.defer_loading === true) crossing.lose('tools.defer_loading')
  if (Array.isArray(tool.input_examples) && tool.input_examples.length > 0)
    crossing.lose('tools.input_examples')
  if (tool.eager_input_streaming === true) crossing.lose('tools.eager_input_streaming')
}

function toolsOf(tools: readonly MessagesTool[], crossing: Crossing): readonly FunctionTool[] {
  return tools.map((tool, at) => {
    const { type, name, description, input_schema, strict, cache_control, allowed_callers: callers } = tool
    if (type !== undefined && type !== null && type !== 'custom') crossing.refuse(`tools.${at}.type`)
    // A tool that only the server's own code may call is none that the model could.
    if (Array.isArray(callers) && !callers.includes('direct')) crossing.refuse(`tools.${at}.allowed_callers`)
    loseToolMembers(tool, crossing)
    const called = compact({
      name: String(name),
      description,
      parameters: input_schema,
      strict: typeof strict === 'boolean' ? strict : undefined,
    })
    return compact({ type: 'function' as const, function: called, cache_control: cache_control ?? undefined })
  })
}

function choiceOf(choice: MessagesRequest['tool_choice']): ToolChoice | undefined {
  if (choice === undefined) return undefined
  if (choice.type === 'tool') return { type: 'function', function: { name: choice.name } }
  return choice.type === 'any' ? 'required' : choice.type
}

function isAlone(choice: MessagesRequest['tool_choice']): boolean {
  return choice !== undefined && choice.type !== 'none' && choice.disable_parallel_tool_use === true
}

// ── Structured output ───────────────────────────────────────────────────────

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Chat wants a name, which the title of the schema is, where it can be one. */
function formatOf(
  format: NonNullable<MessagesRequest['output_config']>['format'],
): ResponseFormat | undefined {
  if (format === undefined || format === null) return undefined
  const { title, description, ...rest } = format.schema
  const named = typeof title === 'string' && NAME.test(title)
  const schema = named ? rest : { ...(title === undefined ? {} : { title }), ...rest }
  return {
    type: 'json_schema',
    json_schema: compact({
      name: named ? title : 'answer',
      description: textOf(description),
      schema,
      strict: true,
    }),
  }
}
