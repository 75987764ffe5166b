/** What an answer costs, at the prices of the tier in which its provider says that it was served. */
import { checkedNanos } from '../../base/money.js'
import type { PriceList, Prices } from '../catalog/catalog.js'
import type { RoutedRequest, Usage, UsageDetails } from '../formats/canonical.js'
import { forEachContentLeaf } from '../formats/content-parts.js'

/**
 * Nano-dollars. `prompt` and `completion` hold their pictures, `tools` are the provider's web searches. Each is rounded
 * by itself, `total` once over all tokens: without the price of the request they may differ by one.
 */
export interface CallCost {
  readonly total: number
  readonly prompt: number
  readonly completion: number
  readonly tools: number
  /** Of `total`, what tools of the gateway are charged with; absent where none has run. */
  readonly fees?: number
  /**
   * What is no part of `total`, because the provider asks the caller's own account for it; absent where nothing went
   * on one.
   */
  readonly byok?: number
}

/** What providers ask for a call, whoever pays them. */
export function upstreamCost({ total, fees = 0, byok = 0 }: CallCost): number {
  return total - fees + byok
}

/**
 * The cost of a call. `usage` keeps the canonical rule (prompt includes cached and written tokens, completion
 * includes reasoning), so each kind is taken out of its sum before the rest is priced. A kind without a price of
 * its own costs what the tokens around it cost. Throws `RangeError` when that is no amount of money.
 */
export function costOf(usage: Usage, prices: PriceList): CallCost {
  if (usage.details !== undefined || usage.milliseconds !== undefined || usage.characters !== undefined) {
    return exactCost(usage, prices)
  }
  const { prompt, cached, cacheWrite, promptAudio, completion, reasoning, completionAudio } = usage
  // Plain numbers, without a list in between: this runs on every call, and they are exact nearly always.
  const asked =
    atLeast0(prompt - cached - cacheWrite - promptAudio) * prices.prompt +
    cached * (prices.inputCacheRead ?? prices.prompt) +
    cacheWrite * (prices.inputCacheWrite ?? prices.prompt) +
    promptAudio * (prices.inputAudio ?? prices.prompt)
  const answered =
    atLeast0(completion - reasoning - completionAudio) * prices.completion +
    reasoning * (prices.internalReasoning ?? prices.completion) +
    completionAudio * (prices.outputAudio ?? prices.completion)
  if (!(asked + answered < EXACT_BELOW)) return exactCost(usage, prices)
  return {
    total: checkedNanos(roundNumberToNanos(asked + answered) + prices.request),
    prompt: roundNumberToNanos(asked),
    completion: roundNumberToNanos(answered),
    tools: 0,
  }
}

const MILLION = 1_000_000
/** Below this, sums and the division by a million are exact in plain numbers, which cost a tenth of big ones. */
const EXACT_BELOW = 2 ** 52
const NO_DETAILS: UsageDetails = Object.freeze({})

type PricedAmount = readonly [amount: number, nanosPerMillion: number]

/** The same for whatever can be counted, exact for any figures. */
function exactCost(usage: Usage, prices: PriceList): CallCost {
  const { prompt, cached, cacheWrite, promptAudio, completion, reasoning, completionAudio } = usage
  const details = usage.details ?? NO_DETAILS
  const { cacheWrite1h = 0, promptImage = 0, promptVideo = 0, completionImage = 0 } = details
  const { webSearches = 0, imagesIn = 0, imagesOut = 0 } = details
  const write = prices.inputCacheWrite ?? prices.prompt
  const asked = sumPriced([
    [atLeast0(prompt - cached - cacheWrite - promptAudio - promptImage - promptVideo), prices.prompt],
    [cached, prices.inputCacheRead ?? prices.prompt],
    [cacheWrite - cacheWrite1h, write],
    [cacheWrite1h, prices.inputCacheWrite1h ?? write],
    [promptAudio, prices.inputAudio ?? prices.prompt],
    [promptImage, prices.inputImageToken ?? prices.prompt],
    [promptVideo, prices.inputVideoToken ?? prices.prompt],
    [usage.characters ?? 0, prices.inputCharacter ?? 0],
  ])
  const answered = sumPriced([
    [atLeast0(completion - reasoning - completionAudio - completionImage), prices.completion],
    [reasoning, prices.internalReasoning ?? prices.completion],
    [completionAudio, prices.outputAudio ?? prices.completion],
    [completionImage, prices.outputImageToken ?? prices.completion],
  ])
  // Thousandths, because seconds of sound are counted in milliseconds.
  const heard = asked * 1000n + BigInt(usage.milliseconds ?? 0) * BigInt(prices.audioSecond ?? 0)
  const pictures = imagesIn * prices.inputImage
  const painted = imagesOut * prices.outputImage
  const tools = checkedNanos(webSearches * prices.webSearch)
  const total = roundThousandths(heard + answered * 1000n)
  return {
    total: checkedNanos(total + pictures + painted + tools + prices.request),
    prompt: checkedNanos(roundThousandths(heard) + pictures),
    completion: checkedNanos(roundThousandths(answered * 1000n) + painted),
    tools,
  }
}

/** Nano-dollars times a million. Throws `RangeError` for what is no whole amount. */
function sumPriced(amounts: readonly PricedAmount[]): bigint {
  let sum = 0n
  for (const [amount, price] of amounts) if (amount !== 0) sum += BigInt(amount) * BigInt(price)
  return sum
}

/** A sum of priced amounts, times a thousand, as nano-dollars, halves rounded up. */
function roundThousandths(sum: bigint): number {
  return checkedNanos(Number((sum + 500_000_000n) / 1_000_000_000n))
}

/** The cost of a call; null when it is no amount of money, so that it cannot be charged. */
export function chargeableCost(usage: Usage, prices: PriceList): CallCost | null {
  try {
    return costOf(usage, prices)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * What caches have saved of a cost, in nano-dollars; less than 0 where writing to them cost more than they gave back.
 */
export function cacheDiscount(usage: Usage, prices: PriceList, cost: CallCost): number {
  if (usage.cached === 0 && usage.cacheWrite === 0) return 0
  const uncached = { ...usage, cached: 0, cacheWrite: 0, details: { ...usage.details, cacheWrite1h: 0 } }
  const asked = upstreamCost(cost)
  return (chargeableCost(uncached, prices)?.total ?? asked) - asked
}

/** Figures that overlap count as nothing, not less. */
function atLeast0(tokens: number): number {
  return tokens > 0 ? tokens : 0
}

/** Nano-dollars of a sum of priced tokens, halves rounded up. */
function roundNumberToNanos(sum: number): number {
  return checkedNanos(Math.floor((sum + MILLION / 2) / MILLION))
}

// ── Service tiers ────────────────────────────────────────────────────────────

interface TierWish extends RoutedRequest {
  readonly speed?: string | null
}

/**
 * The list that an answer is charged by. `served`: the tier in its provider's word, `fast` for that speed. A provider
 * that says nothing, and a tier without prices of its own, cost what all else does: asking for a tier is not having it.
 */
export function pricesInForce(prices: Prices, served: string | null): PriceList {
  if (prices.tiers === null || served === null) return prices
  return tierPrices(prices, served) ?? prices
}

/** The lists that an answer to a request may come to be charged by, before it is known in which tier it is served. */
export function possiblePrices(prices: Prices, request: RoutedRequest): readonly PriceList[] {
  if (prices.tiers === null) return [prices]
  const tier = askedTier(request)
  // The provider chooses: its account may have bought any of them that need not be asked for.
  if (tier === 'auto') {
    const { fast: _, batch: __, ...bought } = prices.tiers
    return [prices, ...Object.values(bought)]
  }
  const own = tier === null ? null : tierPrices(prices, tier)
  return own === null ? [prices] : [prices, own]
}

/** What a request asks for; in a chat request `fast` is another word for `priority`. */
function askedTier({ speed, service_tier: tier }: TierWish): string | null {
  if (speed === 'fast') return speed
  return tier === 'fast' ? 'priority' : (tier ?? null)
}

/** `ultrafast` falls back to `priority` where an endpoint lacks it. */
function tierPrices({ tiers }: Prices, tier: string): PriceList | null {
  if (tiers !== null && Object.hasOwn(tiers, tier)) return tiers[tier]!
  return tier === 'ultrafast' ? (tiers?.priority ?? null) : null
}

// ── Pictures ─────────────────────────────────────────────────────────────────

const PICTURES: ReadonlySet<unknown> = new Set(['image_url', 'image'])

/** Pictures in the question, whatever its format. */
export function countPictures(request: RoutedRequest): number {
  const { messages = [] } = request as { readonly messages?: readonly { readonly content?: unknown }[] }
  let pictures = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    forEachContentLeaf(content, (leaf) => {
      if (typeof leaf !== 'string' && PICTURES.has(leaf.type)) pictures++
    })
  }
  return pictures
}

/** The usage with the pictures that are paid by the piece. `painted`: how many there are in the answer. */
export function withPictures(
  usage: Usage,
  request: RoutedRequest,
  { inputImage }: PriceList,
  painted: number,
): Usage {
  const imagesIn = inputImage === 0 ? 0 : countPictures(request)
  if (imagesIn === 0 && painted === 0) return usage
  const pictures = { ...(imagesIn > 0 && { imagesIn }), ...(painted > 0 && { imagesOut: painted }) }
  return { ...usage, details: { ...usage.details, ...pictures } }
}
