/** Keys as the API tells them; only what is shown. */

export interface Key {
  readonly hash: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly workspace_id: string
  readonly creator_user_id: string | null
  readonly created_at: string
  readonly updated_at: string | null
  readonly expires_at: string | null
  readonly limit: number | null
  readonly limit_remaining: number | null
  readonly limit_reset: LimitReset | null
  readonly include_byok_in_limit: boolean
  readonly usage: number
  readonly usage_daily: number
  readonly usage_weekly: number
  readonly usage_monthly: number
  readonly byok_usage: number
  readonly rate_limit: RateLimit | null
}

export type LimitReset = 'daily' | 'weekly' | 'monthly'

interface RateLimit {
  readonly requests_per_minute: number | null
  readonly tokens_per_minute: number | null
  readonly concurrent: number | null
}

export interface CreatedKey {
  readonly data: Key
  readonly key: string
}

export const KEYS = 'api/v1/keys'
export const keyPath = (hash: string): string => `${KEYS}/${encodeURIComponent(hash)}`
