/** A whole answer of an OpenAI-compatible server, normalised to contract/gateway 3. */
import type { AssistantMessage, ChatEvent, Completion, CompletionChoice } from '../../formats/canonical.js'
import {
  asCount,
  asList,
  asObject,
  type Members,
  nonEmptyText,
  optionalMember,
} from '../../formats/json-values.js'
import {
  joinTextParts,
  joinThinkingParts,
  parseAnnotations,
  parseAudio,
  parseFinishReason,
  parseImages,
  parseLogprobs,
  parseReasoningDetails,
} from './message-members.js'
import { parseToolCalls } from './tool-calls.js'
import { parseChatUsage } from './usage.js'

/** Null when the body holds no choice that can be read. */
export function parseCompletion(body: Members, generationId: string): Completion | null {
  const choices = asList(body.choices).flatMap(
    (choice, at) => parseChoice(asObject(choice), at, generationId) ?? [],
  )
  if (choices.length === 0) return null
  return { choices, usage: parseChatUsage(body), serviceTier: nonEmptyText(body.service_tier) ?? null }
}

function parseChoice(choice: Members | null, at: number, generationId: string): CompletionChoice | null {
  const message = asObject(choice?.message)
  if (choice === null || message === null) return null
  const { reason, native } = parseFinishReason(choice.finish_reason)
  return {
    index: asCount(choice.index) ?? at,
    message: parseAssistantMessage(message, generationId),
    finishReason: reason,
    native: nonEmptyText(choice.native_finish_reason) ?? native,
    logprobs: parseLogprobs(choice.logprobs),
  }
}

/** Members of a message that is a text and nothing else. */
const PLAIN_MEMBERS: ReadonlySet<string> = new Set(['role', 'content', 'refusal'])

function isPlainText(message: Members): boolean {
  for (const name in message) if (!PLAIN_MEMBERS.has(name) && message[name] !== null) return false
  return typeof message.content === 'string'
}

function parseAssistantMessage(message: Members, generationId: string): AssistantMessage {
  if (isPlainText(message)) {
    return {
      role: 'assistant',
      content: message.content as string,
      refusal: nonEmptyText(message.refusal) ?? null,
    }
  }
  const calls = parseToolCalls(message, generationId)
  return {
    role: 'assistant',
    content: joinTextParts(message.content) ?? (calls === undefined && message.content === '' ? '' : null),
    refusal: nonEmptyText(message.refusal) ?? null,
    ...optionalMember(
      'reasoning',
      nonEmptyText(message.reasoning) ??
        nonEmptyText(message.reasoning_content) ??
        joinThinkingParts(message.content),
    ),
    ...optionalMember('reasoning_details', parseReasoningDetails(message.reasoning_details)),
    ...optionalMember('tool_calls', calls),
    ...optionalMember('audio', parseAudio(message.audio)),
    ...optionalMember('images', parseImages(message.images)),
    ...optionalMember('annotations', parseAnnotations(message.annotations)),
  }
}

/** A whole answer as the events of a stream, for a server that does not stream when asked to. */
export function completionEvents(completion: Completion): readonly ChatEvent[] {
  const events: ChatEvent[] = []
  for (const choice of completion.choices) {
    const delta = messageDelta(choice.message)
    const logprobs = choice.logprobs === null ? {} : { logprobs: choice.logprobs }
    if (delta !== null) events.push({ type: 'delta', choice: choice.index, delta, ...logprobs })
    events.push({ type: 'finish', choice: choice.index, reason: choice.finishReason, native: choice.native })
  }
  if (completion.serviceTier !== null) events.push({ type: 'tier', serviceTier: completion.serviceTier })
  if (completion.usage !== null) events.push({ type: 'usage', usage: completion.usage })
  return events
}

function messageDelta({ role: _, content, refusal, reasoning, tool_calls, ...rest }: AssistantMessage) {
  const delta = {
    ...optionalMember('content', nonEmptyText(content)),
    ...optionalMember('refusal', nonEmptyText(refusal)),
    ...optionalMember('reasoning', nonEmptyText(reasoning)),
    ...optionalMember(
      'tool_calls',
      tool_calls?.map((call, index) => ({ index, ...call })),
    ),
    ...rest,
  }
  return Object.keys(delta).length > 0 ? delta : null
}
