/** Limits that are tried out, as they are written: as those of keys are, with money in dollars. */
import { z } from 'zod'
import { dollarsToNanos, MAX_DOLLARS } from '../../base/money.js'
import { CALENDAR_PERIODS } from '../../base/utc-period.js'
import type { SupposedKeyLimits } from './limit-use.js'
import type { SupposedLimits } from './limits.js'

const LARGEST_RATE = 1_000_000_000
const dollars = z.number().min(0).max(MAX_DOLLARS)
const rate = z.int().min(1).max(LARGEST_RATE).nullable().default(null)

const keyLimits = z.strictObject({
  limit: dollars.nullable().default(null),
  limit_reset: z.enum(CALENDAR_PERIODS).nullable().default(null),
  rate_limit: z
    .strictObject({ requests_per_minute: rate, tokens_per_minute: rate, concurrent: rate })
    .nullable()
    .default(null),
})

const ALL_OTHERS = 'or * for all others'

const LEAST_OF_HASH = 8
const keyName = z
  .string()
  .regex(
    new RegExp(`^(?:\\*|[0-9a-f]{${LEAST_OF_HASH},64})$`),
    `must be the hash of a key, at least ${LEAST_OF_HASH} characters of its begin, or *`,
  )

/** Each entry is looked at in a worker that serves others in the meantime. */
const MOST_ENTRIES = 5_000
const areFew = (entries: object): boolean => Object.keys(entries).length <= MOST_ENTRIES
const TOO_MANY = `must have at most ${MOST_ENTRIES} entries`

/** Whoever is not named has no limit. */
export const SupposedLimitsIn = z.strictObject({
  keys: z
    .record(keyName, keyLimits)
    .refine(areFew, TOO_MANY)
    .default({})
    .meta({
      description: `By the hash of a key or a begin of it that no other key has, ${ALL_OTHERS}.`,
      maxProperties: MOST_ENTRIES,
    }),
  organizations: z
    .record(z.string().min(1).max(256), z.strictObject({ credits: dollars }))
    .refine(areFew, TOO_MANY)
    .default({})
    .meta({
      description: `By the id of an organization, ${ALL_OTHERS}: what may be spent in the time.`,
      maxProperties: MOST_ENTRIES,
    }),
})

export function toSupposedLimits({ keys, organizations }: z.output<typeof SupposedLimitsIn>): SupposedLimits {
  return {
    keys: new Map(Object.entries(keys).map(([hash, limits]) => [hash, toKeyLimits(limits)])),
    credits: new Map(Object.entries(organizations).map(([id, { credits }]) => [id, dollarsToNanos(credits)])),
  }
}

function toKeyLimits({
  limit,
  limit_reset: reset,
  rate_limit: rates,
}: z.output<typeof keyLimits>): SupposedKeyLimits {
  return {
    requestsPerMinute: rates?.requests_per_minute ?? null,
    tokensPerMinute: rates?.tokens_per_minute ?? null,
    concurrent: rates?.concurrent ?? null,
    spending: limit === null ? null : { limit: dollarsToNanos(limit), reset },
  }
}
