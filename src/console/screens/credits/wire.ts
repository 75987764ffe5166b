/** Credits as the API tells them, in dollars. */

export interface CreditsAnswer {
  readonly data: {
    readonly total_credits: number
    readonly total_usage: number
    readonly unlimited: boolean
  }
}

export const CREDITS = 'api/v1/credits'

export interface CreditsChange {
  readonly changed_at: string
  readonly total_credits: number | null
  readonly change: number | null
  readonly changed_by: string
}

export const HISTORY = `${CREDITS}/history`
