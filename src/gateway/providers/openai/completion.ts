/** A whole answer of an OpenAI-compatible server, normalised to contract/gateway 3. */
import type {
  AssistantMessage,
  Completion,
  CompletionChoice,
  InferenceEvent,
} from '../../formats/canonical.js'
import { countOf, listOf, type Members, objectOf, textOf } from '../../formats/shape.js'
import { finishOf } from './finish-reason.js'
import { logprobsOf } from './logprobs.js'
import { annotationsOf, audioOf, imagesOf, reasoningDetailsOf } from './rare-members.js'
import { contentOf, thinkingOf } from './shape.js'
import { toolCallsOf } from './tool-calls.js'
import { usageOf } from './usage.js'

/** Null when the body holds no choice that can be read. */
export function completionOf(body: Members, generationId: string): Completion | null {
  const choices = listOf(body.choices).flatMap(
    (choice, at) => choiceOf(objectOf(choice), at, generationId) ?? [],
  )
  if (choices.length === 0) return null
  return { choices, usage: usageOf(body), serviceTier: textOf(body.service_tier) ?? null }
}

function choiceOf(choice: Members | null, at: number, generationId: string): CompletionChoice | null {
  const message = objectOf(choice?.message)
  if (choice === null || message === null) return null
  const { reason, native } = finishOf(choice.finish_reason)
  return {
    index: countOf(choice.index) ?? at,
    message: messageOf(message, generationId),
    finishReason: reason,
    native: textOf(choice.native_finish_reason) ?? native,
    logprobs: logprobsOf(choice.logprobs),
  }
}

/** Members of a message that is a text and nothing else. */
const PLAIN: ReadonlySet<string> = new Set(['role', 'content', 'refusal'])

function isPlain(message: Members): boolean {
  for (const name in message) if (!PLAIN.has(name) && message[name] !== null) return false
  return typeof message.content === 'string'
}

function messageOf(message: Members, generationId: string): AssistantMessage {
  if (isPlain(message)) {
    return { role: 'assistant', content: message.content as string, refusal: textOf(message.refusal) ?? null }
  }
  const calls = toolCallsOf(message, generationId)
  return {
    role: 'assistant',
    content: contentOf(message.content) ?? (calls === undefined && message.content === '' ? '' : null),
    refusal: textOf(message.refusal) ?? null,
    ...optional(
      'reasoning',
      textOf(message.reasoning) ?? textOf(message.reasoning_content) ?? thinkingOf(message.content),
    ),
    ...optional('reasoning_details', reasoningDetailsOf(message.reasoning_details)),
    ...optional('tool_calls', calls),
    ...optional('audio', audioOf(message.audio)),
    ...optional('images', imagesOf(message.images)),
    ...optional('annotations', annotationsOf(message.annotations)),
  }
}

function optional<K extends string, V>(name: K, value: V | undefined): { readonly [N in K]?: V } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in K]?: V })
}

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
export function eventsOf(completion: Completion): readonly InferenceEvent[] {
  const events: InferenceEvent[] = []
  for (const choice of completion.choices) {
    const delta = deltaOf(choice.message)
    const logprobs = choice.logprobs === null ? {} : { logprobs: choice.logprobs }
    if (delta !== null) events.push({ type: 'delta', choice: choice.index, delta, ...logprobs })
    events.push({ type: 'finish', choice: choice.index, reason: choice.finishReason, native: choice.native })
  }
  if (completion.serviceTier !== null) events.push({ type: 'tier', serviceTier: completion.serviceTier })
  if (completion.usage !== null) events.push({ type: 'usage', usage: completion.usage })
  return events
}

function deltaOf({ role: _, content, refusal, reasoning, tool_calls, ...rest }: AssistantMessage) {
  const delta = {
    ...optional('content', textOf(content)),
    ...optional('refusal', textOf(refusal)),
    ...optional('reasoning', textOf(reasoning)),
    ...optional(
      'tool_calls',
      tool_calls?.map((call, index) => ({ index, ...call })),
    ),
    ...rest,
  }
  return Object.keys(delta).length > 0 ? delta : null
}
