/** Thinking between the messages format and chat: wishes and history (contract/gateway 5.3, 5.5, 2.8, 3.5). */
import type { AssistantMessage, ChatRequest, ReasoningDetail } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock, MessagesRequest, ThinkingConfig } from '../../formats/messages.js'
import { OWN_FORMAT, sealReasoning, unsealReasoning } from '../sealed-reasoning.js'
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

// ── Answers: details as thinking blocks, from pieces or whole ──────────────────

/** One thought under way: its text goes out as it comes, the rest is kept for the signature. */
export interface ThoughtInProgress {
  /** Undefined for reasoning that came without a detail. */
  readonly index: number | undefined
  readonly members: Readonly<Record<string, unknown>>
}

const TEXT_DETAILS: ReadonlySet<string> = new Set(['reasoning.text', 'reasoning.summary'])

/** Whether a detail is text to be shown; the others are sealed whole. */
export function isTextDetail({ type }: ReasoningDetail): boolean {
  return TEXT_DETAILS.has(type)
}

export function detailText({ type, text, summary }: ReasoningDetail): string {
  return nonEmptyText(type === 'reasoning.summary' ? summary : text) ?? ''
}

export const EMPTY_THOUGHT: ThoughtInProgress = { index: undefined, members: {} }

/** Null when the detail begins another thought. */
export function continueThought(
  thought: ThoughtInProgress,
  detail: ReasoningDetail,
): ThoughtInProgress | null {
  const { text: _, summary: __, ...members } = detail
  const index = typeof detail.index === 'number' ? detail.index : undefined
  if (thought.members.type === undefined) return { index, members }
  if (thought.members.type !== detail.type || thought.index !== index) return null
  // What follows a signature is not covered by it.
  if (nonEmptyText(thought.members.signature) !== undefined && detailText(detail) !== '') return null
  return { index, members: { ...thought.members, ...withoutNulls(members) } }
}

function withoutNulls(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
  )
}

/**
 * The signature of a thought: its own where it is of this format, a sealed one where there is something to be handed
 * back, `''` where there is nothing. `unsaid` is the text of a thought that is not shown: it has to come back, too.
 */
export function thoughtSignature({ members }: ThoughtInProgress, unsaid: string): string {
  const { type = 'reasoning.text', format, signature, id } = members
  if (unsaid !== '') {
    const text = type === 'reasoning.summary' ? { summary: unsaid } : { text: unsaid }
    return sealReasoning(sortMembers({ type, ...withoutNulls(members), ...text }))
  }
  const signed = nonEmptyText(signature)
  if (type === 'reasoning.text' && format === OWN_FORMAT) return signed ?? ''
  const plain = signed === undefined && nonEmptyText(id) === undefined && type !== 'reasoning.summary'
  return members.type === undefined || plain ? '' : sealReasoning(sortMembers(withoutNulls(members)))
}

/** The thoughts of a whole message. `silent`: without their text, which is sealed. */
export function toThinkingBlocks(
  { reasoning, reasoning_details: details = [] }: AssistantMessage,
  silent: boolean,
): ContentBlock[] {
  const blocks: ContentBlock[] = []
  let thought: ThoughtInProgress | null = null
  let text = ''
  if (reasoning && !details.some((detail) => detailText(detail) !== '')) {
    thought = EMPTY_THOUGHT
    text = reasoning
  }
  for (const detail of details) {
    const isText = isTextDetail(detail)
    const continued: ThoughtInProgress | null =
      thought !== null && isText ? continueThought(thought, detail) : null
    if (thought !== null && continued === null) {
      blocks.push(thinkingBlock(thought, text, silent))
      text = ''
    }
    if (isText) text += detailText(detail)
    else blocks.push(toRedactedThinking(detail))
    thought = isText ? (continued ?? continueThought(EMPTY_THOUGHT, detail)) : null
  }
  if (thought !== null) blocks.push(thinkingBlock(thought, text, silent))
  return blocks
}

function thinkingBlock(thought: ThoughtInProgress, text: string, silent: boolean): ContentBlock {
  const signature = thoughtSignature(thought, silent ? text : '')
  return { type: 'thinking', thinking: silent ? '' : text, signature }
}

/** However a thought was cut into pieces, it is sealed as the same text. */
function sortMembers(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** A detail that is not text, as redacted thinking. */
export function toRedactedThinking(detail: ReasoningDetail): ContentBlock {
  const own = detail.type === 'reasoning.encrypted' && detail.format === OWN_FORMAT
  return { type: 'redacted_thinking', data: own ? String(detail.data) : sealReasoning(detail) }
}
