/**
 * Token figures of the messages format, converted to the one rule (`Usage`): here `input_tokens` leaves out what was
 * read from the cache and what was written to it, and there the prompt includes both.
 */
import type { Usage } from '../../canonical.js'
import type { MessagesUsage } from '../../messages.js'
import { countOf, type Members, objectOf, objectsIn } from '../http/shape.js'

/** Null when the figures say neither what went in nor what came out. */
export function usageOf(figures: MessagesUsage | null): Usage | null {
  if (figures === null) return null
  const input = countOf(figures.input_tokens)
  const output = countOf(figures.output_tokens)
  if (input === undefined && output === undefined) return null
  return compactions(figures).reduce(sum, single(figures))
}

function single(figures: Members): Usage {
  const cached = countOf(figures.cache_read_input_tokens) ?? 0
  const cacheWrite = countOf(figures.cache_creation_input_tokens) ?? written(objectOf(figures.cache_creation))
  const completion = countOf(figures.output_tokens) ?? 0
  const thought = countOf(objectOf(figures.output_tokens_details)?.thinking_tokens) ?? 0
  return {
    prompt: (countOf(figures.input_tokens) ?? 0) + cached + cacheWrite,
    completion,
    cached,
    cacheWrite,
    promptAudio: 0,
    reasoning: Math.min(thought, completion),
    completionAudio: 0,
  }
}

function written(creation: Members | null): number {
  if (creation === null) return 0
  return (
    (countOf(creation.ephemeral_5m_input_tokens) ?? 0) + (countOf(creation.ephemeral_1h_input_tokens) ?? 0)
  )
}

/** Compacting the conversation is billed and stands beside the totals, not in them. */
function compactions(figures: Members): readonly Usage[] {
  return objectsIn(figures.iterations)
    .filter(({ type }) => type === 'compaction')
    .map(single)
}

function sum(one: Usage, other: Usage): Usage {
  return {
    prompt: one.prompt + other.prompt,
    completion: one.completion + other.completion,
    cached: one.cached + other.cached,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    promptAudio: 0,
    reasoning: one.reasoning + other.reasoning,
    completionAudio: 0,
  }
}

/** Later figures are totals: they replace earlier ones, save where they say nothing. */
export function later(before: MessagesUsage | null, figures: MessagesUsage): MessagesUsage {
  if (before === null) return figures
  const told = Object.entries(figures).filter(([, value]) => value !== null && value !== undefined)
  return { ...before, ...Object.fromEntries(told) }
}
