/**
 * Token figures of many servers, converted to one rule: the prompt includes what was cached, the completion includes
 * the reasoning (`Usage`). Nothing is then priced twice.
 */
import type { Usage } from '../../formats/canonical.js'
import { type Members, objectOf } from '../../formats/shape.js'
import { FigureReader } from '../http/figures.js'

/** The figures of an answer or a chunk; null when it holds none that can be believed. */
export function usageOf(body: Members): Usage | null {
  return laterUsage(null, body)
}

/** The figures of a stream after one more chunk: what it tells replaces what came before, also when it cannot be true. */
export function laterUsage(before: Usage | null, body: Members): Usage | null {
  const told = objectOf(body.usage) ?? objectOf(objectOf(body.x_groq)?.usage)
  if (told === null) return before
  const read = new FigureReader()
  const usage = converted(told, read)
  if (!read.believable) return null
  return usage ?? before
}

/** Figures under the names servers give them. Undefined is what was not said, or not as a count. */
interface Figures {
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
function converted(all: Members, read: FigureReader): Usage | null {
  const inputs = objectOf(all.prompt_tokens_details) ?? objectOf(all.input_tokens_details)
  const outputs = objectOf(all.completion_tokens_details) ?? objectOf(all.output_tokens_details)
  const figures = figuresOf(all, inputs, outputs, read)
  if (figures === null) return null
  const prompt = read.sum(wholePrompt(figures))
  const completion = read.sum(wholeCompletion(figures, prompt))
  const cached = Math.min(figures.cached, prompt)
  const parts = new FigureReader()
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

function figuresOf(
  all: Members,
  inputs: Members | null,
  outputs: Members | null,
  read: FigureReader,
): Figures | null {
  const total = read.tokens(all.total_tokens)
  const prompt = read.tokens(all.prompt_tokens) ?? read.tokens(all.input_tokens)
  const completion =
    read.tokens(all.completion_tokens) ?? read.tokens(all.output_tokens) ?? rest(total, prompt)
  if (prompt === undefined || completion === undefined) return null
  const parts = new FigureReader()
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
function rest(total: number | undefined, prompt: number | undefined): number | undefined {
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

/** The total decides when it is told, then the names; a cache larger than its prompt cannot be a part of it. */
function wholePrompt({ prompt, completion, total, cached, cacheWrite, messagesNames }: Figures): number {
  const beside = cached + cacheWrite
  if (beside === 0 || total === prompt + completion) return prompt + (messagesNames ? beside : 0)
  const excluded = messagesNames || total === prompt + beside + completion || beside > prompt
  return excluded ? prompt + beside : prompt
}

/** Some servers count the reasoning beside the completion; their total, or its size, gives them away. */
function wholeCompletion({ completion, total, reasoning }: Figures, prompt: number): number {
  const excluded = reasoning > completion || (reasoning > 0 && total === prompt + completion + reasoning)
  return excluded ? completion + reasoning : completion
}
