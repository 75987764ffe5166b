/**
 * The token figures of answers. Converted to one rule: the prompt includes what was cached, the completion the
 * reasoning. Nothing is priced twice.
 */
import { type Usage, type UsageDetails, withoutZeros } from '../../formats/canonical.js'
import { asObject, type JsonObject, UsageReader } from '../../formats/json-values.js'

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

/** Details are parts of a sum and bounded by it: one that cannot be true counts as not told, and the sum is believed. */
function convertFigures(all: JsonObject, read: UsageReader): Usage | null {
  const inputs = asObject(all.prompt_tokens_details) ?? asObject(all.input_tokens_details)
  const outputs = asObject(all.completion_tokens_details) ?? asObject(all.output_tokens_details)
  const total = read.tokens(all.total_tokens)
  const input = read.tokens(all.prompt_tokens) ?? read.tokens(all.input_tokens)
  const output =
    read.tokens(all.completion_tokens) ?? read.tokens(all.output_tokens) ?? remainingTokens(total, input)
  if (input === undefined || output === undefined) return null
  const parts = new UsageReader()
  const cached =
    parts.tokens(inputs?.cached_tokens) ??
    read.tokens(all.prompt_cache_hit_tokens) ??
    read.tokens(all.cache_read_input_tokens) ??
    read.tokens(all.cached_tokens) ??
    0
  const cacheWrite =
    parts.tokens(inputs?.cache_write_tokens) ??
    parts.tokens(inputs?.cache_creation_tokens) ??
    read.tokens(all.cache_creation_input_tokens) ??
    0
  const reasoning = parts.tokens(outputs?.reasoning_tokens) ?? read.tokens(all.reasoning_tokens) ?? 0
  // The input of the Messages format excludes what was cached. Under other names the total decides where it is told;
  // and a cache larger than its prompt cannot be a part of it.
  const hasMessagesNames = all.prompt_tokens === undefined && inputs === null
  const cache = cached + cacheWrite
  const isBeside = total !== input + output && (total === input + cache + output || cache > input)
  const prompt = read.sum(hasMessagesNames || isBeside ? input + cache : input)
  // Some servers count the reasoning beside the completion; their total, or its size, gives them away.
  const isLeftOut = reasoning > output || total === prompt + output + reasoning
  const completion = read.sum(isLeftOut ? output + reasoning : output)
  const fromCache = Math.min(cached, prompt)
  const written = Math.min(cacheWrite, prompt - fromCache)
  const promptAudio = Math.min(parts.tokens(inputs?.audio_tokens) ?? 0, prompt - fromCache - written)
  const thought = Math.min(reasoning, completion)
  const completionAudio = Math.min(parts.tokens(outputs?.audio_tokens) ?? 0, completion - thought)
  const usage = {
    prompt,
    completion,
    cached: fromCache,
    cacheWrite: written,
    promptAudio,
    reasoning: thought,
    completionAudio,
  }
  const details = readDetails(all, inputs, outputs, usage, read)
  return details === null ? usage : { ...usage, details }
}

/** An answer can be without a completion, a prompt cannot be guessed. */
function remainingTokens(total: number | undefined, prompt: number | undefined): number | undefined {
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

/**
 * Whether the figures tell of more than the usual kinds, as those of few servers do. Names are written out: looking them
 * up one by one costs more than all the rest.
 */
function tellsMore(all: JsonObject, inputs: JsonObject | null, outputs: JsonObject | null): boolean {
  if (all.server_tool_use_details || all.server_tool_use || all.num_search_queries || all.cache_creation)
    return true
  return tellsMoreKinds(inputs) || tellsMoreKinds(outputs)
}

function tellsMoreKinds(details: JsonObject | null): boolean {
  if (details === null) return false
  if (details.image_tokens || details.video_tokens) return true
  if (details.cache_creation_token_details || details.cache_creation) return true
  return Boolean(details.accepted_prediction_tokens || details.rejected_prediction_tokens)
}

/** What is told beyond the usual kinds; null where that is nothing. Each kind is a part of what is left of its sum. */
function readDetails(
  all: JsonObject,
  inputs: JsonObject | null,
  outputs: JsonObject | null,
  { prompt, cached, cacheWrite, promptAudio, completion, reasoning, completionAudio }: Usage,
  read: UsageReader,
): UsageDetails | null {
  if (!tellsMore(all, inputs, outputs)) return null
  const parts = new UsageReader()
  const pictured = prompt - cached - cacheWrite - promptAudio
  const promptImage = Math.min(parts.tokens(inputs?.image_tokens) ?? 0, pictured)
  const painted = completion - reasoning - completionAudio
  const told: UsageDetails = {
    cacheWrite1h: Math.min(hourTokens(all, inputs, parts), cacheWrite),
    promptImage,
    promptVideo: Math.min(parts.tokens(inputs?.video_tokens) ?? 0, pictured - promptImage),
    completionImage: Math.min(parts.tokens(outputs?.image_tokens) ?? 0, painted),
    acceptedPrediction: Math.min(parts.tokens(outputs?.accepted_prediction_tokens) ?? 0, completion),
    rejectedPrediction: Math.min(parts.tokens(outputs?.rejected_prediction_tokens) ?? 0, completion),
    ...toolFigures(all, read),
  }
  return withoutZeros(told)
}

/** As gateways in front of servers with two kinds of cache tell it. */
function hourTokens(all: JsonObject, inputs: JsonObject | null, parts: UsageReader): number {
  const kinds =
    asObject(inputs?.cache_creation_token_details) ??
    asObject(inputs?.cache_creation) ??
    asObject(all.cache_creation)
  return parts.tokens(kinds?.ephemeral_1h_input_tokens) ?? 0
}

function toolFigures(all: JsonObject, read: UsageReader): UsageDetails {
  const used = asObject(all.server_tool_use_details) ?? asObject(all.server_tool_use)
  return {
    webSearches: read.uses(used?.web_search_requests) ?? read.uses(all.num_search_queries) ?? 0,
    webFetches: read.uses(used?.web_fetch_requests) ?? 0,
    toolCallsRequested: read.uses(used?.tool_calls_requested) ?? 0,
    toolCallsExecuted: read.uses(used?.tool_calls_executed) ?? 0,
  }
}
