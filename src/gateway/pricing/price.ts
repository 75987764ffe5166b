/** What a call costs, and what is set aside for it before it runs. */
import { checkedNanos, roundToNanos, tokenCost } from '../../base/money.js'
import type { ModelEndpoint, Prices } from '../catalog/catalog.js'
import {
  maxTranscriptionUsage,
  type SpeechRequest,
  speechUsage,
  type TranscriptionRequest,
} from '../formats/audio.js'
import { type InferenceOperation, NO_USAGE, type RoutedRequest, type Usage } from '../formats/canonical.js'
import { forEachContentLeaf } from '../formats/content-parts.js'
import { ATTACHMENT_TOKENS, MESSAGE_TOKENS, type OutputSample } from '../metering/format.js'

/** Nano-dollars. `total` is rounded once and may differ from the parts by one. */
export interface CallCost {
  readonly total: number
  readonly prompt: number
  readonly completion: number
}

/**
 * The cost of a call. `usage` keeps the canonical rule (prompt includes cached and written tokens, completion
 * includes reasoning), so each kind is taken out of its sum before the rest is priced. A kind without a price of
 * its own costs what the tokens around it cost. Throws `RangeError` when that is no amount of money.
 */
export function costOf(usage: Usage, prices: Prices): CallCost {
  if (usage.milliseconds !== undefined || usage.characters !== undefined) return audioCost(usage, prices)
  const { prompt, cached, cacheWrite, promptAudio, completion, reasoning, completionAudio } = usage
  const read = prices.inputCacheRead ?? prices.prompt
  const write = prices.inputCacheWrite ?? prices.prompt
  const heard = prices.inputAudio ?? prices.prompt
  const thought = prices.internalReasoning ?? prices.completion
  const spoken = prices.outputAudio ?? prices.completion
  const plain = atLeast0(prompt - cached - cacheWrite - promptAudio)
  const said = atLeast0(completion - reasoning - completionAudio)
  // Plain numbers, without a list in between: this runs on every call, and they are exact nearly always.
  const asked = plain * prices.prompt + cached * read + cacheWrite * write + promptAudio * heard
  const answered = said * prices.completion + reasoning * thought + completionAudio * spoken
  if (asked + answered < EXACT_BELOW) {
    return {
      total: checkedNanos(roundNumberToNanos(asked + answered) + prices.request),
      prompt: roundNumberToNanos(asked),
      completion: roundNumberToNanos(answered),
    }
  }
  const exactly =
    tokenCost(plain, prices.prompt) +
    tokenCost(cached, read) +
    tokenCost(cacheWrite, write) +
    tokenCost(promptAudio, heard)
  const exactlySaid =
    tokenCost(said, prices.completion) + tokenCost(reasoning, thought) + tokenCost(completionAudio, spoken)
  return {
    total: checkedNanos(roundToNanos(exactly + exactlySaid) + prices.request),
    prompt: roundToNanos(exactly),
    completion: roundToNanos(exactlySaid),
  }
}

/** What was heard or spoken, and tokens beside it where a provider counts both. */
function audioCost({ milliseconds = 0, characters = 0, ...tokens }: Usage, prices: Prices): CallCost {
  const { prompt, completion } = costOf(tokens, prices)
  const heard = roundNumberToNanos((milliseconds * (prices.audioSecond ?? 0)) / 1000)
  const spoken = roundNumberToNanos(characters * (prices.inputCharacter ?? 0))
  const asked = prompt + heard + spoken
  return { total: checkedNanos(asked + completion + prices.request), prompt: checkedNanos(asked), completion }
}

/** The cost of a call; null when it is no amount of money, so that it cannot be charged. */
export function chargeableCost(usage: Usage, prices: Prices): CallCost | null {
  try {
    return costOf(usage, prices)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const MILLION = 1_000_000
/** Below this, sums and the division by a million are exact in plain numbers, which cost a tenth of big ones. */
const EXACT_BELOW = 2 ** 52

/** Figures that overlap count as nothing, not less. */
function atLeast0(tokens: number): number {
  return tokens > 0 ? tokens : 0
}

/** Nano-dollars of a sum of priced tokens, halves rounded up. */
function roundNumberToNanos(sum: number): number {
  return checkedNanos(Math.floor((sum + MILLION / 2) / MILLION))
}

// ── Reservations ─────────────────────────────────────────────────────────────

/**
 * What is set aside for an inference before it runs. A bounded guess: the whole of `max_tokens` would make small
 * balances unusable, and nothing at all would let concurrent calls spend the same money. What an answer costs beyond
 * it is charged all the same.
 */
export interface Reservation {
  readonly promptTokens: number
  readonly completionTokens: number
  /** Nano-dollars, at the prices of the dearest endpoint of the plan. */
  readonly cost: number
  /** Nano-dollars of that which do not depend on the length of the answer. */
  readonly fixed: number
  /** Nano-dollars per million tokens of the answer. */
  readonly perMillion: number
}

/** Most tokens of an answer that are set aside, whatever the request allows. */
export const MAX_RESERVED_TOKENS = 4096
/** Where the request does not say how long the answer may be. */
export const DEFAULT_RESERVED_TOKENS = 1024
/** A low figure: English has four characters to a token, other texts have fewer. */
const CHARS_PER_TOKEN = 3
/** Of sound that is made, where a provider counts tokens. */
const SOUND_TOKENS_PER_CHAR = 2
/** Of a tool's parameters, whose text is not measured. */
const TOOL_TOKENS = 64

export function reservationFor(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoints: readonly ModelEndpoint[],
): Reservation {
  switch (operation) {
    case 'speech':
      return speechReservation(request as SpeechRequest, endpoints)
    case 'transcription':
      return dearestReservation(endpoints, maxTranscriptionUsage((request as TranscriptionRequest).audio))
    default:
      return textReservation(request as MeasuredRequest, endpoints)
  }
}

function textReservation(request: MeasuredRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const promptTokens = estimatePromptTokens(request)
  const allowed = reservedAnswerTokens(request)
  let dearest: Reservation | null = null
  for (const endpoint of endpoints) {
    const most = Math.min(allowed, endpoint.maxCompletionTokens ?? allowed)
    const one = reservationAtPrices(promptTokens, most, endpoint.prices)
    if (dearest === null || one.cost > dearest.cost) dearest = one
  }
  return dearest!
}

function reservationAtPrices(promptTokens: number, completionTokens: number, prices: Prices): Reservation {
  const asked = Math.max(prices.prompt, prices.inputCacheWrite ?? 0)
  const perMillion = Math.max(prices.completion, prices.internalReasoning ?? 0)
  const fixed = Math.ceil((promptTokens * asked) / MILLION) + prices.request
  const cost = fixed + Math.ceil((completionTokens * perMillion) / MILLION)
  return { promptTokens, completionTokens, cost, fixed, perMillion }
}

/** How many tokens of answer fit into that many nano-dollars; null when not even the question does. */
export function affordableTokens(nanos: number, { fixed, perMillion }: Reservation): number | null {
  if (nanos < fixed) return null
  return perMillion === 0 ? MAX_RESERVED_TOKENS : Math.floor(((nanos - fixed) * MILLION) / perMillion)
}

/** What is measured of a request, whatever its format: the names are the same in all of them. */
interface MeasuredRequest {
  readonly messages?: readonly { readonly content?: unknown }[]
  readonly system?: unknown
  readonly tools?: readonly unknown[]
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

function reservedAnswerTokens({ max_tokens: most, max_completion_tokens: newer }: MeasuredRequest): number {
  return Math.min(newer ?? most ?? DEFAULT_RESERVED_TOKENS, MAX_RESERVED_TOKENS)
}

function estimatePromptTokens({ messages = [], system, tools }: MeasuredRequest): number {
  let chars = countContentCharacters(system)
  for (const { content } of messages) chars += countContentCharacters(content)
  const framing = messages.length * MESSAGE_TOKENS + (tools?.length ?? 0) * TOOL_TOKENS
  return Math.ceil(chars / CHARS_PER_TOKEN) + framing
}

/** Characters of a content; whatever is no text counts like an attachment. Never looks into media. */
function countContentCharacters(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  let chars = 0
  forEachContentLeaf(content, (leaf) => {
    if (typeof leaf === 'string') chars += leaf.length
    else if (typeof leaf.text === 'string') chars += leaf.text.length
    else if (leaf.content === undefined) chars += ATTACHMENT_TOKENS * CHARS_PER_TOKEN
  })
  return chars
}

// ── Speech and transcription ────────────────────────────────────────────────

/** Characters are known exactly; tokens are guessed where they are what is paid for. */
function speechReservation(request: SpeechRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const spoken = speechUsage(request.input)
  const characters = spoken.characters ?? 0
  const completion = characters * SOUND_TOKENS_PER_CHAR
  return dearestReservation(endpoints, {
    ...spoken,
    prompt: Math.ceil(characters / CHARS_PER_TOKEN),
    completion,
    completionAudio: completion,
  })
}

/** Nothing of it depends on how long the answer may be, so there is nothing that would fit instead. */
function dearestReservation(endpoints: readonly ModelEndpoint[], usage: Usage): Reservation {
  let cost = 0
  let tokens = false
  for (const { prices } of endpoints) {
    const counted = billsTokens(prices)
    tokens ||= counted
    cost = Math.max(cost, costOf(counted ? usage : { ...usage, ...NO_TOKENS }, prices).total)
  }
  const { prompt, completion } = tokens ? usage : NO_TOKENS
  return { promptTokens: prompt, completionTokens: completion, cost, fixed: cost, perMillion: 0 }
}

const NO_TOKENS = { prompt: 0, promptAudio: 0, completion: 0, completionAudio: 0 }

/** A provider is paid for tokens, or for seconds and characters. */
function billsTokens({ audioSecond, inputCharacter }: Prices): boolean {
  return audioSecond === null && inputCharacter === null
}

// ── Where nothing was counted ──────────────────────────────────────────

/**
 * The prompt as its reservation measures it, and the answer by the length of its text; where that is not known, as much
 * as was set aside for it.
 */
export function guessUsage(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoint: ModelEndpoint,
  sample: OutputSample | null,
): Usage {
  const { promptTokens, completionTokens } = reservationFor(operation, request, [endpoint])
  const reasoning = sample === null ? 0 : Math.ceil(sample.reasoning.length / CHARS_PER_TOKEN)
  const content = sample === null ? completionTokens : Math.ceil(sample.content.length / CHARS_PER_TOKEN)
  return { ...NO_USAGE, prompt: promptTokens, completion: content + reasoning, reasoning }
}

/**
 * What a call that its provider has lost may have cost there: the question, and of the answer what was heard of it or,
 * where it would have come whole (`sample` is null), as much as was set aside for it.
 */
export function guessLoss(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoint: ModelEndpoint,
  sample: OutputSample | null,
) {
  if (operation === 'speech' || operation === 'transcription') {
    const { cost, promptTokens, completionTokens } = reservationFor(operation, request, [endpoint])
    return { cost, promptTokens, completionTokens, estimated: true }
  }
  const usage = guessUsage(operation, request, endpoint, sample)
  const { prompt: promptTokens, completion: completionTokens } = usage
  return { cost: costOf(usage, endpoint.prices).total, promptTokens, completionTokens, estimated: true }
}
