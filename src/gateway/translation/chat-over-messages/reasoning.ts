/** Reasoning between chat and the messages format: wishes, history and answers (contract/gateway 2.8, 3.5, 5.3). */
import type { ChatRequest, Message, ReasoningDetail } from '../../formats/canonical.js'
import type { Block, MessagesRequest, Thinking } from '../../formats/messages.js'
import { updatedEffort } from '../../formats/reasoning-effort.js'
import { textOf } from '../../formats/shape.js'
import { type Crossing, compact } from '../crossing.js'
import { OWN_FORMAT } from '../sealed-reasoning.js'

// ── Wishes ──────────────────────────────────────────────────────────────────

type Effort = NonNullable<NonNullable<MessagesRequest['output_config']>['effort']>

interface ThinkingWishes {
  readonly thinking: Thinking | undefined
  readonly effort: Effort | undefined
}

/** Servers refuse less. */
const LEAST_BUDGET = 1024

/** What `reasoning`, `reasoning_effort` and `verbosity` ask for. A budget and an effort never come together. */
export function thinkingWishes(request: ChatRequest, crossing: Crossing): ThinkingWishes {
  const { reasoning, reasoning_effort, verbosity, messages } = request
  const asked = updatedEffort(messages) ?? reasoning_effort ?? reasoning?.effort ?? undefined
  const budget = reasoning?.max_tokens ?? undefined
  if (asked === 'none' || (asked === undefined && reasoning?.enabled === false)) {
    return { thinking: { type: 'disabled' }, effort: effortOf(verbosity) }
  }
  const display = displayOf(reasoning, crossing)
  if (budget !== undefined && asked === undefined) {
    if (budget < LEAST_BUDGET) crossing.lose('reasoning.max_tokens')
    const budget_tokens = Math.max(LEAST_BUDGET, budget)
    return { thinking: compact({ type: 'enabled', budget_tokens, display }), effort: effortOf(verbosity) }
  }
  if (asked === undefined && reasoning?.enabled !== true) {
    return { thinking: undefined, effort: effortOf(verbosity) }
  }
  if (effortOf(verbosity) !== undefined && verbosity !== asked) crossing.lose('verbosity')
  if (asked === 'minimal') crossing.lose('reasoning.effort')
  return {
    thinking: compact({ type: 'adaptive', display }),
    effort: asked === 'minimal' ? 'low' : asked,
  }
}

/** How wordy an answer is to be is the effort of this format, where no thinking is asked for. */
function effortOf(verbosity: string | null | undefined): Effort | undefined {
  return (verbosity as Effort | null | undefined) ?? undefined
}

function displayOf(reasoning: ChatRequest['reasoning'], crossing: Crossing): string | undefined {
  if (reasoning?.exclude === true) return 'omitted'
  const summary = reasoning?.summary ?? null
  if (summary === null) return undefined
  if (summary !== 'auto') crossing.lose('reasoning.summary')
  return 'summarized'
}

// ── History ─────────────────────────────────────────────────────────────────

/** Thinking goes back only to those who signed it; that of others, and unsigned thinking, is left out. */
export function thinkingBlocks(
  { reasoning, reasoning_details: details = [] }: Message & { readonly role: 'assistant' },
  crossing: Crossing,
): Block[] {
  if (details.length === 0 && reasoning) crossing.lose('messages.reasoning')
  return details.flatMap((detail) => {
    const block = thinkingBlock(detail)
    if (block === null) crossing.lose('messages.reasoning_details')
    return block ?? []
  })
}

function thinkingBlock({ type, format, text, signature, data }: ReasoningDetail): Block | null {
  if (format !== OWN_FORMAT) return null
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data }
  if (type !== 'reasoning.text' || textOf(signature) === undefined) return null
  return { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature }
}

// ── Answers ─────────────────────────────────────────────────────────────────

/** A signed text; a piece of one lacks what it does not tell. */
export function textDetail(index: number, told: { text?: string; signature?: string }): ReasoningDetail {
  return { type: 'reasoning.text', ...told, format: OWN_FORMAT, index }
}

export function encryptedDetail(index: number, data: string): ReasoningDetail {
  return { type: 'reasoning.encrypted', data, format: OWN_FORMAT, index }
}
