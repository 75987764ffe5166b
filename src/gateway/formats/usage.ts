/** What a call consumed, by one rule for all providers. */

/**
 * Tokens of one call. `prompt` includes `cached`, `cacheWrite` and `promptAudio`; `completion` includes `reasoning`
 * and `completionAudio`. Every provider converts to this rule at its edge, so nothing is priced twice.
 */
export interface Usage {
  readonly prompt: number
  readonly completion: number
  readonly cached: number
  readonly cacheWrite: number
  readonly promptAudio: number
  readonly reasoning: number
  readonly completionAudio: number
  /** Of audio that was transcribed, where that is what is paid for. */
  readonly milliseconds?: number
  /** Of text that was spoken, where that is what is paid for. */
  readonly characters?: number
  /** What few answers tell; absent where there is nothing of it. */
  readonly details?: UsageDetails
}

/** Kinds that are absent are 0. */
export interface UsageDetails {
  /** Of `cacheWrite`, what is kept for an hour. */
  readonly cacheWrite1h?: number
  /** Tokens of pictures and of film, parts of `prompt`. */
  readonly promptImage?: number
  readonly promptVideo?: number
  /** Tokens of pictures, a part of `completion`; so are those of a prediction that came true, and that did not. */
  readonly completionImage?: number
  readonly acceptedPrediction?: number
  readonly rejectedPrediction?: number
  /** What the provider has looked up, and which of its tools were asked for and run; no tokens. */
  readonly webSearches?: number
  readonly webFetches?: number
  readonly toolCallsRequested?: number
  readonly toolCallsExecuted?: number
  /** Pictures in the question and in the answer, counted here. */
  readonly imagesIn?: number
  readonly imagesOut?: number
}

export const NO_USAGE: Usage = Object.freeze({
  prompt: 0,
  completion: 0,
  cached: 0,
  cacheWrite: 0,
  promptAudio: 0,
  reasoning: 0,
  completionAudio: 0,
})

/** The kinds that there is something of; null where there is nothing at all. */
export function withoutZeros(details: UsageDetails): UsageDetails | null {
  const told = Object.entries(details).filter(([, amount]) => amount > 0)
  return told.length === 0 ? null : Object.fromEntries(told)
}
