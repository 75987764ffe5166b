/** Canonical answers as the wire has them (contract/gateway 3): normalised so that the strictest client takes them. */
import { nanosToDollars } from '../../base/money.js'
import type { AssistantMessage, Completion, CompletionChoice } from '../../gateway/formats/canonical.js'
import type { Consumption, Generation } from '../../gateway/run/generation.js'
import type { ServiceMetadata } from '../../gateway/run/metadata.js'

/**
 * `usage` of contract/gateway 3.3 as JSON, in the form that is safe for every client. Written by hand: the shape
 * never varies, and every answer has one.
 */
export function usageJson({ usage, cost }: Consumption): string {
  return (
    `{"prompt_tokens":${usage.prompt},"completion_tokens":${usage.completion},` +
    `"total_tokens":${usage.prompt + usage.completion},` +
    `"prompt_tokens_details":{"cached_tokens":${usage.cached},"cache_write_tokens":${usage.cacheWrite},` +
    `"audio_tokens":${usage.promptAudio}},` +
    `"completion_tokens_details":{"reasoning_tokens":${usage.reasoning},"audio_tokens":${usage.completionAudio}},` +
    `"cost":${nanosToDollars(cost.total)},"cost_details":{"upstream_inference_cost":${nanosToDollars(cost.total)},` +
    `"upstream_inference_prompt_cost":${nanosToDollars(cost.prompt)},` +
    `"upstream_inference_completions_cost":${nanosToDollars(cost.completion)}},"is_byok":false}`
  )
}

/** The body of a whole answer. */
export function encodeCompletion(
  generation: Generation,
  completion: Completion,
  metadata: ServiceMetadata | null,
): string {
  const { id, created, model, providerName } = generation
  const hidden = hidesReasoning(generation)
  const choices = completion.choices.map((choice) => choiceJson(choice, hidden)).join(',')
  const tier =
    completion.serviceTier === null ? '' : `,"service_tier":${JSON.stringify(completion.serviceTier)}`
  const routing = metadata === null ? '' : `,"service_metadata":${JSON.stringify(metadata)}`
  // `system_fingerprint` is required and nullable here, and must not be null in chunks (contract/gateway 3.1, 4.2).
  return (
    `{"id":"${id}","object":"chat.completion","created":${created},"model":${JSON.stringify(model)},` +
    `"provider":${JSON.stringify(providerName)},"choices":[${choices}],"system_fingerprint":null` +
    `${tier},"usage":${usageJson(generation.consumption!)}${routing}}`
  )
}

function choiceJson(
  { index, finishReason, native, message, logprobs }: CompletionChoice,
  hidden: boolean,
): string {
  const shown = hidden ? withoutReasoning(message) : message
  return (
    `{"index":${index},"finish_reason":"${finishReason}","native_finish_reason":${JSON.stringify(native)},` +
    `"message":${messageJson(shown)},"logprobs":${logprobs === null ? 'null' : JSON.stringify(logprobs)}}`
  )
}

function withoutReasoning({
  reasoning: _,
  reasoning_details: __,
  ...rest
}: AssistantMessage): AssistantMessage {
  return rest
}

/** Most messages are a text and nothing else. */
function messageJson(message: AssistantMessage): string {
  for (const member in message) {
    if (member !== 'role' && member !== 'content' && member !== 'refusal') return JSON.stringify(message)
  }
  const { content, refusal } = message
  return `{"role":"assistant","content":${JSON.stringify(content)},"refusal":${JSON.stringify(refusal)}}`
}

/** The caller asked for the thinking, but not to see it. */
export function hidesReasoning({ request }: Generation): boolean {
  return request.reasoning?.exclude === true || request.include_reasoning === false
}
