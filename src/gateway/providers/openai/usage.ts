/**
 * Token figures of many servers, converted to one rule: the prompt includes what was cached, the completion includes
 * the reasoning (`Usage`). Nothing is then priced twice.
 */
import type { Usage } from '../../formats/canonical.js'
import { asObject, type JsonObject } from '../../formats/json-values.js'
import { UsageReader } from '../http/usage-reader.js'

/** The figures of an answer or a chunk; null when it holds none that can be believed. */
export function parseChatUsage(body: JsonObject): Usage | null {
  return updateChatUsage(null, body)
}

/** The figures of a stream after one more chunk: what it tells replaces what came before, also when it cannot be true. */
export function updateChatUsage(before: Usage | null, body: JsonObject): Usage | null {
  const told = asObject(body.usage) ?? asObject(asObject(body.x_groq)?.usage)
  if (told === null) return before
  const read = new UsageReader()
  const usage = convertFigures(told, read)
  if (!read.isPlausible) return null
  return usage ?? before
}

/** Figures under the names servers give them. Undefined is what was not said, or not as a count. */
interface TokenFigures {
  readonly prompt: number
  readonly completion: number
  readonly total: number | undefined
  readonly cached: number
  readonly cacheWrite: number
  readonly reasoning: number
  /** Names of the Messages format, whose input excludes what was cached. */
  readonly messagesNames: boolean
}

/** Details are parts of a sum and bounded by it: one that cannot be true counts as not told, and the sum is believed. */
function convertFigures(all: JsonObject, read: UsageReader): Usage | null {
  const inputs = asObject(all.prompt_tokens_details) ?? asObject(all.input_tokens_details)
  const outputs = asObject(all.completion_tokens_details) ?? asObject(all.output_tokens_details)
  const figures = readFigures(all, inputs, outputs, read)
  if (figures === null) return null
  const prompt = read.sum(totalPromptTokens(figures))
  const completion = read.sum(totalCompletionTokens(figures, prompt))
  const cached = Math.min(figures.cached, prompt)
  const parts = new UsageReader()
  return {
    prompt,
    completion,
    cached,
    cacheWrite: Math.min(figures.cacheWrite, prompt - cached),
    promptAudio: Math.min(parts.tokens(inputs?.audio_tokens) ?? 0, prompt),
    reasoning: Math.min(figures.reasoning, completion),
    completionAudio: Math.min(parts.tokens(outputs?.audio_tokens) ?? 0, completion),
  }
}

function readFigures(
  all: JsonObject,
  inputs: JsonObject | null,
  outputs: JsonObject | null,
  read: UsageReader,
): TokenFigures | null {
  const total = read.tokens(all.total_tokens)
  const prompt = read.tokens(all.prompt_tokens) ?? read.tokens(all.input_tokens)
  const completion =
    read.tokens(all.completion_tokens) ?? read.tokens(all.output_tokens) ?? remainingTokens(total, prompt)
  if (prompt === undefined || completion === undefined) return null
  const parts = new UsageReader()
  return {
    prompt,
    completion,
    total,
    cached:
      parts.tokens(inputs?.cached_tokens) ??
      read.tokens(all.prompt_cache_hit_tokens) ??
      read.tokens(all.cache_read_input_tokens) ??
      read.tokens(all.cached_tokens) ??
      0,
    cacheWrite:
      parts.tokens(inputs?.cache_write_tokens) ??
      parts.tokens(inputs?.cache_creation_tokens) ??
      read.tokens(all.cache_creation_input_tokens) ??
      0,
    reasoning: parts.tokens(outputs?.reasoning_tokens) ?? read.tokens(all.reasoning_tokens) ?? 0,
    messagesNames: all.prompt_tokens === undefined && inputs === null,
  }
}

/** An answer can be without a completion, a prompt cannot be guessed. */
function remainingTokens(total: number | undefined, prompt: number | undefined): number | undefined {
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

/** The total decides when it is told, then the names; a cache larger than its prompt cannot be a part of it. */
function totalPromptTokens({
  prompt,
  completion,
  total,
  cached,
  cacheWrite,
  messagesNames,
}: TokenFigures): number {
  const beside = cached + cacheWrite
  if (beside === 0 || total === prompt + completion) return prompt + (messagesNames ? beside : 0)
  const excluded = messagesNames || total === prompt + beside + completion || beside > prompt
  return excluded ? prompt + beside : prompt
}

/** Some servers count the reasoning beside the completion; their total, or its size, gives them away. */
function totalCompletionTokens({ completion, total, reasoning }: TokenFigures, prompt: number): number {
  const excluded = reasoning > completion || (reasoning > 0 && total === prompt + completion + reasoning)
  return excluded ? completion + reasoning : completion
}
