/** Whether a change of a key gives it more than it had. */
import type { ApiKey, KeyRateLimit } from '../store/account-store.js'

/** From what leaves least to what leaves most of the same limit. */
const RESETS: readonly ApiKey['limitReset'][] = [null, 'monthly', 'weekly', 'daily']
const RATES: readonly (keyof KeyRateLimit)[] = ['requestsPerMinute', 'tokensPerMinute', 'concurrent']

/** A limit that is raised, taken away or reset more often, provider costs that count no more, a key that is enabled. */
export function loosens(before: ApiKey, after: ApiKey): boolean {
  return (
    (before.disabled && !after.disabled) ||
    isMore(before.limit, after.limit) ||
    (before.limit !== null && RESETS.indexOf(after.limitReset) > RESETS.indexOf(before.limitReset)) ||
    (before.includeByokInLimit && !after.includeByokInLimit) ||
    RATES.some((rate) => isMore(before.rateLimit?.[rate] ?? null, after.rateLimit?.[rate] ?? null))
  )
}

/** Null is no limit at all. */
function isMore(before: number | null, after: number | null): boolean {
  return before !== null && (after === null || after > before)
}
