/** A chat request as one of the messages format (contract/gateway 2 and 5). */
import type { ChatRequest, ChatTool, FunctionTool, ResponseFormat } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type {
  MessagesRequest,
  MessagesTool,
  MessagesToolChoice,
  ThinkingConfig,
} from '../../formats/messages.js'
import type { ProviderCall } from '../../providers/port/provider.js'
import { type Translation, tierForMessages, withoutUndefined } from '../translation.js'
import { toRequestMark, withCacheControls } from './cache-marks.js'
import { toMessagesConversation } from './conversation.js'
import { toThinkingSettings } from './reasoning.js'

/** Where neither the caller nor the configuration limits the answer; this format has to be told a limit. */
export const DEFAULT_MAX_TOKENS = 8192

/** `debug` is no member of the format: the provider that sends the request reads the wish to see its body. */
type TranslatedRequest = MessagesRequest & Pick<ChatRequest, 'debug'>

/** Throws the fault that refuses what cannot cross; names in `translation` what was left out. */
export function toMessagesRequest(
  { request, endpoint }: ProviderCall<ChatRequest>,
  translation: Translation,
): TranslatedRequest {
  refuseUnsupported(request, translation)
  dropUnsupported(request, translation)
  const { system, messages } = toMessagesConversation(withCacheControls(request, translation), translation)
  const { thinking, effort } = toThinkingSettings(request, translation)
  const { stream, user, service_tier, debug, tools } = request
  const format = toJsonSchemaFormat(request.response_format, translation)
  return withoutUndefined({
    model: request.model ?? endpoint.upstreamModel,
    messages,
    max_tokens: maxTokensFor(request, endpoint.maxCompletionTokens, thinking),
    system: request.response_format?.type === 'json_object' ? inJson(system, translation) : system,
    ...toSampling(request, thinking, translation),
    stop_sequences: toStopSequences(request.stop),
    tools: tools === undefined || tools.length === 0 ? undefined : toMessagesTools(tools, translation),
    tool_choice: toToolChoice(request, translation),
    thinking,
    output_config:
      effort === undefined && format === undefined ? undefined : withoutUndefined({ effort, format }),
    cache_control: toRequestMark(request, translation),
    service_tier: tierForMessages(service_tier),
    stream,
    user,
    debug,
    extra: request.extra,
  }) as TranslatedRequest
}

/** What would be another answer without it. */
function refuseUnsupported(request: ChatRequest, translation: Translation): void {
  const { logprobs, modalities = ['text'] } = request
  if (logprobs === true) translation.refuse('logprobs')
  if (modalities.some((modality) => modality !== 'text')) translation.refuse('modalities')
}

/** Fields this format has no word for, each with the value that says nothing. */
const UNSUPPORTED_FIELDS = {
  top_a: 0,
  min_p: 0,
  frequency_penalty: 0,
  presence_penalty: 0,
  repetition_penalty: 1,
  seed: null,
  logit_bias: null,
  image_config: null,
  audio: null,
  prediction: null,
  prompt_cache_key: null,
} as const satisfies { readonly [K in keyof ChatRequest]?: unknown }
const HARMLESS_VALUES: ReadonlyMap<string, unknown> = new Map(Object.entries(UNSUPPORTED_FIELDS))

function dropUnsupported(request: ChatRequest, translation: Translation): void {
  for (const [name, value] of Object.entries(request)) {
    const says = value !== undefined && value !== null && value !== HARMLESS_VALUES.get(name)
    if (says && HARMLESS_VALUES.has(name)) translation.drop(name)
  }
}

/** An answer has to have room beside the thinking. */
function maxTokensFor(
  { max_tokens, max_completion_tokens }: ChatRequest,
  configured: number | null | undefined,
  thinking: ThinkingConfig | undefined,
): number {
  const asked = max_completion_tokens ?? max_tokens ?? configured ?? null
  if (asked !== null) return asked
  return DEFAULT_MAX_TOKENS + (thinking?.type === 'enabled' ? thinking.budget_tokens : 0)
}

// ── Sampling ────────────────────────────────────────────────────────────────

/** Beyond these servers refuse the whole request: while they think, they sample in their own way. */
const MAX_TEMPERATURE = 1
const MIN_TOP_P_THINKING = 0.95

function toSampling(
  request: ChatRequest,
  thinking: ThinkingConfig | undefined,
  translation: Translation,
): object {
  const thinks = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  let temperature = request.temperature ?? undefined
  let topP = request.top_p ?? undefined
  // 0 is chat's word for no limit, and -1 that of many servers.
  let topK = (request.top_k ?? 0) > 0 ? request.top_k! : undefined
  if (
    temperature !== undefined &&
    (temperature > MAX_TEMPERATURE || (thinks && temperature !== MAX_TEMPERATURE))
  ) {
    translation.drop('temperature')
    temperature = thinks ? undefined : MAX_TEMPERATURE
  }
  if (thinks && topP !== undefined && topP < MIN_TOP_P_THINKING) {
    translation.drop('top_p')
    topP = undefined
  }
  if (thinks && topK !== undefined) {
    translation.drop('top_k')
    topK = undefined
  }
  return withoutUndefined({ temperature, top_p: topP, top_k: topK })
}

function toStopSequences(stop: ChatRequest['stop']): readonly string[] | undefined {
  if (typeof stop === 'string') return [stop]
  return stop === undefined || stop === null || stop.length === 0 ? undefined : stop
}

// ── Tools ───────────────────────────────────────────────────────────────────

function toMessagesTools(tools: readonly ChatTool[], translation: Translation): readonly MessagesTool[] {
  return tools.map((tool, at) => {
    if (tool.type !== 'function') translation.refuse(`tools.${at}.type`)
    const { function: called, cache_control } = tool as FunctionTool
    const { name, description, parameters = {}, strict } = called
    // The format wants the type, which chat leaves to be understood.
    const input_schema = parameters.type === undefined ? { type: 'object', ...parameters } : parameters
    return withoutUndefined({
      name,
      description,
      input_schema,
      strict: strict ?? undefined,
      cache_control,
    }) as MessagesTool
  })
}

function toToolChoice(request: ChatRequest, translation: Translation): MessagesToolChoice | undefined {
  const { tool_choice: choice, parallel_tool_calls: parallel, tools = [] } = request
  if (tools.length === 0) return undefined
  const alone = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return parallel === false ? { type: 'auto', ...alone } : undefined
  if (choice === 'none') return { type: 'none' }
  if (choice === 'auto') return { type: 'auto', ...alone }
  if (choice === 'required') return { type: 'any', ...alone }
  if (choice.type !== 'function' || !('function' in choice)) return translation.refuse('tool_choice')
  return { type: 'tool', name: choice.function.name, ...alone }
}

// ── Structured output ───────────────────────────────────────────────────────

/** These servers keep to a closed schema and have no mode for JSON of any shape, so it is asked for in words. */
const JSON_OBJECT = 'Answer with one JSON object and nothing else: no words around it and no code fence.'

function inJson(
  system: MessagesRequest['system'],
  translation: Translation,
): NonNullable<MessagesRequest['system']> {
  translation.drop('response_format.type')
  if (system === undefined) return JSON_OBJECT
  if (typeof system === 'string') return `${system}\n\n${JSON_OBJECT}`
  return [...system, { type: 'text', text: JSON_OBJECT }]
}

type JsonSchemaFormat = NonNullable<NonNullable<MessagesRequest['output_config']>['format']>

/**
 * Name and description of a schema have no place of their own here; they are what JSON Schema calls the title and
 * the description, and stay where the model can read them.
 */
function toJsonSchemaFormat(
  format: ResponseFormat | undefined,
  translation: Translation,
): JsonSchemaFormat | undefined {
  if (format === undefined || format.type === 'text' || format.type === 'json_object') return undefined
  if (format.type !== 'json_schema' || !('json_schema' in format))
    return translation.refuse('response_format.type')
  const { name, description, schema, strict } = format.json_schema
  if (schema === undefined)
    return translation.refuse('response_format.json_schema.schema', 'is needed by this provider')
  // Here every schema is kept to the letter.
  if (strict === false) translation.drop('response_format.json_schema.strict')
  const annotations = {
    ...(nonEmptyText(schema.title) === undefined ? { title: name } : {}),
    ...(schema.description === undefined && description !== undefined ? { description } : {}),
  }
  if (!('title' in annotations) && schema.title !== name) translation.drop('response_format.json_schema.name')
  if (description !== undefined && schema.description !== undefined && schema.description !== description) {
    translation.drop('response_format.json_schema.description')
  }
  return { type: 'json_schema', schema: { ...schema, ...annotations } }
}
