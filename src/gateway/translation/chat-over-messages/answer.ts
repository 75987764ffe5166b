/** A whole answer of the messages format as a chat completion (contract/gateway 5.6 and 3). */
import type { AssistantMessage, Completion, ReasoningDetail, ToolCall } from '../../formats/canonical.js'
import type { Block, MessagesAnswer, StopFacts } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import type { Crossing } from '../crossing.js'
import { tierServed } from '../service-tiers.js'
import { finishOfStop } from '../stop-reasons.js'
import { encryptedDetail, textDetail } from './reasoning.js'

export function completionOf(answer: MessagesAnswer, crossing: Crossing): Completion {
  const { stop, usage, wireUsage } = answer
  const message = messageOf(answer.content, refusalIn(stop), crossing)
  const tier = textOf(wireUsage?.service_tier)
  return {
    choices: [
      {
        index: 0,
        message,
        finishReason: finishOfStop(stop.stop_reason),
        native: stop.stop_reason,
        logprobs: null,
      },
    ],
    usage,
    serviceTier: tier === undefined ? null : tierServed(tier),
  }
}

/** What the server says of its refusal, in words; null when it does not refuse, or says nothing. */
export function refusalIn({ stop_reason, stop_details }: StopFacts): string | null {
  return stop_reason === 'refusal' ? (textOf(stop_details?.explanation) ?? null) : null
}

/** Texts become one, in their order; thinking and calls stand beside it. */
function messageOf(content: readonly Block[], refusal: string | null, crossing: Crossing): AssistantMessage {
  let text = ''
  let reasoning = ''
  const details: ReasoningDetail[] = []
  const calls: ToolCall[] = []
  for (const block of content) {
    switch (block.type) {
      case 'text':
        text += String(block.text ?? '')
        loseCitations(block.citations, crossing)
        break
      case 'thinking':
        reasoning += String(block.thinking ?? '')
        details.push(thinkingDetail(block, details.length))
        break
      case 'redacted_thinking':
        details.push(encryptedDetail(details.length, String(block.data ?? '')))
        break
      case 'tool_use':
        calls.push(callOf(block))
        break
      default:
        loseBlock(block, crossing)
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

function thinkingDetail(block: Block, index: number): ReasoningDetail {
  const text = textOf(block.thinking)
  const signature = textOf(block.signature)
  return textDetail(index, {
    ...(text === undefined ? {} : { text }),
    ...(signature === undefined ? {} : { signature }),
  })
}

function callOf({ id, name, input }: Block): ToolCall {
  return {
    id: String(id),
    type: 'function',
    function: { name: String(name), arguments: JSON.stringify(input ?? {}) },
  }
}

/** Chat has no place for where a text comes from. */
export function loseCitations(citations: unknown, crossing: Crossing): void {
  if (Array.isArray(citations) && citations.length > 0) crossing.lose('answer.citations')
}

/** Chat has no place for what the server's own tools did. */
export function loseBlock({ type }: Block, crossing: Crossing): void {
  // A word of the provider's, and told to the caller: only as long as it looks like one.
  crossing.lose(/^[a-z0-9_]{1,64}$/.test(type) ? `answer.${type}` : 'answer.content')
}
