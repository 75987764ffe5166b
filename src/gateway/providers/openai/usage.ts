/**
 * Token figures of many servers, converted to one rule: the prompt includes what was cached, the completion includes
 * the reasoning (`Usage`). Nothing is then priced twice.
 */
import type { Usage } from '../../canonical.js'
import { countOf, type Members, objectOf } from '../http/shape.js'

/** The figures of an answer or a chunk; null when it holds none that can be believed. */
export function usageOf(body: Members): Usage | null {
  const figures = objectOf(body.usage) ?? objectOf(objectOf(body.x_groq)?.usage)
  return figures === null ? null : converted(figures)
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

function converted(all: Members): Usage | null {
  const inputs = objectOf(all.prompt_tokens_details) ?? objectOf(all.input_tokens_details)
  const outputs = objectOf(all.completion_tokens_details) ?? objectOf(all.output_tokens_details)
  const figures = figuresOf(all, inputs, outputs)
  if (figures === null) return null
  const prompt = wholePrompt(figures)
  const completion = wholeCompletion(figures, prompt)
  const cached = Math.min(figures.cached, prompt)
  return {
    prompt,
    completion,
    cached,
    cacheWrite: Math.min(figures.cacheWrite, prompt - cached),
    promptAudio: Math.min(countOf(inputs?.audio_tokens) ?? 0, prompt),
    reasoning: Math.min(figures.reasoning, completion),
    completionAudio: Math.min(countOf(outputs?.audio_tokens) ?? 0, completion),
  }
}

function figuresOf(all: Members, inputs: Members | null, outputs: Members | null): Figures | null {
  const total = countOf(all.total_tokens)
  const prompt = countOf(all.prompt_tokens) ?? countOf(all.input_tokens)
  const completion = countOf(all.completion_tokens) ?? countOf(all.output_tokens) ?? rest(total, prompt)
  if (prompt === undefined || completion === undefined) return null
  return {
    prompt,
    completion,
    total,
    cached: firstCount(
      inputs?.cached_tokens,
      all.prompt_cache_hit_tokens,
      all.cache_read_input_tokens,
      all.cached_tokens,
    ),
    cacheWrite: firstCount(
      inputs?.cache_write_tokens,
      inputs?.cache_creation_tokens,
      all.cache_creation_input_tokens,
    ),
    reasoning: firstCount(outputs?.reasoning_tokens, all.reasoning_tokens),
    messagesNames: all.prompt_tokens === undefined && inputs === null,
  }
}

/** An answer can be without a completion, a prompt cannot be guessed. */
function rest(total: number | undefined, prompt: number | undefined): number | undefined {
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

function firstCount(...values: readonly unknown[]): number {
  for (const value of values) {
    const count = countOf(value)
    if (count !== undefined) return count
  }
  return 0
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
