/** What is set aside for an inference before it runs. */
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
