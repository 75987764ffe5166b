/** A whole chat answer in the messages format (contract/gateway 3 and 5.6). */
import type { AssistantMessage, Completion, Delta, FinishReason } from '../../formats/canonical.js'
import type { MessagesAnswer, MessagesUsage, StopFacts } from '../../formats/messages.js'
import { brokenAnswer } from '../../providers/port/failure.js'
import type { ProviderFailure } from '../../providers/port/provider.js'
import type { Crossing } from '../crossing.js'
import { GatheredBlocks } from '../gathered-blocks.js'
import { tierServedAsMessages } from '../service-tiers.js'
import { stopOfFinish } from '../stop-reasons.js'
import { BlockWriter } from './block-writer.js'

/** How a choice ended. */
export interface Finish {
  readonly reason: FinishReason
  /** The provider's own word. */
  readonly native: string | null
}

/**
 * The answer, or the failure of a provider of that name when it broke off or cannot be read. `silent`: without the
 * text of its thinking.
 */
export function answerOf(
  completion: Completion,
  provider: string,
  crossing: Crossing,
  silent = false,
): MessagesAnswer | ProviderFailure {
  const choice = completion.choices.find(({ index }) => index === 0) ?? completion.choices[0]
  if (choice === undefined) return broken('an answer without a choice', provider)
  const served = completion.usage === null ? null : tierFigures(completion.serviceTier, crossing)
  const finish = { reason: choice.finishReason, native: choice.native }
  const text = onlyText(choice.message)
  if (text !== null && finish.reason !== 'error') {
    const content = [{ type: 'text', text, citations: [] }]
    return { content, stop: stopFacts(finish, '', false), usage: completion.usage, wireUsage: served }
  }
  const gathered = new GatheredBlocks()
  const blocks = new BlockWriter((event) => gathered.take(event), silent)
  const delta = deltaOf(choice.message)
  loseMembers(delta, crossing)
  blocks.take(delta)
  blocks.close()
  const wrong = whatIsWrong(finish, blocks)
  if (wrong !== null) return broken(wrong, provider)
  const stop = stopFacts(finish, choice.message.refusal ?? '', blocks.calls > 0)
  return { content: gathered.blocks(), stop, usage: completion.usage, wireUsage: served }
}

/** The text of a message that says nothing else, as most do; null for any other. */
function onlyText(message: AssistantMessage): string | null {
  for (const name in message) if (!PLAIN.has(name)) return null
  return message.refusal === null && message.content !== '' ? message.content : null
}

const PLAIN: ReadonlySet<string> = new Set(['role', 'content', 'refusal'])

/** The tier that served, where this format has a word for it. */
export function tierFigures(tier: string | null, crossing: Crossing): MessagesUsage | null {
  if (tier === null) return null
  const word = tierServedAsMessages(tier)
  if (word === null) crossing.lose('answer.service_tier')
  return word === null ? null : { service_tier: word }
}

/** The message as if it came in one piece. */
function deltaOf({ role: _, content, refusal: __, reasoning, tool_calls, ...rest }: AssistantMessage): Delta {
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
export function loseMembers({ images, audio, annotations }: Delta, crossing: Crossing): void {
  if (images !== undefined) crossing.lose('answer.images')
  if (audio !== undefined) crossing.lose('answer.audio')
  if (annotations !== undefined) crossing.lose('answer.annotations')
}

/** An answer that broke off is no answer here; a call that was cut off by the limit is one. In words for the log. */
export function whatIsWrong({ reason }: Finish, blocks: BlockWriter): string | null {
  if (reason === 'error') return 'an answer that ended with an error'
  return blocks.broken && reason !== 'length' ? 'a tool call whose arguments are no JSON object' : null
}

export function stopFacts({ reason, native }: Finish, refusal: string, calls: boolean): StopFacts {
  const meant = refusal !== '' ? 'content_filter' : reason === 'error' ? 'stop' : reason
  const refused = { type: 'refusal', category: null, explanation: refusal === '' ? null : refusal }
  return {
    stop_reason: stopOfFinish(meant, native, calls),
    stop_sequence: null,
    stop_details: meant === 'content_filter' ? refused : null,
    container: null,
  }
}

export function broken(detail: string, provider: string): ProviderFailure {
  return brokenAnswer(detail, { name: provider, secrets: [] }, 200)
}
