/** Which limits an inference has to pass, in the order in which they are asked, and how a refusal is told. */
import { Fault } from '../../base/fault.js'
import { nanosToDollars } from '../../base/money.js'
import type { KeyLimits, Principal } from '../../base/principal.js'
import { nextPeriodAt, periodNumber } from '../../base/utc-period.js'
import { moneyQuotaName, type Quota } from '../../limits/quota.js'
import type { QuotaShortage } from '../../limits/quota-leases.js'
import type { Organization } from '../../store/account-store.js'
import { inclusivePayer, keyPayer, type LimitCoverage, organizationPayer } from '../../store/ledger-store.js'
import { affordableTokens, type Reservation, type ReservedMoney } from '../pricing/reservation.js'

export type QuotaClaimKind =
  | 'concurrent'
  | 'requests'
  | 'tokens'
  | 'tool-calls'
  | 'key-money'
  | 'organization-money'

/** An amount of one quota that an inference needs. */
export interface QuotaClaim {
  readonly kind: QuotaClaimKind
  readonly quota: Quota
  readonly amount: number
}

/** What a request that runs a loop claims once, and not again with each of its turns. */
export function isOfRequest({ kind }: QuotaClaim): boolean {
  return kind === 'concurrent' || kind === 'requests'
}

export function isOfPart(claim: QuotaClaim): boolean {
  return !isOfRequest(claim)
}

export function isOfMoney({ kind }: QuotaClaim): boolean {
  return kind === 'key-money' || kind === 'organization-money'
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/**
 * Name of the quota of a key's spending limit at a moment: each period has one of its own, and one more in which what
 * goes on the caller's own accounts counts as well.
 */
export function keyMoneyQuota(keyHash: string, { reset, inclusive }: KeyMoney, unixMs: number): string {
  const period = reset === null || reset === 'never' ? 'never' : `${reset}${periodNumber(reset, unixMs)}`
  return moneyQuotaName(inclusive ? inclusivePayer(keyHash) : keyPayer(keyHash), period)
}

interface KeyMoney {
  readonly reset: LimitCoverage['key']
  readonly inclusive: boolean
}

export function organizationMoneyQuota(organizationId: string): string {
  return moneyQuotaName(organizationPayer(organizationId), 'never')
}

/** `organization`: as the store has it now. Empty where there is no limit of any kind. */
export function quotaClaimsFor(
  { keyHash, limits }: Principal,
  organization: Pick<Organization, 'id' | 'credits'> | null,
  reservation: Reservation,
  unixMs: number,
): readonly QuotaClaim[] {
  const claims: QuotaClaim[] = []
  if (limits !== undefined) {
    for (const { kind, quota } of keyQuotasAt(keyHash, limits, unixMs)) {
      // Nothing is charged on the caller's own accounts, and nothing of them counts.
      if (kind === 'key-money' && reservation.isOwn && limits.spending?.includesByok !== true) continue
      claims.push({ kind, quota, amount: claimedAmount(kind, quota, reservation) })
    }
  }
  const credits = organization?.credits ?? null
  if (organization !== null && credits !== null && !reservation.isOwn) {
    const quota = creditsQuota(organization, credits)
    claims.push({ kind: 'organization-money', quota, amount: reservation.cost })
  }
  return claims
}

function claimedAmount(kind: QuotaClaimKind, { capacity }: Quota, reservation: Reservation): number {
  switch (kind) {
    case 'concurrent':
    case 'requests':
      return 1
    case 'tokens':
      // A call that is larger than the limit may have a whole window for itself, or it could never run.
      return Math.min(capacity, reservation.promptTokens + reservation.completionTokens)
    case 'key-money':
      return (reservation.ofKey ?? reservation).cost
    default:
      return reservation.cost
  }
}

/** The quotas of a key in an hour, within which no period begins anew, in the order in which they are asked. */
interface KeyQuotas {
  readonly hour: number
  readonly quotas: readonly { readonly kind: QuotaClaimKind; readonly quota: Quota }[]
}

/** Limits and organizations are frozen records that stand for one state of their key: another state is another. */
const KEY_QUOTAS = new WeakMap<KeyLimits, KeyQuotas>()
const CREDIT_QUOTAS = new WeakMap<object, Quota>()

function keyQuotasAt(keyHash: string, limits: KeyLimits, unixMs: number): KeyQuotas['quotas'] {
  const hour = Math.floor(unixMs / HOUR_MS)
  const known = KEY_QUOTAS.get(limits)
  if (known?.hour === hour) return known.quotas
  const { concurrent, requestsPerMinute, tokensPerMinute, spending } = limits
  const money = { reset: spending?.reset ?? 'never', inclusive: spending?.includesByok ?? false } as const
  const moneyName = keyMoneyQuota(keyHash, money, unixMs)
  const quotas = (
    [
      ['concurrent', `c${keyHash}`, concurrent, 0],
      ['requests', `r${keyHash}`, requestsPerMinute, MINUTE_MS],
      ['tokens', `t${keyHash}`, tokensPerMinute, MINUTE_MS],
      ['key-money', moneyName, spending?.limit ?? null, 0],
    ] as const
  ).flatMap(([kind, name, capacity, windowMs]) =>
    capacity === null ? [] : [{ kind, quota: Object.freeze({ name, capacity, windowMs }) }],
  )
  KEY_QUOTAS.set(limits, { hour, quotas })
  return quotas
}

function creditsQuota(organization: Pick<Organization, 'id'>, credits: number): Quota {
  let quota = CREDIT_QUOTAS.get(organization)
  if (quota === undefined) {
    quota = Object.freeze({ name: organizationMoneyQuota(organization.id), capacity: credits, windowMs: 0 })
    CREDIT_QUOTAS.set(organization, quota)
  }
  return quota
}

/** How often a tool may be called in a minute, over all workers; null where there is no limit. */
export interface ToolLimits {
  /** Whose calls are counted together. */
  readonly tool: string
  readonly callsPerMinutePerKey: number | null
  readonly callsPerMinutePerOrganization: number | null
}

/** What a call of a tool claims of the operator's limits. */
export function toolClaimsFor(
  { keyHash, organizationId }: Principal,
  { tool, callsPerMinutePerKey, callsPerMinutePerOrganization }: ToolLimits,
): readonly QuotaClaim[] {
  const claims = [
    [`u${tool} ${keyPayer(keyHash)}`, callsPerMinutePerKey],
    [`u${tool} ${organizationPayer(organizationId)}`, callsPerMinutePerOrganization],
  ] as const
  return claims.flatMap(([name, capacity]) =>
    capacity === null
      ? []
      : [{ kind: 'tool-calls', quota: { name, capacity, windowMs: MINUTE_MS }, amount: 1 } as const],
  )
}

export function limitCoverageFor({ limits }: Principal, credits: number | null): LimitCoverage {
  const spending = limits?.spending ?? null
  const coverage: LimitCoverage = {
    key: spending === null ? null : (spending.reset ?? 'never'),
    organization: credits !== null,
  }
  return spending?.includesByok === true ? { ...coverage, byok: true } : coverage
}

interface RefusalContext {
  readonly caller: Principal
  readonly reservation: Reservation
  readonly creditsUrl: string
  readonly unixMs: number
}

export function refusalFault(refused: QuotaClaim, shortage: QuotaShortage, context: RefusalContext): Fault {
  const { reservation } = context
  const { left } = shortage
  switch (refused.kind) {
    case 'key-money':
      return paymentRequiredFault(reservation.ofKey ?? reservation, left, describeKeyLimit(context), context)
    case 'organization-money':
      return paymentRequiredFault(reservation, left, 'of the credits', context)
    default:
      return rateLimitedFault(refused, shortage, context.unixMs)
  }
}

function describeKeyLimit({ caller, unixMs }: RefusalContext): string {
  const reset = caller.limits?.spending?.reset ?? null
  if (reset === null) return 'of the limit of this key'
  return `of the ${reset} limit of this key, which begins anew at ${new Date(nextPeriodAt(reset, unixMs)).toISOString()}`
}

/** Says what would fit, and where to go (contract/gateway 11.2). */
function paymentRequiredFault(
  reserved: ReservedMoney,
  left: number,
  ofWhat: string,
  { creditsUrl }: Pick<RefusalContext, 'creditsUrl'>,
): Fault {
  const needed = reserved.cost
  const fits = affordableTokens(left, reserved)
  const advice =
    fits === null || fits < 1 ? '' : ` With max_tokens of at most ${fits} this request would fit.`
  const note =
    `This request may cost $${formatDollars(needed)}, and $${formatDollars(left)} is left ${ofWhat}.` +
    `${advice} See ${creditsUrl}`
  return new Fault('payment-required', {
    note,
    metadata: {
      error_type: 'payment_required',
      needed: nanosToDollars(needed),
      available: nanosToDollars(left),
      ...(fits !== null && fits >= 1 && { affordable_tokens: fits }),
    },
  })
}

/** Dollars without an exponent and without zeros at the end. */
function formatDollars(nanos: number): string {
  const text = (nanos / 1e9).toFixed(9).replace(/0+$/, '')
  return text.endsWith('.') ? `${text}00` : text
}

const LIMIT_NAMES = {
  concurrent: 'calls at a time',
  requests: 'requests per minute',
  tokens: 'tokens per minute',
  'tool-calls': 'calls of this tool per minute',
} as const

function isOfOrganization({ name }: Quota): boolean {
  return /^u\S* o/.test(name)
}

/** It is not known when a call that runs will end. */
const CONCURRENT_RETRY_MS = 1_000

function rateLimitedFault(
  { kind, quota }: QuotaClaim,
  { left, resetInMs }: QuotaShortage,
  unixMs: number,
): Fault {
  const waitMs = resetInMs > 0 ? resetInMs : CONCURRENT_RETRY_MS
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1000))
  return new Fault('rate-limited', {
    retryAfter,
    rate: { limit: quota.capacity, remaining: left, resetAt: unixMs + waitMs },
    note: `${isOfOrganization(quota) ? 'This organization' : 'This key'} is limited to ${quota.capacity} ${LIMIT_NAMES[kind as keyof typeof LIMIT_NAMES]}. Try again in ${retryAfter} s`,
    metadata: { error_type: 'rate_limit_exceeded', limited: kind },
  })
}
