/** A whole answer of the messages format as a chat completion (contract/gateway 5.6 and 3). */
import type { AssistantMessage, Completion, ReasoningDetail, ToolCall } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesAnswer, StopInfo } from '../../formats/messages.js'
import { finishReasonFor, servedTierForChat, type Translation } from '../translation.js'
import { encryptedDetail, textDetail } from './reasoning.js'

export function toCompletion(answer: MessagesAnswer, translation: Translation): Completion {
  const { stop, usage, wireUsage } = answer
  const message = toAssistantMessage(answer.content, refusalText(stop), translation)
  const tier = nonEmptyText(wireUsage?.service_tier)
  return {
    choices: [
      {
        index: 0,
        message,
        finishReason: finishReasonFor(stop.stop_reason),
        native: stop.stop_reason,
        logprobs: null,
      },
    ],
    usage,
    serviceTier: tier === undefined ? null : servedTierForChat(tier),
  }
}

/** What the server says of its refusal, in words; null when it does not refuse, or says nothing. */
export function refusalText({ stop_reason, stop_details }: StopInfo): string | null {
  return stop_reason === 'refusal' ? (nonEmptyText(stop_details?.explanation) ?? null) : null
}

/** Texts become one, in their order; thinking and calls stand beside it. */
function toAssistantMessage(
  content: readonly ContentBlock[],
  refusal: string | null,
  translation: Translation,
): AssistantMessage {
  let text = ''
  let reasoning = ''
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  for (const block of content) {
    switch (block.type) {
      case 'text':
        text += String(block.text ?? '')
        dropCitations(block.citations, translation)
        break
      case 'thinking':
        reasoning += String(block.thinking ?? '')
        details.push(toTextDetail(block, details.length))
        break
      case 'redacted_thinking':
        details.push(encryptedDetail(details.length, String(block.data ?? '')))
        break
      case 'tool_use':
        calls.push(toToolCall(block))
        break
      default:
        dropBlock(block, translation)
    }
  }
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    refusal,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function toTextDetail(block: ContentBlock, index: number): ReasoningDetail {
  const text = nonEmptyText(block.thinking)
  const signature = nonEmptyText(block.signature)
  return textDetail(index, {
    ...(text === undefined ? {} : { text }),
    ...(signature === undefined ? {} : { signature }),
  })
}

function toToolCall({ id, name, input }: ContentBlock): ToolCall {
  return {
    id: String(id),
    type: 'function',
    function: { name: String(name), arguments: JSON.stringify(input ?? {}) },
  }
}

/** Chat has no place for where a text comes from. */
export function dropCitations(citations: unknown, translation: Translation): void {
  if (Array.isArray(citations) && citations.length > 0) translation.drop('answer.citations')
}

/** Chat has no place for what the server's own tools did. */
export function dropBlock({ type }: ContentBlock, translation: Translation): void {
  // A word of the provider's, and told to the caller: only as long as it looks like one.
  translation.drop(/^[a-z0-9_]{1,64}$/.test(type) ? `answer.${type}` : 'answer.content')
}
