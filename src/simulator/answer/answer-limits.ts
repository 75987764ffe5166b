import type { ChatRequest, FinishReason } from '../../gateway/formats/canonical.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import type { PlannedAnswer, PlannedToolCall } from './answer-generator.js'
import type { PromptDigest } from './prompt-digest.js'
import { ProseGenerator } from './prose.js'
import { cutAtStopSequence } from './tokens.js'

/**
 * Longest answer of any model, about 1 MB of text: a caller may ask for a number without end, and a whole answer is
 * built in one turn.
 */
export const MAX_ANSWER_TOKENS = 131_072

/** Most log probabilities of one answer, alternatives included: about 5 MB. Further tokens are not said. */
const MAX_LOGPROBS = 50_000

/** What one answer says, before limits: text in tokens, or prose of some length, or tool calls. */
export interface PlannedOutput {
  readonly tokens: readonly string[] | null
  readonly proseLength: number
  readonly toolCalls: readonly PlannedToolCall[]
}

export const NO_TOOL_CALLS: readonly PlannedToolCall[] = []

/** Most tokens the answer may have, reasoning included. */
export function maxAnswerTokens(request: ChatRequest, ofModel: number | null): number {
  const asked = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  return Math.min(asked, ofModel ?? MAX_ANSWER_TOKENS, MAX_ANSWER_TOKENS)
}

/** Tokens of text whose log probabilities may be told. A stream has the same limit, so that it says the same. */
function maxTextTokens(topLogprobs: number | null): number {
  return topLogprobs === null ? MAX_ANSWER_TOKENS : Math.floor(MAX_LOGPROBS / (topLogprobs + 1))
}

/** Applies stop sequences, the limit and the content filter, in this order, as a real model would meet them. */
export function applyLimits(
  request: ChatRequest,
  behaviour: CompiledBehaviour,
  said: PlannedOutput,
  reasoning: { readonly tokens: number; readonly shown: boolean },
  limit: number,
  reading: PromptDigest,
  seed: RandomSeed,
): PlannedAnswer {
  const thoughts = Math.min(reasoning.tokens, limit)
  const stopped = applyStopSequences(said, request.stop, seed)
  const length = stopped.tokens?.length ?? stopped.proseLength
  const topLogprobs = request.logprobs === true ? (request.top_logprobs ?? 0) : null
  const words = Math.min(length, limit - thoughts, maxTextTokens(topLogprobs))
  const calls = truncateToolCalls(stopped.toolCalls, limit - thoughts)
  const callTokens = countToolCallTokens(calls)
  const short =
    words < length || callTokens < countToolCallTokens(stopped.toolCalls) || thoughts < reasoning.tokens
  const natural: FinishReason = calls.length > 0 ? 'tool_calls' : 'stop'
  const filter = behaviour.fault?.kind === 'content-filter' ? behaviour.fault.after : null
  const spoken = filter === null ? words : Math.min(words, filter)
  const usedCalls = filter === null ? calls : NO_TOOL_CALLS
  return {
    seed,
    reasoningTokens: thoughts,
    showsReasoning: reasoning.shown && thoughts > 0,
    fixedTokens: stopped.tokens,
    proseLength: stopped.proseLength,
    textTokens: spoken,
    toolCalls: usedCalls,
    finishReason: filter !== null ? 'content_filter' : short ? 'length' : natural,
    stopSequence: stopped.stoppedBy,
    topLogprobs,
    usage: {
      prompt: reading.tokens,
      completion: thoughts + spoken + (filter === null ? callTokens : 0),
      cached: reading.cachedTokens,
      cacheWrite: 0,
      promptAudio: reading.audioTokens,
      reasoning: thoughts,
      completionAudio: 0,
    },
    serviceTier: effectiveServiceTier(request.service_tier),
  }
}

/** With stop sequences prose has to be told beforehand: a stop may begin in one token and end in the next. */
function applyStopSequences(
  said: PlannedOutput,
  stop: ChatRequest['stop'],
  seed: RandomSeed,
): PlannedOutput & { stoppedBy: string | null } {
  const stops = typeof stop === 'string' ? [stop] : (stop ?? [])
  if (stops.length === 0) return { ...said, stoppedBy: null }
  const pieces = said.tokens ?? generateProse(seed, said.proseLength)
  const cut = cutAtStopSequence(pieces, stops)
  if (cut === null) return { ...said, stoppedBy: null }
  return { ...said, tokens: cut.kept, stoppedBy: cut.stop }
}

function generateProse(seed: RandomSeed, length: number): string[] {
  const prose = new ProseGenerator(new SeededRandom(seed, RANDOM_LANE.words), length)
  return Array.from({ length }, () => prose.nextToken())
}

/** Calls as far as the limit reaches; the last one may break off in its arguments, as with real models. */
function truncateToolCalls(calls: readonly PlannedToolCall[], limit: number): readonly PlannedToolCall[] {
  if (countToolCallTokens(calls) <= limit) return calls
  const kept: PlannedToolCall[] = []
  let left = limit
  for (const call of calls) {
    if (left <= 0) break
    kept.push({ ...call, argumentTokens: call.argumentTokens.slice(0, left - 1) })
    left -= 1 + call.argumentTokens.length
  }
  return kept
}

/** One token for the name of each call, and one for each piece of its arguments. */
function countToolCallTokens(calls: readonly PlannedToolCall[]): number {
  let tokens = 0
  for (const call of calls) tokens += 1 + call.argumentTokens.length
  return tokens
}

function effectiveServiceTier(asked: string | null | undefined): string | null {
  if (asked === undefined || asked === null) return null
  return asked === 'auto' ? 'default' : asked
}
