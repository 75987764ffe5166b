/** Canonical answers as the wire has them (contract/gateway 3): normalised so that the strictest client takes them. */
import { dollars } from '../../base/money.js'
import type { Completion, CompletionChoice } from '../../gateway/canonical.js'
import type { Consumption, Generation } from '../../gateway/generation.js'
import type { ServiceMetadata } from '../../gateway/metadata.js'

/** `usage` of contract/gateway 3.3, in the form that is safe for every client. */
export interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: Readonly<Record<string, number>>
  readonly completion_tokens_details: Readonly<Record<string, number>>
  readonly cost: number
  readonly cost_details: Readonly<Record<string, number>>
  readonly is_byok: boolean
}

export function wireUsage({ usage, cost }: Consumption): WireUsage {
  return {
    prompt_tokens: usage.prompt,
    completion_tokens: usage.completion,
    total_tokens: usage.prompt + usage.completion,
    prompt_tokens_details: {
      cached_tokens: usage.cached,
      cache_write_tokens: usage.cacheWrite,
      audio_tokens: usage.promptAudio,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.completionAudio,
    },
    cost: dollars(cost.total),
    cost_details: {
      upstream_inference_cost: dollars(cost.total),
      upstream_inference_prompt_cost: dollars(cost.prompt),
      upstream_inference_completions_cost: dollars(cost.completion),
    },
    is_byok: false,
  }
}

/** The body of a whole answer. */
export function encodeCompletion(
  generation: Generation,
  completion: Completion,
  metadata: ServiceMetadata | null,
): string {
  return JSON.stringify({
    id: generation.id,
    object: 'chat.completion',
    created: generation.created,
    model: generation.model,
    provider: generation.providerName,
    choices: completion.choices.map((choice) => wireChoice(choice, hidesReasoning(generation))),
    // Required and nullable in whole answers, forbidden to be null in chunks (contract/gateway 3.1 and 4.2).
    system_fingerprint: null,
    ...(completion.serviceTier !== null && { service_tier: completion.serviceTier }),
    usage: wireUsage(generation.consumption!),
    ...(metadata !== null && { service_metadata: metadata }),
  })
}

function wireChoice(choice: CompletionChoice, hidden: boolean): Record<string, unknown> {
  const { index, finishReason, native, message, logprobs } = choice
  return {
    index,
    finish_reason: finishReason,
    native_finish_reason: native,
    message: hidden ? { ...message, reasoning: undefined, reasoning_details: undefined } : message,
    logprobs,
  }
}

/** The caller asked for the thinking, but not to see it. */
export function hidesReasoning({ request }: Generation): boolean {
  return request.reasoning?.exclude === true || request.include_reasoning === false
}
