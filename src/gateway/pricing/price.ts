/** What a call costs: tokens times the catalogue's prices, each token priced once. */
import { checkedNanos, roundToNanos, tokenCost } from '../../base/money.js'
import type { Prices } from '../catalog/catalog.js'
import type { Usage } from '../formats/canonical.js'

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
