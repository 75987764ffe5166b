/** A whole chat answer in the messages format (contract/gateway 3 and 5.6). */
import type { AssistantMessage, ChatDelta, Completion, FinishReason } from '../../formats/canonical.js'
import type { MessagesAnswer, MessagesUsage, StopInfo } from '../../formats/messages.js'
import { malformedAnswer } from '../../providers/port/failure.js'
import type { ProviderFailure } from '../../providers/port/provider.js'
import { BlockAssembler } from '../block-assembler.js'
import { servedTierForMessages, stopReasonFor, type Translation } from '../translation.js'
import { BlockWriter } from './block-writer.js'

/** How a choice ended. */
export interface ChatFinish {
  readonly reason: FinishReason
  /** The provider's own word. */
  readonly native: string | null
}

/**
 * The answer, or the failure of a provider of that name when it broke off or cannot be read. `silent`: without the
 * text of its thinking.
 */
export function toMessagesAnswer(
  completion: Completion,
  provider: string,
  translation: Translation,
  silent = false,
): MessagesAnswer | ProviderFailure {
  const choice = completion.choices.find(({ index }) => index === 0) ?? completion.choices[0]
  if (choice === undefined) return malformedChatAnswer('an answer without a choice', provider)
  const served = completion.usage === null ? null : servedTierUsage(completion.serviceTier, translation)
  const finish = { reason: choice.finishReason, native: choice.native }
  const text = plainTextOf(choice.message)
  if (text !== null && finish.reason !== 'error') {
    const content = [{ type: 'text', text, citations: [] }]
    return { content, stop: toStopInfo(finish, '', false), usage: completion.usage, wireUsage: served }
  }
  const gathered = new BlockAssembler()
  const blocks = new BlockWriter((event) => gathered.add(event), silent)
  const delta = toDelta(choice.message)
  dropUnsupportedMembers(delta, translation)
  blocks.add(delta)
  blocks.close()
  const wrong = findDefect(finish, blocks)
  if (wrong !== null) return malformedChatAnswer(wrong, provider)
  const stop = toStopInfo(finish, choice.message.refusal ?? '', blocks.callCount > 0)
  return { content: gathered.blocks(), stop, usage: completion.usage, wireUsage: served }
}

/** The text of a message that says nothing else, as most do; null for any other. */
function plainTextOf(message: AssistantMessage): string | null {
  for (const name in message) if (!PLAIN_MEMBERS.has(name)) return null
  return message.refusal === null && message.content !== '' ? message.content : null
}

const PLAIN_MEMBERS: ReadonlySet<string> = new Set(['role', 'content', 'refusal'])

/** The tier that served, where this format has a word for it. */
export function servedTierUsage(tier: string | null, translation: Translation): MessagesUsage | null {
  if (tier === null) return null
  const word = servedTierForMessages(tier)
  if (word === null) translation.drop('answer.service_tier')
  return word === null ? null : { service_tier: word }
}

/** The message as if it came in one piece. */
function toDelta({
  role: _,
  content,
  refusal: __,
  reasoning,
  tool_calls,
  ...rest
}: AssistantMessage): ChatDelta {
  return {
    ...rest,
    ...(content === null ? {} : { content }),
    ...(reasoning ? { reasoning } : {}),
    ...(tool_calls === undefined
      ? {}
      : { tool_calls: tool_calls.map((call, index) => ({ index, ...call })) }),
  }
}

/** What an assistant cannot say in this format. */
export function dropUnsupportedMembers(
  { images, audio, annotations }: ChatDelta,
  translation: Translation,
): void {
  if (images !== undefined) translation.drop('answer.images')
  if (audio !== undefined) translation.drop('answer.audio')
  if (annotations !== undefined) translation.drop('answer.annotations')
}

/** An answer that broke off is no answer here; a call that was cut off by the limit is one. In words for the log. */
export function findDefect({ reason }: ChatFinish, blocks: BlockWriter): string | null {
  if (reason === 'error') return 'an answer that ended with an error'
  return blocks.hasMalformedCall && reason !== 'length'
    ? 'a tool call whose arguments are no JSON object'
    : null
}

export function toStopInfo({ reason, native }: ChatFinish, refusal: string, calls: boolean): StopInfo {
  const meant = refusal !== '' ? 'content_filter' : reason === 'error' ? 'stop' : reason
  const refused = { type: 'refusal', category: null, explanation: refusal === '' ? null : refusal }
  return {
    stop_reason: stopReasonFor(meant, native, calls),
    stop_sequence: null,
    stop_details: meant === 'content_filter' ? refused : null,
    container: null,
  }
}

export function malformedChatAnswer(detail: string, provider: string): ProviderFailure {
  return malformedAnswer(detail, { name: provider, secrets: [] }, 200)
}
