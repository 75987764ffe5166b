import type { ChatRequest, FinishReason } from '../../gateway/formats/canonical.js'
import type { CompiledBehaviour } from '../compiled-behaviour.js'
import { LANE, Random, type Seed } from '../random.js'
import { cutBefore } from './pieces.js'
import type { PromptReading } from './prompt-reading.js'
import { Prose } from './prose.js'
import type { Answer, PlannedCall } from './script.js'

/**
 * Longest answer of any model, about 1 MB of text: a caller may ask for a number without end, and a whole answer is
 * built in one turn.
 */
export const MOST_TOKENS = 131_072

/** Most log probabilities of one answer, alternatives included: about 5 MB. Further tokens are not said. */
const MOST_LOGPROBS = 50_000

/** What one answer says, before limits: text in tokens, or prose of some length, or tool calls. */
export interface Said {
  readonly pieces: readonly string[] | null
  readonly proseLength: number
  readonly calls: readonly PlannedCall[]
}

export const NO_CALLS: readonly PlannedCall[] = []

/** Most tokens the answer may have, reasoning included. */
export function tokenLimit(request: ChatRequest, ofModel: number | null): number {
  const asked = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY
  return Math.min(asked, ofModel ?? MOST_TOKENS, MOST_TOKENS)
}

/** Tokens of text whose log probabilities may be told. A stream has the same limit, so that it says the same. */
function mostWords(topLogprobs: number | null): number {
  return topLogprobs === null ? MOST_TOKENS : Math.floor(MOST_LOGPROBS / (topLogprobs + 1))
}

/** Applies stop sequences, the limit and the content filter, in this order, as a real model would meet them. */
export function withinLimits(
  request: ChatRequest,
  behaviour: CompiledBehaviour,
  said: Said,
  reasoning: { readonly tokens: number; readonly told: boolean },
  limit: number,
  reading: PromptReading,
  seed: Seed,
): Answer {
  const thoughts = Math.min(reasoning.tokens, limit)
  const stopped = applyStops(said, request.stop, seed)
  const length = stopped.pieces?.length ?? stopped.proseLength
  const topLogprobs = request.logprobs === true ? (request.top_logprobs ?? 0) : null
  const words = Math.min(length, limit - thoughts, mostWords(topLogprobs))
  const calls = limitCalls(stopped.calls, limit - thoughts)
  const callTokens = tokensOf(calls)
  const short = words < length || callTokens < tokensOf(stopped.calls) || thoughts < reasoning.tokens
  const natural: FinishReason = calls.length > 0 ? 'tool_calls' : 'stop'
  const filter = behaviour.fault?.kind === 'content-filter' ? behaviour.fault.after : null
  const spoken = filter === null ? words : Math.min(words, filter)
  const usedCalls = filter === null ? calls : NO_CALLS
  return {
    seed,
    thoughts,
    tellsThoughts: reasoning.told && thoughts > 0,
    pieces: stopped.pieces,
    proseLength: stopped.proseLength,
    words: spoken,
    calls: usedCalls,
    finish: filter !== null ? 'content_filter' : short ? 'length' : natural,
    stoppedBy: stopped.stoppedBy,
    topLogprobs,
    usage: {
      prompt: reading.tokens,
      completion: thoughts + spoken + (filter === null ? callTokens : 0),
      cached: reading.cached,
      cacheWrite: 0,
      promptAudio: reading.audio,
      reasoning: thoughts,
      completionAudio: 0,
    },
    serviceTier: tierOf(request.service_tier),
  }
}

/** With stop sequences prose has to be told beforehand: a stop may begin in one token and end in the next. */
function applyStops(said: Said, stop: ChatRequest['stop'], seed: Seed): Said & { stoppedBy: string | null } {
  const stops = typeof stop === 'string' ? [stop] : (stop ?? [])
  if (stops.length === 0) return { ...said, stoppedBy: null }
  const pieces = said.pieces ?? proseTokens(seed, said.proseLength)
  const cut = cutBefore(pieces, stops)
  if (cut === null) return { ...said, stoppedBy: null }
  return { ...said, pieces: cut.kept, stoppedBy: cut.stop }
}

function proseTokens(seed: Seed, length: number): string[] {
  const prose = new Prose(new Random(seed, LANE.words), length)
  return Array.from({ length }, () => prose.next())
}

/** Calls as far as the limit reaches; the last one may break off in its arguments, as with real models. */
function limitCalls(calls: readonly PlannedCall[], limit: number): readonly PlannedCall[] {
  if (tokensOf(calls) <= limit) return calls
  const kept: PlannedCall[] = []
  let left = limit
  for (const call of calls) {
    if (left <= 0) break
    kept.push({ ...call, pieces: call.pieces.slice(0, left - 1) })
    left -= 1 + call.pieces.length
  }
  return kept
}

/** One token for the name of each call, and one for each piece of its arguments. */
function tokensOf(calls: readonly PlannedCall[]): number {
  let tokens = 0
  for (const call of calls) tokens += 1 + call.pieces.length
  return tokens
}

function tierOf(asked: string | null | undefined): string | null {
  if (asked === undefined || asked === null) return null
  return asked === 'auto' ? 'default' : asked
}
