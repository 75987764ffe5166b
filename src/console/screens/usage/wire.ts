/** Sums of usage as the API tells them. */

export interface Sums {
  readonly calls: number
  readonly failed: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost: number
  readonly byok_cost: number
}

/** Which members are there depends on what was asked to be told apart. */
export interface UsageLine extends Sums {
  readonly day?: string
  readonly hour?: string
  readonly key_hash?: string
  readonly key_name?: string | null
  readonly model?: string
  readonly provider?: string
}

export interface UsageAnswer {
  readonly data: readonly UsageLine[]
  readonly from: string
  readonly to: string
}

export const USAGE = 'api/v1/usage'
