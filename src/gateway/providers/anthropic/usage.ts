/**
 * Token figures of the messages format, converted to the one rule (`Usage`): here `input_tokens` leaves out what was
 * read from the cache and what was written to it, and there the prompt includes both.
 */
import type { Usage } from '../../formats/canonical.js'
import { asObject, type JsonObject, objectsIn } from '../../formats/json-values.js'
import type { MessagesUsage } from '../../formats/messages.js'
import { UsageReader } from '../http/usage-reader.js'

/** Null when the figures say neither what went in nor what came out, or what cannot be true. */
export function parseMessagesUsage(figures: MessagesUsage | null): Usage | null {
  if (figures === null) return null
  const read = new UsageReader()
  const usage = toUsage(figures, read)
  return read.isPlausible ? usage : null
}

/** Figures as they go on to the caller: of those that cannot be true only what is no figure. */
export function plausibleFigures(figures: MessagesUsage | null): MessagesUsage | null {
  if (figures === null) return null
  const read = new UsageReader()
  toUsage(figures, read)
  if (read.isPlausible) return figures
  const { service_tier, inference_geo } = figures
  return { service_tier, inference_geo }
}

function toUsage(figures: JsonObject, read: UsageReader): Usage | null {
  const input = read.tokens(figures.input_tokens)
  const output = read.tokens(figures.output_tokens)
  const usage = compactionUsages(figures, read).reduce(addUsage, turnUsage(figures, read))
  read.sum(usage.prompt)
  read.sum(usage.completion)
  return input === undefined && output === undefined ? null : usage
}

function turnUsage(figures: JsonObject, read: UsageReader): Usage {
  const cached = read.tokens(figures.cache_read_input_tokens) ?? 0
  const cacheWrite =
    read.tokens(figures.cache_creation_input_tokens) ??
    cacheWriteTokens(asObject(figures.cache_creation), read)
  const completion = read.tokens(figures.output_tokens) ?? 0
  // A part of the completion and bounded by it: whatever it says, the sums are believed.
  const thought = new UsageReader().tokens(asObject(figures.output_tokens_details)?.thinking_tokens) ?? 0
  return {
    prompt: (read.tokens(figures.input_tokens) ?? 0) + cached + cacheWrite,
    completion,
    cached,
    cacheWrite,
    promptAudio: 0,
    reasoning: Math.min(thought, completion),
    completionAudio: 0,
  }
}

function cacheWriteTokens(creation: JsonObject | null, read: UsageReader): number {
  if (creation === null) return 0
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = creation
  return (read.tokens(short) ?? 0) + (read.tokens(long) ?? 0)
}

/** Compacting the conversation is billed and stands beside the totals, not in them. */
function compactionUsages(figures: JsonObject, read: UsageReader): readonly Usage[] {
  return objectsIn(figures.iterations)
    .filter(({ type }) => type === 'compaction')
    .map((one) => turnUsage(one, read))
}

function addUsage(one: Usage, other: Usage): Usage {
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
export function mergeFigures(before: MessagesUsage | null, figures: MessagesUsage): MessagesUsage {
  if (before === null) return figures
  const told = Object.entries(figures).filter(([, value]) => value !== null && value !== undefined)
  return { ...before, ...Object.fromEntries(told) }
}
