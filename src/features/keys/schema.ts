/** Keys on the wire (contract/gateway 11.2 and 11.3). Money is in dollars, times are ISO 8601. */
import { z } from 'zod'
import { MAX_DOLLARS, nanosToDollars } from '../../base/money.js'
import { dataAnswer, recordEncoder } from '../../http/answers.js'
import { boundedInteger, boundedNumber, boundedString, noteOptions, timeString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import type { ApiKey, KeyRateLimit, Organization } from '../../store/account-store.js'
import type { Spending } from '../../store/ledger-store.js'

/** Largest number per minute. */
const LARGEST_RATE = 1_000_000_000

const Name = boundedString(1, 256)
const Limit = boundedNumber(0, MAX_DOLLARS).nullable().optional()
const LimitReset = z
  .enum(['daily', 'weekly', 'monthly'], { error: 'must be daily, weekly, monthly or null' })
  .nullable()
  .optional()
const Rate = boundedInteger(1, LARGEST_RATE).nullable().optional()
const RateLimit = z
  .object({
    requests_per_minute: Rate,
    tokens_per_minute: Rate,
    concurrent: Rate.meta({ description: 'Calls at a time.' }),
  })
  .nullable()
  .optional()
  .meta({ description: 'How often the key may be used, over all workers. Members that are absent stay.' })
const ByokInLimit = z.boolean().optional().meta({
  description:
    'Whether the limit also counts what goes on your own accounts at providers, see /provider-keys.',
})

const ExpiresAt = timeString().nullable().optional()

/** Nothing silently dropped (contract/decisions 10): keys are made by this server alone. */
const NoForeignKey = z
  .unknown()
  .refine((value) => value === undefined, noteOptions('is not supported'))
  .optional()

const External = z.object({ user: boundedString(1, 256), api_key: NoForeignKey }).optional()

export const KeyIn = nameSchema(
  'KeyIn',
  z.object({
    name: Name,
    limit: Limit,
    limit_reset: LimitReset,
    rate_limit: RateLimit,
    expires_at: ExpiresAt,
    include_byok_in_limit: ByokInLimit,
    workspace_id: boundedString(1, 256).optional(),
    creator_user_id: boundedString(1, 256)
      .nullable()
      .optional()
      .meta({ description: 'Makes it a personal key.' }),
    external: External,
  }),
)

export const KeyChanges = nameSchema(
  'KeyChanges',
  z.object({
    name: Name.optional(),
    disabled: z.boolean().optional(),
    limit: Limit,
    limit_reset: LimitReset,
    rate_limit: RateLimit,
    include_byok_in_limit: ByokInLimit,
  }),
)

const usage = {
  usage: z.number(),
  usage_daily: z.number(),
  usage_weekly: z.number(),
  usage_monthly: z.number(),
  byok_usage: z.number(),
  byok_usage_daily: z.number(),
  byok_usage_weekly: z.number(),
  byok_usage_monthly: z.number(),
}

/** What both answers about a key say. */
const common = {
  label: z.string().meta({ description: 'The key, masked.' }),
  limit: z.number().nullable(),
  limit_remaining: z.number().nullable(),
  limit_reset: z.string().nullable(),
  include_byok_in_limit: z.boolean(),
  ...usage,
  creator_user_id: z.string().nullable(),
  expires_at: z.string().nullable(),
}

const KeyRates = z.object({
  requests_per_minute: z.int().nullable(),
  tokens_per_minute: z.int().nullable(),
  concurrent: z.int().nullable(),
})

const Key = nameSchema(
  'ApiKey',
  z.object({
    hash: z.string().meta({ description: 'SHA-256 of the key: its id.' }),
    name: z.string(),
    ...common,
    disabled: z.boolean(),
    workspace_id: z.string(),
    external_user: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string().nullable(),
    rate_limit: KeyRates.nullable(),
  }),
)

export const KeyAnswer = dataAnswer(Key)
export const KeyList = dataAnswer(z.array(Key))
export const CreatedKey = z.object({
  data: Key,
  key: z.string().meta({ description: 'The key itself, shown here and never again.' }),
})

const CurrentKey = nameSchema(
  'CurrentKey',
  z.object({
    ...common,
    is_free_tier: z.boolean(),
    is_management_key: z.boolean(),
    is_provisioning_key: z.boolean(),
    organization_id: z.string().nullable(),
    workspace_id: z.string().nullable(),
    allowed_data_regions: z.array(z.string()).meta({ description: '`global`: no key is bound to a region.' }),
    free_model_daily_requests: z
      .object({ limit: z.int(), remaining: z.int(), used: z.int() })
      .meta({ description: 'Free models have no limit of their own: -1, and nothing is counted.' }),
    rate_limit: z.object({ requests: z.int(), interval: z.string(), note: z.string() }),
  }),
)

export const CurrentKeyAnswer = dataAnswer(CurrentKey)

// ── Records as answers ──────────────────────────────────────────────────────

/** What a key was charged, and what went on its callers' own accounts at providers. */
export interface KeySpending {
  readonly charged: Spending
  readonly byok: Spending
}

/** Keys have no limits by default (contract/decisions 31); both are members that public clients insist on. */
const NO_RATE_LIMIT = { requests: -1, interval: '10s', note: 'There is no rate limit.' }
const NO_DAILY_LIMIT = { limit: -1, remaining: -1, used: 0 }

const encodeKeyRecord = recordEncoder(Key)
const encodeRateLimit = recordEncoder(KeyRates)
const encodeCurrentKeyRecord = recordEncoder(CurrentKey)

/** A key as management keys see it. Only for keys that have a workspace. */
export function encodeKey(key: ApiKey, spending: KeySpending) {
  return encodeKeyRecord({
    ...key,
    ...limitAndUsage(key, spending),
    workspaceId: key.workspaceId!,
    rateLimit: key.rateLimit ? encodeRateLimit(key.rateLimit) : null,
  })
}

/** A key as its holder sees it. */
export function encodeCurrentKey(key: ApiKey, organization: Organization | null, spending: KeySpending) {
  const isManagementKey = key.kind === 'management'
  return encodeCurrentKeyRecord({
    ...key,
    ...limitAndUsage(key, spending),
    isFreeTier: organization?.plan === 'free',
    isManagementKey,
    isProvisioningKey: isManagementKey,
    allowedDataRegions: ['global'],
    freeModelDailyRequests: NO_DAILY_LIMIT,
    rateLimit: key.rateLimit ? describeRateLimit(key.rateLimit) : NO_RATE_LIMIT,
  })
}

function describeRateLimit({ requestsPerMinute, tokensPerMinute, concurrent }: KeyRateLimit) {
  const parts = [
    tokensPerMinute === null ? '' : `${tokensPerMinute} tokens per minute`,
    concurrent === null ? '' : `${concurrent} calls at a time`,
  ].filter((part) => part !== '')
  return { requests: requestsPerMinute ?? -1, interval: '1m', note: parts.join(', ') }
}

/** The limit of a key and what it has spent, in dollars. */
function limitAndUsage({ limit, limitReset, includeByokInLimit }: ApiKey, { charged, byok }: KeySpending) {
  const period = limitReset ?? 'total'
  const spent = charged[period] + (includeByokInLimit ? byok[period] : 0)
  return {
    limit: limit === null ? null : nanosToDollars(limit),
    limitRemaining: limit === null ? null : nanosToDollars(Math.max(0, limit - spent)),
    usage: nanosToDollars(charged.total),
    usageDaily: nanosToDollars(charged.daily),
    usageWeekly: nanosToDollars(charged.weekly),
    usageMonthly: nanosToDollars(charged.monthly),
    byokUsage: nanosToDollars(byok.total),
    byokUsageDaily: nanosToDollars(byok.daily),
    byokUsageWeekly: nanosToDollars(byok.weekly),
    byokUsageMonthly: nanosToDollars(byok.monthly),
  }
}
