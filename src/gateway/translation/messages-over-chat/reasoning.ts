/** Thinking between the messages format and chat: wishes and history (contract/gateway 5.3, 5.5, 2.8, 3.5). */
import type { ChatRequest, ReasoningDetail } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesRequest, ThinkingConfig } from '../../formats/messages.js'
import { OWN_FORMAT, unsealReasoning } from '../sealed-reasoning.js'
import { type Translation, withoutUndefined } from '../translation.js'

// ── Wishes ──────────────────────────────────────────────────────────────────

interface ReasoningSettings {
  readonly reasoning: NonNullable<ChatRequest['reasoning']> | undefined
  readonly verbosity: string | undefined
}

/** An effort says how much to think where thinking is left to the model, and how much to write elsewhere. */
export function toReasoningSettings(request: MessagesRequest, translation: Translation): ReasoningSettings {
  const { thinking, output_config } = request
  const effort = output_config?.effort ?? undefined
  if (thinking === undefined) return { reasoning: undefined, verbosity: effort }
  if (thinking.type === 'disabled') return { reasoning: { effort: 'none' }, verbosity: effort }
  if (thinking.type === 'between_tools') translation.drop('thinking')
  if ('block_binding' in thinking) translation.drop('thinking.block_binding')
  const shown = toDisplaySettings(thinking, translation)
  if (thinking.type === 'enabled') {
    return { reasoning: { max_tokens: thinking.budget_tokens, ...shown }, verbosity: effort }
  }
  const reasoning = effort === undefined ? { enabled: true, ...shown } : { effort, ...shown }
  return { reasoning, verbosity: undefined }
}

function toDisplaySettings(
  thinking: ThinkingConfig,
  translation: Translation,
): { exclude?: true; summary?: 'auto' } {
  const display = ('display' in thinking ? thinking.display : null) ?? null
  if (display === 'omitted') return { exclude: true }
  if (display === 'summarized') return { summary: 'auto' }
  if (display !== null) translation.drop('thinking.display')
  return {}
}

/** Whether thinking is to be kept from the caller, also where the provider tells it all the same. */
export function hidesThinking({ thinking }: MessagesRequest): boolean {
  return thinking !== undefined && 'display' in thinking && thinking.display === 'omitted'
}

// ── History ─────────────────────────────────────────────────────────────────

/** What a thinking block says in chat, at its place among the details; null for a block of another kind. */
export function toReasoningDetail(block: ContentBlock, index: number): ReasoningDetail | null {
  if (block.type === 'thinking') return thinkingToDetail(block, index)
  if (block.type !== 'redacted_thinking' || typeof block.data !== 'string') return null
  return (
    unsealReasoning(block.data) ?? {
      type: 'reasoning.encrypted',
      data: block.data,
      format: OWN_FORMAT,
      index,
    }
  )
}

/** The thinking comes back to where it was sealed with all that was taken off it. */
function thinkingToDetail({ thinking, signature }: ContentBlock, index: number): ReasoningDetail {
  const text = String(thinking ?? '')
  const signed = nonEmptyText(signature)
  const detail = signed === undefined ? null : unsealReasoning(signed)
  if (detail !== null) {
    // The text of a thought that was not shown has been sealed with the rest.
    if (text === '' && (detail.text ?? detail.summary) !== undefined) return detail
    return detail.type === 'reasoning.summary' ? { ...detail, summary: text } : { ...detail, text }
  }
  if (signed === undefined) return { type: 'reasoning.text', text, index }
  return withoutUndefined({ type: 'reasoning.text', text, signature: signed, format: OWN_FORMAT, index })
}
