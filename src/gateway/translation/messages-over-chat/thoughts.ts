/** Reasoning of a chat answer as thinking blocks, from pieces or whole (contract/gateway 3.5 and 5.7). */
import type { ReasoningDetail } from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'
import { OWN_FORMAT, sealReasoning } from '../sealed-reasoning.js'

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

/** However a thought was cut into pieces, it is sealed as the same text. */
function sortMembers(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** A detail that is not text, as redacted thinking. */
export function toRedactedThinking(detail: ReasoningDetail): ContentBlock {
  const own = detail.type === 'reasoning.encrypted' && detail.format === OWN_FORMAT
  return { type: 'redacted_thinking', data: own ? String(detail.data) : sealReasoning(detail) }
}
