/** A chat request as one of the messages format (contract/gateway 2 and 5). */
import type { ChatRequest, FunctionTool, ResponseFormat, Tool } from '../../formats/canonical.js'
import type { MessagesRequest, MessagesTool, MessagesToolChoice, Thinking } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import type { ProviderCall } from '../../providers/port/provider.js'
import { type Crossing, compact } from '../crossing.js'
import { tierForMessages } from '../service-tiers.js'
import { conversationOf } from './conversation.js'
import { thinkingWishes } from './reasoning.js'

/** Where neither the caller nor the configuration limits the answer; this format has to be told a limit. */
export const DEFAULT_MAX_TOKENS = 8192

/** The wish to see what was sent goes along, for whoever sends it; it is no member of the format. */
type TranslatedRequest = MessagesRequest & Pick<ChatRequest, 'debug'>

/** Throws the fault that refuses what cannot cross; names in `crossing` what was left out. */
export function messagesRequestOf(
  { request, endpoint }: ProviderCall<ChatRequest>,
  crossing: Crossing,
): TranslatedRequest {
  refuseUnknown(request, crossing)
  loseUnknown(request, crossing)
  const { system, messages } = conversationOf(request.messages, crossing)
  const { thinking, effort } = thinkingWishes(request, crossing)
  const { stream, user, cache_control, service_tier, debug, tools } = request
  const format = formatOf(request.response_format, crossing)
  return compact({
    model: request.model ?? endpoint.upstreamModel,
    messages,
    max_tokens: limitOf(request, endpoint.maxCompletionTokens, thinking),
    system,
    ...samplingOf(request, thinking, crossing),
    stop_sequences: stopsOf(request.stop),
    tools: tools === undefined || tools.length === 0 ? undefined : toolsOf(tools, crossing),
    tool_choice: choiceOf(request, crossing),
    thinking,
    output_config: effort === undefined && format === undefined ? undefined : compact({ effort, format }),
    cache_control,
    service_tier: service_tier ? tierForMessages(service_tier) : undefined,
    stream,
    user,
    debug,
  }) as TranslatedRequest
}

/** What would be another answer without it. */
function refuseUnknown(request: ChatRequest, crossing: Crossing): void {
  const { logprobs, modalities = ['text'], web_search_options: search } = request
  if (logprobs === true) crossing.refuse('logprobs')
  if (modalities.some((modality) => modality !== 'text')) crossing.refuse('modalities')
  if (search !== undefined && search !== null) crossing.refuse('web_search_options')
}

/** Fields this format has no word for, each with the value that says nothing. */
const UNKNOWN = {
  top_a: 0,
  min_p: 0,
  frequency_penalty: 0,
  presence_penalty: 0,
  repetition_penalty: 1,
  seed: null,
  logit_bias: null,
  image_config: null,
  prediction: null,
  structured_outputs: false,
  prompt_cache_options: null,
  prompt_cache_key: null,
} as const satisfies { readonly [K in keyof ChatRequest]?: unknown }

function loseUnknown(request: ChatRequest, crossing: Crossing): void {
  for (const name in request) {
    if (!Object.hasOwn(UNKNOWN, name)) continue
    const value = request[name as keyof typeof UNKNOWN]
    if (value !== undefined && value !== null && value !== UNKNOWN[name as keyof typeof UNKNOWN]) {
      crossing.lose(name)
    }
  }
}

/** An answer has to have room beside the thinking. */
function limitOf(
  { max_tokens, max_completion_tokens }: ChatRequest,
  configured: number | null | undefined,
  thinking: Thinking | undefined,
): number {
  const asked = max_completion_tokens ?? max_tokens ?? configured ?? null
  if (asked !== null) return asked
  return DEFAULT_MAX_TOKENS + (thinking?.type === 'enabled' ? thinking.budget_tokens : 0)
}

// ── Sampling ────────────────────────────────────────────────────────────────

/** Beyond these servers refuse the whole request: while they think, they sample in their own way. */
const HOTTEST = 1
const LEAST_TOP_P_THINKING = 0.95

function samplingOf(request: ChatRequest, thinking: Thinking | undefined, crossing: Crossing): object {
  const thinks = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  let temperature = request.temperature ?? undefined
  let topP = request.top_p ?? undefined
  // 0 is chat's word for no limit.
  let topK = request.top_k || undefined
  if (temperature !== undefined && (temperature > HOTTEST || (thinks && temperature !== HOTTEST))) {
    crossing.lose('temperature')
    temperature = thinks ? undefined : HOTTEST
  }
  if (thinks && topP !== undefined && topP < LEAST_TOP_P_THINKING) {
    crossing.lose('top_p')
    topP = undefined
  }
  if (thinks && topK !== undefined) {
    crossing.lose('top_k')
    topK = undefined
  }
  return compact({ temperature, top_p: topP, top_k: topK })
}

function stopsOf(stop: ChatRequest['stop']): readonly string[] | undefined {
  if (typeof stop === 'string') return [stop]
  return stop === undefined || stop === null || stop.length === 0 ? undefined : stop
}

// ── Tools ───────────────────────────────────────────────────────────────────

function toolsOf(tools: readonly Tool[], crossing: Crossing): readonly MessagesTool[] {
  return tools.map((tool, at) => {
    if (tool.type !== 'function') crossing.refuse(`tools.${at}.type`)
    const { function: called, cache_control } = tool as FunctionTool
    const { name, description, parameters = {}, strict } = called
    // The format wants the type, which chat leaves to be understood.
    const input_schema = parameters.type === undefined ? { type: 'object', ...parameters } : parameters
    return compact({
      name,
      description,
      input_schema,
      strict: strict ?? undefined,
      cache_control,
    }) as MessagesTool
  })
}

function choiceOf(request: ChatRequest, crossing: Crossing): MessagesToolChoice | undefined {
  const { tool_choice: choice, parallel_tool_calls: parallel, tools = [] } = request
  if (tools.length === 0) return undefined
  const alone = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return parallel === false ? { type: 'auto', ...alone } : undefined
  if (choice === 'none') return { type: 'none' }
  if (choice === 'auto') return { type: 'auto', ...alone }
  if (choice === 'required') return { type: 'any', ...alone }
  if (choice.type !== 'function' || !('function' in choice)) return crossing.refuse('tool_choice')
  return { type: 'tool', name: choice.function.name, ...alone }
}

// ── Structured output ───────────────────────────────────────────────────────

type Format = NonNullable<NonNullable<MessagesRequest['output_config']>['format']>

/**
 * Name and description of a schema have no place of their own here; they are what JSON Schema calls the title and
 * the description, and stay where the model can read them.
 */
function formatOf(format: ResponseFormat | undefined, crossing: Crossing): Format | undefined {
  if (format === undefined || format.type === 'text') return undefined
  if (format.type !== 'json_schema' || !('json_schema' in format))
    return crossing.refuse('response_format.type')
  const { name, description, schema, strict } = format.json_schema
  if (schema === undefined)
    return crossing.refuse('response_format.json_schema.schema', 'is needed by this provider')
  // Here every schema is kept to the letter.
  if (strict === false) crossing.lose('response_format.json_schema.strict')
  const annotations = {
    ...(textOf(schema.title) === undefined ? { title: name } : {}),
    ...(schema.description === undefined && description !== undefined ? { description } : {}),
  }
  if (!('title' in annotations) && schema.title !== name) crossing.lose('response_format.json_schema.name')
  if (description !== undefined && schema.description !== undefined && schema.description !== description) {
    crossing.lose('response_format.json_schema.description')
  }
  return { type: 'json_schema', schema: { ...schema, ...annotations } }
}
