/** Prices: decimal dollars in the file, integer nano-dollars inside (contract/decisions 12). */
import { z } from 'zod'
import { nanosPerMillion } from '../../../base/money.js'

const PER_TOKEN = 'must be dollars per token as a decimal: not negative, at most 15 places, at most 9 dollars'
const PER_REQUEST =
  'must be dollars per request as a decimal: not negative, at most 9 places, at most 9 dollars'

/** Nano-dollars per million tokens are nano-dollars of a request when there is a million of them in it. */
const MILLION = 1_000_000

/**
 * A number in digits alone: `2.5e-7` is `0.00000025`. JavaScript writes small numbers with an exponent, and the
 * shortest text that reads as the same number is the one the operator wrote.
 */
export function toPlainDecimal(value: number): string {
  const [mantissa = '', exponent] = String(value).split('e')
  if (exponent === undefined) return mantissa
  const [whole = '', fraction = ''] = mantissa.split('.')
  const shift = Number(exponent)
  return shift < 0
    ? `0.${'0'.repeat(-shift - 1)}${whole}${fraction}`
    : `${whole}${fraction}`.padEnd(shift + 1, '0')
}

function decimalPrice(
  problem: string,
  isExact: (nanos: number) => boolean,
): z.ZodType<string, string | number> {
  return z
    .union([z.string(), z.number()], { error: problem })
    .transform((value) => (typeof value === 'number' ? toPlainDecimal(value) : value))
    .refine((text) => {
      const nanos = nanosPerMillion(text)
      return nanos !== null && isExact(nanos)
    }, problem)
}

const perToken = decimalPrice(PER_TOKEN, () => true)
const perRequest = decimalPrice(PER_REQUEST, (nanos) => nanos % MILLION === 0)

/** Dollars per token, and per request. What is absent is free, or costs what the tokens around it cost. */
const priceTexts = z.strictObject({
  prompt: perToken.default('0'),
  completion: perToken.default('0'),
  input_cache_read: perToken.optional(),
  input_cache_write: perToken.optional(),
  internal_reasoning: perToken.optional(),
  input_audio: perToken.optional(),
  output_audio: perToken.optional(),
  audio_second: perToken.optional().describe('Per second of transcribed audio.'),
  input_character: perToken.optional().describe('Per character of spoken text.'),
  request: perRequest.optional(),
})

type PriceTexts = z.output<typeof priceTexts>

/** Prices as integers, and as the texts that the models operation shows (contract/gateway 11.1). */
export const pricesSchema = priceTexts.transform((texts) => ({
  prices: parsePrices(texts),
  pricing: wirePricing(texts),
}))

/** Nano-dollars per million tokens, and per request. What absent kinds cost is said in `price.ts`. */
export type Prices = Readonly<ReturnType<typeof parsePrices>>

function parsePrices(texts: PriceTexts) {
  return {
    prompt: nanosPerMillion(texts.prompt) ?? 0,
    completion: nanosPerMillion(texts.completion) ?? 0,
    inputCacheRead: optionalNanos(texts.input_cache_read),
    inputCacheWrite: optionalNanos(texts.input_cache_write),
    internalReasoning: optionalNanos(texts.internal_reasoning),
    inputAudio: optionalNanos(texts.input_audio),
    outputAudio: optionalNanos(texts.output_audio),
    /** Per million seconds of audio. */
    audioSecond: optionalNanos(texts.audio_second),
    /** Per million characters of spoken text. */
    inputCharacter: optionalNanos(texts.input_character),
    /** Per request. */
    request: (optionalNanos(texts.request) ?? 0) / MILLION,
  }
}

function optionalNanos(text: string | undefined): number | null {
  return text === undefined ? null : nanosPerMillion(text)
}

/** The models operation has shorter names for the prices of sound (contract/gateway 11.1). */
const WIRE_NAMES: Readonly<Record<string, string>> = { input_audio: 'audio', output_audio: 'audio_output' }

/** The texts under the names of the models operation. */
function wirePricing(texts: PriceTexts): Record<string, string> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[WIRE_NAMES[name] ?? name, text]],
    ),
  )
}
