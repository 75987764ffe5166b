/** What is set aside for a call before it runs, and what is guessed of one that nobody has counted. */
import { oncePerKnown } from '../../base/known-json.js'
import type { ModelEndpoint, PriceList } from '../catalog/catalog.js'
import {
  maxTranscriptionUsage,
  type SpeechRequest,
  speechUsage,
  type TranscriptionRequest,
} from '../formats/audio.js'
import { type InferenceOperation, NO_USAGE, type RoutedRequest, type Usage } from '../formats/canonical.js'
import { forEachContentLeaf } from '../formats/content-parts.js'
import { type EmbeddingsRequest, embeddingsUsage, inputsOf } from '../formats/embeddings.js'
import { ATTACHMENT_TOKENS, MESSAGE_TOKENS, namedTextBytes, type OutputSample } from '../metering/format.js'
import { costOf, countPictures, possiblePrices } from './price.js'

const MILLION = 1_000_000

/**
 * What is set aside for an inference before it runs. A bounded guess: the whole of `max_tokens` would make small
 * balances unusable, and nothing at all would let concurrent calls spend the same money. What an answer costs beyond
 * it is charged all the same.
 */
export interface Reservation {
  readonly promptTokens: number
  readonly completionTokens: number
  /**
   * Nano-dollars that may be charged, at the prices of the dearest endpoint of the plan and of the dearest tier it may be
   * served in.
   */
  readonly cost: number
  /** Nano-dollars of that which do not depend on the length of the answer. */
  readonly fixed: number
  /** Nano-dollars per million tokens of the answer. */
  readonly perMillion: number
  /** What may count in the limit of the key; absent where that is the same. */
  readonly ofKey?: ReservedMoney
  /** What the provider may ask the caller's own account, where that is asked first. */
  readonly byok?: number
  /** Nothing but the caller's own accounts may be asked; absent where that of the operator may. */
  readonly isOwn?: true
}

export type ReservedMoney = Pick<Reservation, 'cost' | 'fixed' | 'perMillion'>

/** Most tokens of an answer that are set aside, whatever the request allows. */
export const MAX_RESERVED_TOKENS = 4096
/** Where the request does not say how long the answer may be. */
export const DEFAULT_RESERVED_TOKENS = 1024
/** A low figure: English has four characters to a token, other texts have fewer. */
const CHARS_PER_TOKEN = 3
/** Of sound that is made, where a provider counts tokens. */
const SOUND_TOKENS_PER_CHAR = 2
/** Of what a provider puts around the definition of a tool. */
const TOOL_TOKENS = 64
/** Where a request lets its provider search the web and does not say how often. */
const DEFAULT_SEARCHES = 5
/** Most searches that are set aside for one tool, whatever it allows. */
const MAX_RESERVED_SEARCHES = 20

/**
 * What is set aside for a plan that may go on the caller's own account as well as on the operator's, whichever answers
 * in the end: of the credits what the operator's would cost, of the key's limit the dearer of what both count there.
 * @param inclusive what goes on the caller's own account counts in the key's limit
 */
export function reservationForPlan(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoints: readonly ModelEndpoint[],
  inclusive: boolean,
): Reservation {
  if (!endpoints.some(({ own }) => own !== undefined)) return reservationFor(operation, request, endpoints)
  const own = reservationFor(
    operation,
    request,
    endpoints.filter((each) => each.own !== undefined),
  )
  const operators = endpoints.filter((each) => each.own === undefined)
  const isOwn = operators.length === 0
  const charged = isOwn ? { ...own, ...NO_COST } : reservationFor(operation, request, operators)
  return {
    ...charged,
    promptTokens: Math.max(charged.promptTokens, own.promptTokens),
    completionTokens: Math.max(charged.completionTokens, own.completionTokens),
    ...(inclusive && own.cost > charged.cost && { ofKey: own }),
    ...(endpoints[0]!.own !== undefined && { byok: own.cost }),
    ...(isOwn && { isOwn }),
  }
}

const NO_COST = { cost: 0, fixed: 0, perMillion: 0 }

export function reservationFor(
  operation: InferenceOperation,
  request: RoutedRequest,
  endpoints: readonly ModelEndpoint[],
): Reservation {
  switch (operation) {
    case 'speech':
      return speechReservation(request as SpeechRequest, endpoints)
    case 'transcription':
      return dearestReservation(
        endpoints,
        request,
        maxTranscriptionUsage((request as TranscriptionRequest).audio),
      )
    case 'embeddings':
      return dearestReservation(
        endpoints,
        request,
        embeddingsUsage(countInputTokens(request as EmbeddingsRequest)),
      )
    default:
      return textReservation(request as MeasuredRequest, endpoints)
  }
}

function textReservation(request: MeasuredRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const measured = measurePrompt(request)
  const allowed = reservedAnswerTokens(request)
  let dearest: Reservation | null = null
  for (const { maxCompletionTokens, prices } of endpoints) {
    const most = Math.min(allowed, maxCompletionTokens ?? allowed)
    for (const list of possiblePrices(prices, request)) {
      const one = reservationAtPrices(request, measured, most, list)
      if (dearest === null || one.cost > dearest.cost) dearest = one
    }
  }
  return dearest!
}

function reservationAtPrices(
  request: MeasuredRequest,
  { tokens, attachments }: MeasuredPrompt,
  completionTokens: number,
  prices: PriceList,
): Reservation {
  const { prompt, inputCacheWrite, inputCacheWrite1h, inputAudio, inputImageToken, inputVideoToken } = prices
  const asked = Math.max(prompt, inputCacheWrite ?? 0, inputCacheWrite1h ?? 0)
  const shown = Math.max(asked, inputAudio ?? 0, inputImageToken ?? 0, inputVideoToken ?? 0)
  const promptTokens = tokens + attachments * ATTACHMENT_TOKENS
  const input = tokens * asked + attachments * ATTACHMENT_TOKENS * shown
  const fixed = Math.ceil(input / MILLION) + prices.request + pieceCost(request, prices)
  const perMillion = answerPrice(request, prices)
  const cost = fixed + Math.ceil((completionTokens * perMillion) / MILLION)
  return { promptTokens, completionTokens, cost, fixed, perMillion }
}

/** The dearest kind of token that the answer may have. */
function answerPrice({ modalities = [] }: MeasuredRequest, prices: PriceList): number {
  return Math.max(
    prices.completion,
    prices.internalReasoning ?? 0,
    modalities.includes('audio') ? (prices.outputAudio ?? 0) : 0,
    modalities.includes('image') ? (prices.outputImageToken ?? 0) : 0,
  )
}

/** What is paid by the piece: pictures and searches. */
function pieceCost(request: MeasuredRequest, { inputImage, outputImage, webSearch }: PriceList): number {
  const pictures = inputImage === 0 ? 0 : countPictures(request) * inputImage
  const painted = request.modalities?.includes('image') === true ? outputImage : 0
  return pictures + painted + (webSearch === 0 ? 0 : countSearches(request) * webSearch)
}

const SEARCH_TOOL = /^(service:|openrouter:)?web_search/

/** As many web searches as the tools of a request allow. */
function countSearches({ tools = [], web_search_options: options }: MeasuredRequest): number {
  let searches = options === undefined || options === null ? 0 : 1
  for (const { type, max_uses: most } of tools) {
    if (typeof type !== 'string' || !SEARCH_TOOL.test(type)) continue
    searches += Math.min(typeof most === 'number' ? most : DEFAULT_SEARCHES, MAX_RESERVED_SEARCHES)
  }
  return searches
}

/** How many tokens of answer fit into that many nano-dollars; null when not even the question does. */
export function affordableTokens(nanos: number, { fixed, perMillion }: ReservedMoney): number | null {
  if (nanos < fixed) return null
  return perMillion === 0 ? MAX_RESERVED_TOKENS : Math.floor(((nanos - fixed) * MILLION) / perMillion)
}

/** What is measured of a request, whatever its format: the names are the same in all of them. */
interface MeasuredRequest extends RoutedRequest {
  readonly messages?: readonly { readonly content?: unknown; readonly tool_calls?: unknown }[]
  readonly response_format?: unknown
  readonly output_config?: unknown
  readonly system?: unknown
  readonly tools?: readonly { readonly type?: unknown; readonly max_uses?: unknown }[]
  readonly web_search_options?: unknown
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

function reservedAnswerTokens({ max_tokens: most, max_completion_tokens: newer }: MeasuredRequest): number {
  return Math.min(newer ?? most ?? DEFAULT_RESERVED_TOKENS, MAX_RESERVED_TOKENS)
}

/** Tokens of the texts, and how much else there is. Never looks into media. */
interface MeasuredPrompt {
  readonly tokens: number
  readonly attachments: number
}

function measurePrompt(request: MeasuredRequest): MeasuredPrompt {
  const { messages = [], system, tools, response_format, output_config, extra, files } = request
  let chars =
    (tools === undefined ? 0 : definitionLength(tools)) +
    textLength(response_format) +
    textLength(output_config) +
    textLength(extra)
  if (files !== undefined) chars += namedTextBytes(files)
  const said = { chars, attachments: 0 }
  measureContent(system, said)
  for (const { content, tool_calls: calls } of messages) {
    measureContent(content, said)
    if (calls !== undefined) said.chars += textLength(calls)
  }
  const framing = messages.length * MESSAGE_TOKENS + (tools?.length ?? 0) * TOOL_TOKENS
  return { tokens: Math.ceil(said.chars / CHARS_PER_TOKEN) + framing, attachments: said.attachments }
}

function measureContent(content: unknown, said: { chars: number; attachments: number }): void {
  if (typeof content === 'string') said.chars += content.length
  else if (Array.isArray(content)) {
    forEachContentLeaf(content, (leaf) => {
      if (typeof leaf === 'string') said.chars += leaf.length
      else if (typeof leaf.text === 'string') said.chars += leaf.text.length
      else if (typeof leaf.thinking === 'string') said.chars += leaf.thinking.length
      else if (leaf.input !== undefined) said.chars += textLength(leaf.input)
      else if (leaf.content === undefined) said.attachments++
    })
  }
}

/** Characters of all texts and names within a value; its schema has bounded how deep it is. */
function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let chars = 0
  if (Array.isArray(value)) for (const each of value) chars += textLength(each)
  else for (const name in value) chars += name.length + textLength((value as Record<string, unknown>)[name])
  return chars
}

const definitionLength = oncePerKnown((tools: object) => textLength(tools))

// ── Speech and transcription ────────────────────────────────────────────────

/** Characters are known exactly; tokens are guessed where they are what is paid for. */
function speechReservation(request: SpeechRequest, endpoints: readonly ModelEndpoint[]): Reservation {
  const spoken = speechUsage(request.input)
  const characters = spoken.characters ?? 0
  const completion = characters * SOUND_TOKENS_PER_CHAR
  return dearestReservation(endpoints, request, {
    ...spoken,
    prompt: Math.ceil(characters / CHARS_PER_TOKEN),
    completion,
    completionAudio: completion,
  })
}

/** Tokens are known where they were sent, and guessed of texts. */
function countInputTokens({ input }: EmbeddingsRequest): number {
  let tokens = 0
  for (const each of inputsOf(input))
    tokens += typeof each === 'string' ? Math.ceil(each.length / CHARS_PER_TOKEN) : each.length
  return tokens
}

/** Nothing of it depends on how long the answer may be, so there is nothing that would fit instead. */
function dearestReservation(
  endpoints: readonly ModelEndpoint[],
  request: RoutedRequest,
  usage: Usage,
): Reservation {
  let cost = 0
  let tokens = false
  for (const { prices } of endpoints) {
    const counted = billsTokens(prices)
    tokens ||= counted
    const consumed = counted ? usage : { ...usage, ...NO_TOKENS }
    for (const list of possiblePrices(prices, request)) cost = Math.max(cost, costOf(consumed, list).total)
  }
  const { prompt, completion } = tokens ? usage : NO_TOKENS
  return { promptTokens: prompt, completionTokens: completion, cost, fixed: cost, perMillion: 0 }
}

const NO_TOKENS = { prompt: 0, promptAudio: 0, completion: 0, completionAudio: 0 }

/** A provider is paid for tokens, or for seconds and characters. */
function billsTokens({ audioSecond, inputCharacter }: PriceList): boolean {
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
  if (operation !== 'chat' && operation !== 'messages') {
    const { cost, promptTokens, completionTokens } = reservationFor(operation, request, [endpoint])
    return { cost, promptTokens, completionTokens, estimated: true }
  }
  const usage = guessUsage(operation, request, endpoint, sample)
  const { prompt: promptTokens, completion: completionTokens } = usage
  const costs = possiblePrices(endpoint.prices, request).map((list) => costOf(usage, list).total)
  const cost = Math.max(...costs)
  return { cost, promptTokens, completionTokens, estimated: true }
}
