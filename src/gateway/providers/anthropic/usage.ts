/**
 * Token figures, converted to the one rule (`Usage`): here `input_tokens` leaves out what was read from the cache and
 * what was written to it, and there the prompt includes both.
 */
import { type Usage, withoutZeros } from '../../formats/canonical.js'
import { asObject, type JsonObject, objectsIn, UsageReader } from '../../formats/json-values.js'
import type { MessagesUsage } from '../../formats/messages.js'

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
  const { service_tier, inference_geo, speed } = figures
  return { service_tier, inference_geo, ...(speed !== undefined && { speed }) }
}

/** Later figures are totals: they replace earlier ones, save where they say nothing. */
export function mergeFigures(before: MessagesUsage | null, figures: MessagesUsage): MessagesUsage {
  if (before === null) return figures
  const told = Object.entries(figures).filter(([, value]) => value !== null && value !== undefined)
  return { ...before, ...Object.fromEntries(told) }
}

function toUsage(figures: JsonObject, read: UsageReader): Usage | null {
  const turn = turnFigures(figures, read)
  // Compacting the conversation is billed and stands beside the totals, not in them.
  for (const one of objectsIn(figures.iterations)) {
    if (one.type === 'compaction') addFigures(turn, turnFigures(one, read))
  }
  read.sum(turn.prompt)
  read.sum(turn.completion)
  const isTold = [figures.input_tokens, figures.output_tokens].some((sum) => typeof sum === 'number')
  if (!isTold) return null
  const { cacheWrite1h, webSearches, webFetches, ...usage } = turn
  if (cacheWrite1h === 0 && webSearches === 0 && webFetches === 0) return usage
  return { ...usage, details: withoutZeros({ cacheWrite1h, webSearches, webFetches })! }
}

type TurnFigures = ReturnType<typeof turnFigures>

function turnFigures(figures: JsonObject, read: UsageReader) {
  const creation = asObject(figures.cache_creation)
  const short = read.tokens(creation?.ephemeral_5m_input_tokens) ?? 0
  const long = read.tokens(creation?.ephemeral_1h_input_tokens) ?? 0
  const cached = read.tokens(figures.cache_read_input_tokens) ?? 0
  const cacheWrite = read.tokens(figures.cache_creation_input_tokens) ?? short + long
  const completion = read.tokens(figures.output_tokens) ?? 0
  // A part of the completion and bounded by it: whatever it says, the sums are believed.
  const thought = new UsageReader().tokens(asObject(figures.output_tokens_details)?.thinking_tokens) ?? 0
  const used = asObject(figures.server_tool_use)
  return {
    prompt: (read.tokens(figures.input_tokens) ?? 0) + cached + cacheWrite,
    completion,
    cached,
    cacheWrite,
    promptAudio: 0,
    reasoning: Math.min(thought, completion),
    completionAudio: 0,
    cacheWrite1h: Math.min(long, cacheWrite),
    webSearches: read.uses(used?.web_search_requests) ?? 0,
    webFetches: read.uses(used?.web_fetch_requests) ?? 0,
  }
}

function addFigures(sum: TurnFigures, other: TurnFigures): void {
  for (const name of Object.keys(sum) as (keyof TurnFigures)[]) sum[name] += other[name]
}
