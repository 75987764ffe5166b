/** Thinking between the messages format and chat: wishes and history (contract/gateway 5.3, 5.5, 2.8, 3.5). */
import type { ChatRequest, ReasoningDetail } from '../../formats/canonical.js'
import type { Block, MessagesRequest, Thinking } from '../../formats/messages.js'
import { textOf } from '../../formats/shape.js'
import { type Crossing, compact } from '../crossing.js'
import { OWN_FORMAT, unsealed } from '../sealed-reasoning.js'

// ── Wishes ──────────────────────────────────────────────────────────────────

interface ReasoningWishes {
  readonly reasoning: NonNullable<ChatRequest['reasoning']> | undefined
  readonly verbosity: string | undefined
}

/** An effort says how much to think where thinking is left to the model, and how much to write elsewhere. */
export function reasoningWishes(request: MessagesRequest, crossing: Crossing): ReasoningWishes {
  const { thinking, output_config } = request
  const effort = output_config?.effort ?? undefined
  if (thinking === undefined) return { reasoning: undefined, verbosity: effort }
  if (thinking.type === 'disabled') return { reasoning: { effort: 'none' }, verbosity: effort }
  if (thinking.type === 'between_tools') crossing.lose('thinking')
  if ('block_binding' in thinking) crossing.lose('thinking.block_binding')
  const shown = shownAs(thinking, crossing)
  if (thinking.type === 'enabled') {
    return { reasoning: { max_tokens: thinking.budget_tokens, ...shown }, verbosity: effort }
  }
  const reasoning = effort === undefined ? { enabled: true, ...shown } : { effort, ...shown }
  return { reasoning, verbosity: undefined }
}

function shownAs(thinking: Thinking, crossing: Crossing): { exclude?: true; summary?: 'auto' } {
  const display = ('display' in thinking ? thinking.display : null) ?? null
  if (display === 'omitted') return { exclude: true }
  if (display === 'summarized') return { summary: 'auto' }
  if (display !== null) crossing.lose('thinking.display')
  return {}
}

/** Whether thinking is to be kept from the caller, also where the provider tells it all the same. */
export function hidesThinking({ thinking }: MessagesRequest): boolean {
  return thinking !== undefined && 'display' in thinking && thinking.display === 'omitted'
}

// ── History ─────────────────────────────────────────────────────────────────

/** What a thinking block says in chat, at its place among the details; null for a block of another kind. */
export function detailOf(block: Block, index: number): ReasoningDetail | null {
  if (block.type === 'thinking') return thoughtOf(block, index)
  if (block.type !== 'redacted_thinking' || typeof block.data !== 'string') return null
  return unsealed(block.data) ?? { type: 'reasoning.encrypted', data: block.data, format: OWN_FORMAT, index }
}

/** The thinking comes back to where it was sealed with all that was taken off it. */
function thoughtOf({ thinking, signature }: Block, index: number): ReasoningDetail {
  const text = String(thinking ?? '')
  const signed = textOf(signature)
  const detail = signed === undefined ? null : unsealed(signed)
  if (detail !== null) {
    // The text of a thought that was not shown has been sealed with the rest.
    if (text === '' && (detail.text ?? detail.summary) !== undefined) return detail
    return detail.type === 'reasoning.summary' ? { ...detail, summary: text } : { ...detail, text }
  }
  if (signed === undefined) return { type: 'reasoning.text', text, index }
  return compact({ type: 'reasoning.text', text, signature: signed, format: OWN_FORMAT, index })
}
