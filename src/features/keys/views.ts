/** How a key looks on the wire. */
import type { z } from 'zod'
import { nanosToDollars } from '../../base/money.js'
import type { ApiKey, KeyRateLimit, Organization } from '../../store/account-store.js'
import type { Spending } from '../../store/ledger-store.js'
import type { CurrentKey, Key } from './schema.js'

/** Nobody brings keys of providers here. */
const NO_BYOK = { byok_usage: 0, byok_usage_daily: 0, byok_usage_weekly: 0, byok_usage_monthly: 0 }

/** Keys have no limits by default (contract/decisions 31); both are members that public clients insist on. */
const NO_RATE_LIMIT = { requests: -1, interval: '10s', note: 'There is no rate limit.' }
const NO_DAILY_LIMIT = { limit: -1, remaining: -1, used: 0 }

/** A key as management keys see it. Only for keys that have a workspace. */
export function encodeKey(key: ApiKey, spending: Spending): z.infer<typeof Key> {
  return {
    hash: key.hash,
    name: key.name,
    ...encodeCommonFields(key, spending),
    disabled: key.disabled,
    workspace_id: key.workspaceId!,
    external_user: key.externalUser,
    created_at: isoTime(key.createdAt),
    updated_at: key.updatedAt === null ? null : isoTime(key.updatedAt),
    rate_limit: encodeRateLimit(key.rateLimit ?? null),
  }
}

function encodeRateLimit(limit: KeyRateLimit | null): z.infer<typeof Key>['rate_limit'] {
  if (limit === null) return null
  const { requestsPerMinute, tokensPerMinute, concurrent } = limit
  return { requests_per_minute: requestsPerMinute, tokens_per_minute: tokensPerMinute, concurrent }
}

/** A key as its holder sees it. */
export function encodeCurrentKey(
  key: ApiKey,
  organization: Organization | null,
  spending: Spending,
): z.infer<typeof CurrentKey> {
  const management = key.kind === 'management'
  return {
    ...encodeCommonFields(key, spending),
    is_free_tier: organization?.plan === 'free',
    is_management_key: management,
    is_provisioning_key: management,
    organization_id: key.organizationId,
    workspace_id: key.workspaceId,
    allowed_data_regions: ['global'],
    free_model_daily_requests: NO_DAILY_LIMIT,
    rate_limit: encodeCurrentRateLimit(key.rateLimit ?? null),
  }
}

function encodeCurrentRateLimit(limit: KeyRateLimit | null): z.infer<typeof CurrentKey>['rate_limit'] {
  if (limit === null) return NO_RATE_LIMIT
  const { requestsPerMinute, tokensPerMinute, concurrent } = limit
  const parts = [
    tokensPerMinute === null ? '' : `${tokensPerMinute} tokens per minute`,
    concurrent === null ? '' : `${concurrent} calls at a time`,
  ].filter((part) => part !== '')
  return { requests: requestsPerMinute ?? -1, interval: '1m', note: parts.join(', ') }
}

function encodeCommonFields(key: ApiKey, spending: Spending) {
  const { total, daily, weekly, monthly } = spending
  const ofPeriod = key.limitReset === null ? total : spending[key.limitReset]
  return {
    label: key.label,
    limit: key.limit === null ? null : nanosToDollars(key.limit),
    limit_remaining: key.limit === null ? null : nanosToDollars(Math.max(0, key.limit - ofPeriod)),
    limit_reset: key.limitReset,
    include_byok_in_limit: key.includeByokInLimit,
    usage: nanosToDollars(total),
    usage_daily: nanosToDollars(daily),
    usage_weekly: nanosToDollars(weekly),
    usage_monthly: nanosToDollars(monthly),
    ...NO_BYOK,
    creator_user_id: key.creatorUserId,
    expires_at: key.expiresAt === null ? null : isoTime(key.expiresAt),
  }
}

function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
