import type { ChatRequest, FinishReason, Usage } from '../../gateway/formats/canonical.js'
import type { CompiledBehaviour } from '../behaviour.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import type { PromptDigest } from './prompt-digest.js'
import { ProseGenerator } from './prose.js'

/**
 * Longest answer of any model, about 1 MB of text: a caller may ask for a number without end, and a whole answer is
 * built in one turn.
 */
export const MAX_ANSWER_TOKENS = 131_072

/** Most log probabilities of one answer, alternatives included: about 5 MB. Further tokens are not said. */
const MAX_LOGPROBS = 50_000

/** A tool call whose arguments are cut into tokens already. */
export interface PlannedToolCall {
  readonly id: string
  readonly name: string
  readonly argumentTokens: readonly string[]
}

/** What one answer says, before limits: text in tokens, or prose of some length, or tool calls. */
export interface PlannedOutput {
  readonly tokens: readonly string[] | null
  readonly proseLength: number
  readonly toolCalls: readonly PlannedToolCall[]
}

/** What an answer is planned by. */
export interface PlanInput {
  readonly request: ChatRequest
  readonly behaviour: CompiledBehaviour
  readonly digest: PromptDigest
  readonly seed: RandomSeed
  /** Most tokens, reasoning included. */
  readonly limit: number
}

/** How much the model reasons, and whether the caller sees it. */
export interface ReasoningPlan {
  readonly tokens: number
  readonly shown: boolean
}

/** Most tokens the answer may have, reasoning included. */
export function maxAnswerTokens(request: ChatRequest, ofModel: number | null): number {
  const asked = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  return Math.min(asked, ofModel ?? MAX_ANSWER_TOKENS, MAX_ANSWER_TOKENS)
}

/** Most tokens of a text with log probabilities, streamed or not. */
function maxTextTokens(topLogprobs: number | null): number {
  return topLogprobs === null ? MAX_ANSWER_TOKENS : Math.floor(MAX_LOGPROBS / (topLogprobs + 1))
}

/** Everything an answer will be, decided before its first token. */
export type PlannedAnswer = Readonly<ReturnType<typeof applyLimits>>

/** Applies stop sequences, the limit and the content filter, in this order, as a real model would meet them. */
export function applyLimits(input: PlanInput, output: PlannedOutput, reasoning: ReasoningPlan) {
  const { request, behaviour, digest, seed, limit } = input
  const reasoningTokens = Math.min(reasoning.tokens, limit)
  const left = limit - reasoningTokens
  const { tokens, proseLength, stopSequence } = applyStopSequences(output, request.stop, seed)
  const length = tokens?.length ?? proseLength
  const topLogprobs = request.logprobs === true ? (request.top_logprobs ?? 0) : null
  const words = Math.min(length, left, maxTextTokens(topLogprobs))
  const allToolCalls = truncateToolCalls(output.toolCalls, left)
  const isCut = words < length || allToolCalls !== output.toolCalls || reasoningTokens < reasoning.tokens
  const filter = behaviour.fault?.kind === 'content-filter' ? behaviour.fault.after : null
  const textTokens = Math.min(words, filter ?? words)
  const toolCalls = filter === null ? allToolCalls : []
  const naturalFinish = toolCalls.length > 0 ? 'tool_calls' : 'stop'
  const finishReason: FinishReason = filter !== null ? 'content_filter' : isCut ? 'length' : naturalFinish
  const completion = reasoningTokens + textTokens + countToolCallTokens(toolCalls)
  return {
    seed,
    /** Tokens of reasoning, shown or kept. */
    reasoningTokens,
    showsReasoning: reasoning.shown && reasoningTokens > 0,
    /** The tokens of the text when they are known beforehand; null for prose, which is made up as it goes. */
    fixedTokens: tokens,
    /** Length the prose would have without a limit: its last sentence ends there. */
    proseLength,
    /** Tokens of text that are shown. */
    textTokens,
    toolCalls,
    finishReason,
    /** The stop sequence that ended the text, unless something else did before. */
    stopSequence,
    /** Alternatives per token, or null when log probabilities were not asked for. */
    topLogprobs,
    usage: usageOf(digest, completion, reasoningTokens),
    serviceTier: request.service_tier === 'auto' ? 'default' : (request.service_tier ?? null),
  }
}

function usageOf(prompt: PromptDigest, completion: number, reasoning: number): Usage {
  return {
    prompt: prompt.tokens,
    completion,
    cached: prompt.cachedTokens,
    cacheWrite: 0,
    promptAudio: prompt.audioTokens,
    reasoning,
    completionAudio: 0,
  }
}

/** With stop sequences prose has to be made beforehand: a stop may begin in one token and end in the next. */
function applyStopSequences(
  { tokens, proseLength }: PlannedOutput,
  stop: ChatRequest['stop'],
  seed: RandomSeed,
) {
  const stops = typeof stop === 'string' ? [stop] : (stop ?? [])
  const cut = stops.length === 0 ? null : cutAtStopSequence(tokens ?? generateProse(seed, proseLength), stops)
  if (cut === null) return { tokens, proseLength, stopSequence: null }
  return { tokens: cut.kept, proseLength, stopSequence: cut.stop }
}

/** The tokens before the first of the stop sequences, and which one that is; null when none occurs. */
function cutAtStopSequence(
  tokens: readonly string[],
  stops: readonly string[],
): { readonly kept: string[]; readonly stop: string } | null {
  const text = tokens.join('')
  let end = Number.POSITIVE_INFINITY
  let first = ''
  for (const stop of stops) {
    const at = stop === '' ? -1 : text.indexOf(stop)
    if (at < 0 || at >= end) continue
    end = at
    first = stop
  }
  if (end === Number.POSITIVE_INFINITY) return null
  const kept: string[] = []
  for (let at = 0, i = 0; at < end; i++) {
    const token = tokens[i]!
    kept.push(token.slice(0, end - at))
    at += token.length
  }
  return { kept, stop: first }
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

/** One token for the name of each call, and one for each token of its arguments. */
function countToolCallTokens(calls: readonly PlannedToolCall[]): number {
  return calls.reduce((tokens, call) => tokens + 1 + call.argumentTokens.length, 0)
}
