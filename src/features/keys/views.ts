/** How a key looks on the wire. */
import type { z } from 'zod'
import { dollars } from '../../base/money.js'
import type { ApiKey, Organization } from '../../store/account-store.js'
import type { CurrentKey, Key } from './schema.js'

/** What calls have cost so far. Nothing is recorded yet, so every figure is 0 until there is a ledger to ask. */
const USAGE = {
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
}

/** Keys have no limits of this kind (contract/decisions 31); both are members that public clients insist on. */
const NO_RATE_LIMIT = { requests: -1, interval: '10s', note: 'There is no rate limit.' }
const NO_DAILY_LIMIT = { limit: -1, remaining: -1, used: 0 }

/** A key as management keys see it. Only for keys that have a workspace. */
export function keyView(key: ApiKey): z.infer<typeof Key> {
  return {
    hash: key.hash,
    name: key.name,
    ...commonView(key),
    disabled: key.disabled,
    workspace_id: key.workspaceId!,
    external_user: key.externalUser,
    created_at: iso(key.createdAt),
    updated_at: key.updatedAt === null ? null : iso(key.updatedAt),
  }
}

/** A key as its holder sees it. */
export function currentKeyView(key: ApiKey, organization: Organization | null): z.infer<typeof CurrentKey> {
  const management = key.kind === 'management'
  return {
    ...commonView(key),
    is_free_tier: organization?.plan === 'free',
    is_management_key: management,
    is_provisioning_key: management,
    organization_id: key.organizationId,
    workspace_id: key.workspaceId,
    allowed_data_regions: ['global'],
    free_model_daily_requests: NO_DAILY_LIMIT,
    rate_limit: NO_RATE_LIMIT,
  }
}

function commonView(key: ApiKey) {
  const limit = key.limit === null ? null : dollars(key.limit)
  return {
    label: key.label,
    limit,
    limit_remaining: limit === null ? null : limit - USAGE.usage,
    limit_reset: key.limitReset,
    include_byok_in_limit: key.includeByokInLimit,
    ...USAGE,
    creator_user_id: key.creatorUserId,
    expires_at: key.expiresAt === null ? null : iso(key.expiresAt),
  }
}

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
