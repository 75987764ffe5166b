/** Reasoning between chat and the messages format: wishes, history and answers (contract/gateway 2.8, 3.5, 5.3). */
import type { ChatMessage, ChatRequest, ReasoningDetail } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesRequest, ThinkingConfig } from '../../formats/messages.js'
import { requestedEffort } from '../../providers/port/provider.js'
import { OWN_FORMAT } from '../sealed-reasoning.js'
import { type Translation, withoutUndefined } from '../translation.js'

// ── Wishes ──────────────────────────────────────────────────────────────────

type OutputEffort = NonNullable<NonNullable<MessagesRequest['output_config']>['effort']>

interface ThinkingSettings {
  readonly thinking: ThinkingConfig | undefined
  readonly effort: OutputEffort | undefined
}

/** Servers refuse less. */
const LEAST_BUDGET = 1024

/** What `reasoning`, `reasoning_effort` and `verbosity` ask for. A budget and an effort never come together. */
export function toThinkingSettings(request: ChatRequest, translation: Translation): ThinkingSettings {
  const { reasoning, verbosity } = request
  const asked = requestedEffort(request) ?? undefined
  const budget = reasoning?.max_tokens ?? undefined
  if (asked === 'none' || (asked === undefined && reasoning?.enabled === false)) {
    return { thinking: { type: 'disabled' }, effort: toEffort(verbosity) }
  }
  const display = toDisplay(reasoning, translation)
  if (budget !== undefined && asked === undefined) {
    if (budget < LEAST_BUDGET) translation.drop('reasoning.max_tokens')
    const budget_tokens = Math.max(LEAST_BUDGET, budget)
    return {
      thinking: withoutUndefined({ type: 'enabled', budget_tokens, display }),
      effort: toEffort(verbosity),
    }
  }
  if (asked === undefined && reasoning?.enabled !== true) {
    return { thinking: undefined, effort: toEffort(verbosity) }
  }
  if (toEffort(verbosity) !== undefined && verbosity !== asked) translation.drop('verbosity')
  if (asked === 'minimal') translation.drop('reasoning.effort')
  return {
    thinking: withoutUndefined({ type: 'adaptive', display }),
    effort: asked === 'minimal' ? 'low' : asked,
  }
}

/** How wordy an answer is to be is the effort of this format, where no thinking is asked for. */
function toEffort(verbosity: string | null | undefined): OutputEffort | undefined {
  return (verbosity as OutputEffort | null | undefined) ?? undefined
}

function toDisplay(reasoning: ChatRequest['reasoning'], translation: Translation): string | undefined {
  if (reasoning?.exclude === true) return 'omitted'
  const summary = reasoning?.summary ?? null
  if (summary === null) return undefined
  if (summary !== 'auto') translation.drop('reasoning.summary')
  return 'summarized'
}

// ── History ─────────────────────────────────────────────────────────────────

/** Thinking goes back only to those who signed it; that of others, and unsigned thinking, is left out. */
export function toThinkingBlocks(
  { reasoning, reasoning_details: details = [] }: ChatMessage & { readonly role: 'assistant' },
  translation: Translation,
): ContentBlock[] {
  if (details.length === 0 && reasoning) translation.drop('messages.reasoning')
  return details.flatMap((detail) => {
    const block = toThinkingBlock(detail)
    if (block === null) translation.drop('messages.reasoning_details')
    return block ?? []
  })
}

function toThinkingBlock({ type, format, text, signature, data }: ReasoningDetail): ContentBlock | null {
  if (format !== OWN_FORMAT) return null
  if (type === 'reasoning.encrypted' && typeof data === 'string') return { type: 'redacted_thinking', data }
  if (type !== 'reasoning.text' || nonEmptyText(signature) === undefined) return null
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
