/** Prices: decimal dollars in the file, integer nano-dollars inside (contract/decisions 12). */
import { hash } from 'node:crypto'
import { z } from 'zod'
import { nanosPerMillion } from '../../../base/money.js'
import { decimalPrice, MILLION, perRequest } from './values.js'

const PER_TOKEN = 'must be dollars per token as a decimal: not negative, at most 15 places, at most 9 dollars'

const perToken = decimalPrice(PER_TOKEN, () => true)

/** Dollars per token, and per request, picture or search. What is absent is free, or costs what the tokens around it cost. */
const unitPrices = {
  prompt: perToken.optional(),
  completion: perToken.optional(),
  input_cache_read: perToken.optional(),
  input_cache_write: perToken.optional(),
  input_cache_write_1h: perToken.optional().describe('Per token that is written to a cache for an hour.'),
  internal_reasoning: perToken.optional(),
  input_audio: perToken.optional(),
  output_audio: perToken.optional(),
  input_image_token: perToken.optional(),
  output_image_token: perToken.optional(),
  input_video_token: perToken.optional(),
  audio_second: perToken.optional().describe('Per second of transcribed audio.'),
  input_character: perToken.optional().describe('Per character of spoken text.'),
  request: perRequest.optional(),
  input_image: perRequest.optional().describe('Per picture in the question.'),
  output_image: perRequest.optional().describe('Per picture in the answer.'),
  web_search: perRequest.optional().describe('Per web search that the provider says it has made.'),
}

const unitPriceTexts = z.strictObject(unitPrices)

type UnitPriceTexts = z.output<typeof unitPriceTexts>

/** What providers say they have served an answer in, where that has prices of its own. */
const PRICED_TIERS = ['flex', 'priority', 'batch', 'scale', 'ultrafast', 'fast'] as const

const priceTexts = z.strictObject({
  ...unitPrices,
  service_tiers: z
    .strictObject(
      Object.fromEntries(PRICED_TIERS.map((tier) => [tier, unitPriceTexts.optional()])) as Record<
        (typeof PRICED_TIERS)[number],
        z.ZodOptional<typeof unitPriceTexts>
      >,
    )
    .optional()
    .describe(
      'Prices of answers in that service tier, `fast` those of `speed: fast`. What an entry does not name costs what it costs otherwise.',
    ),
})

/** Prices as integers, and as the texts that the models operation shows (contract/gateway 11.1). */
export const pricesSchema = priceTexts.transform(({ service_tiers: tiers, ...texts }) => ({
  prices: {
    ...parsePrices(texts),
    /** By the provider's word; null where no tier has prices of its own. */
    tiers: tiers === undefined ? null : parseTiers(texts, tiers),
    /** Tells one list of prices from another. */
    version: hash('sha256', JSON.stringify([texts, tiers]), 'hex').slice(0, VERSION_CHARS),
  },
  pricing: wirePricing({ prompt: '0', completion: '0', ...texts }),
}))

const VERSION_CHARS = 8

/** Nano-dollars per million, and of one request, picture or search. What absent kinds cost is said in `price.ts`. */
export type PriceList = Readonly<ReturnType<typeof parsePrices>>

/** The list that holds unless the provider says that it has served another tier, and those of the tiers. */
export interface Prices extends PriceList {
  readonly tiers: Readonly<Record<string, PriceList>> | null
  readonly version: string
}

function parseTiers(
  texts: UnitPriceTexts,
  tiers: Readonly<Record<string, UnitPriceTexts | undefined>>,
): Record<string, PriceList> {
  return Object.fromEntries(
    Object.entries(tiers).flatMap(([tier, own]) =>
      own === undefined ? [] : [[tier, parsePrices({ ...texts, ...own })]],
    ),
  )
}

function parsePrices(texts: UnitPriceTexts) {
  return {
    prompt: optionalNanos(texts.prompt) ?? 0,
    completion: optionalNanos(texts.completion) ?? 0,
    inputCacheRead: optionalNanos(texts.input_cache_read),
    inputCacheWrite: optionalNanos(texts.input_cache_write),
    inputCacheWrite1h: optionalNanos(texts.input_cache_write_1h),
    internalReasoning: optionalNanos(texts.internal_reasoning),
    inputAudio: optionalNanos(texts.input_audio),
    outputAudio: optionalNanos(texts.output_audio),
    inputImageToken: optionalNanos(texts.input_image_token),
    outputImageToken: optionalNanos(texts.output_image_token),
    inputVideoToken: optionalNanos(texts.input_video_token),
    /** Per million seconds of audio. */
    audioSecond: optionalNanos(texts.audio_second),
    /** Per million characters of spoken text. */
    inputCharacter: optionalNanos(texts.input_character),
    /** Of one. */
    request: nanosEach(texts.request),
    inputImage: nanosEach(texts.input_image),
    outputImage: nanosEach(texts.output_image),
    webSearch: nanosEach(texts.web_search),
  }
}

function optionalNanos(text: string | undefined): number | null {
  return text === undefined ? null : nanosPerMillion(text)
}

function nanosEach(text: string | undefined): number {
  return (optionalNanos(text) ?? 0) / MILLION
}

/** The models operation has other names for some of them (contract/gateway 11.1). */
const WIRE_NAMES: Readonly<Record<string, string>> = {
  input_audio: 'audio',
  output_audio: 'audio_output',
  input_image: 'image',
  input_image_token: 'image_token',
  output_image_token: 'image_output',
}

/** The texts under the names of the models operation. */
function wirePricing(texts: UnitPriceTexts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[WIRE_NAMES[name] ?? name, text]],
    ),
  )
}
