/** Credits as the API tells them, in dollars. */

export interface CreditsAnswer {
  readonly data: {
    readonly total_credits: number
    readonly total_usage: number
    readonly unlimited: boolean
  }
}

export const CREDITS = 'api/v1/credits'
