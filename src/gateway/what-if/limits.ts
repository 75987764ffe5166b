/**
 * Limits that keys and organizations might have had, applied to calls in the order in which they came. Calls at a time
 * and requests per minute follow from the ledger exactly; tokens and money are set aside by guesses of which the ledger
 * tells nothing, so that what a call came to stands for them.
 */
import { type CalendarPeriod, periodNumber } from '../../base/utc-period.js'

/** Null where there is no such limit. Money is in nano-dollars. */
export interface SupposedKeyLimits {
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  readonly concurrent: number | null
  readonly spending: { readonly limit: number; readonly reset: CalendarPeriod | null } | null
}

export interface SupposedLimits {
  /** By the hash of a key; `*` for all others. */
  readonly keys: ReadonlyMap<string, SupposedKeyLimits>
  /** Credits from the begin of the time on, by the id of an organization; `*` for all others. */
  readonly credits: ReadonlyMap<string, number>
}

export const LIMIT_KINDS = ['concurrent', 'requests', 'tokens', 'key_money', 'organization_money'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]

export const NO_SUPPOSED_LIMITS: SupposedLimits = Object.freeze({ keys: new Map(), credits: new Map() })

const MINUTE_MS = 60_000

export interface LimitedCall {
  readonly keyHash: string
  readonly organizationId: string
  /** When it came and when it was over, Unix milliseconds. */
  readonly at: number
  readonly endedAt: number
  readonly tokens: number
}

/** A minute begins with the first call after the last one has ended. */
class MinuteWindow {
  #began = Number.NEGATIVE_INFINITY
  #used = 0

  /** Whether so much more fits; what is larger than the limit may have a whole minute for itself. */
  fits(at: number, amount: number, limit: number): boolean {
    if (at >= this.#began + MINUTE_MS) {
      this.#began = at
      this.#used = 0
    }
    return this.#used + Math.min(amount, limit) <= limit
  }

  take(amount: number, limit: number): void {
    this.#used += Math.min(amount, limit)
  }
}

class KeyUse {
  readonly #requests = new MinuteWindow()
  readonly #tokens = new MinuteWindow()
  /** When those that run will be over. */
  #ends: number[] = []

  /** Takes what a call needs of all of them, or of none. */
  take({ at, endedAt, tokens }: LimitedCall, limits: SupposedKeyLimits): LimitKind | null {
    const { concurrent, requestsPerMinute, tokensPerMinute } = limits
    const most = concurrent ?? Number.POSITIVE_INFINITY
    if (this.#ends.length >= most) this.#ends = this.#ends.filter((end) => end > at)
    if (this.#ends.length >= most) return 'concurrent'
    if (requestsPerMinute !== null && !this.#requests.fits(at, 1, requestsPerMinute)) return 'requests'
    if (tokensPerMinute !== null && !this.#tokens.fits(at, tokens, tokensPerMinute)) return 'tokens'
    if (concurrent !== null) this.#ends.push(endedAt)
    if (requestsPerMinute !== null) this.#requests.take(1, requestsPerMinute)
    if (tokensPerMinute !== null) this.#tokens.take(tokens, tokensPerMinute)
    return null
  }
}

/** What has been spent, in each replicate. */
class Purse {
  readonly #spent: Float64Array
  #period = -1

  constructor(replicates: number) {
    this.#spent = new Float64Array(replicates)
  }

  begin(period: number): void {
    if (period === this.#period) return
    this.#period = period
    this.#spent.fill(0)
  }

  has(replicate: number, amount: number, limit: number): boolean {
    return this.#spent[replicate]! + amount <= limit
  }

  take(replicate: number, amount: number): void {
    this.#spent[replicate]! += amount
  }
}

export class LimitTrial {
  readonly #limits: SupposedLimits
  readonly #replicates: number
  readonly #uses = new Map<string, KeyUse>()
  readonly #purses = new Map<string, Purse>()

  constructor(limits: SupposedLimits, replicates: number) {
    this.#limits = limits
    this.#replicates = replicates
  }

  /** Which limit a call does not pass, of those that do not count money; null where it passes them. */
  refuses(call: LimitedCall): LimitKind | null {
    const limits = this.#limitsOf(call.keyHash)
    if (limits === null) return null
    let use = this.#uses.get(call.keyHash)
    if (use === undefined) {
      use = new KeyUse()
      this.#uses.set(call.keyHash, use)
    }
    return use.take(call, limits)
  }

  /** Whether money bounds such a call at all. */
  boundsMoneyOf({ keyHash, organizationId }: Pick<LimitedCall, 'keyHash' | 'organizationId'>): boolean {
    return this.#limitsOf(keyHash)?.spending != null || this.#creditsOf(organizationId) !== null
  }

  /** Takes what a call costs in a replicate, or tells which limit has no room for it. */
  spend({ keyHash, organizationId, at }: LimitedCall, replicate: number, cost: number): LimitKind | null {
    const spending = this.#limitsOf(keyHash)?.spending ?? null
    const credits = this.#creditsOf(organizationId)
    const ofKey = spending === null ? null : this.#purse(`k${keyHash}`)
    const ofOrganization = credits === null ? null : this.#purse(`o${organizationId}`)
    ofKey?.begin(spending!.reset === null ? 0 : periodNumber(spending!.reset, at))
    if (ofKey?.has(replicate, cost, spending!.limit) === false) return 'key_money'
    if (ofOrganization?.has(replicate, cost, credits!) === false) return 'organization_money'
    ofKey?.take(replicate, cost)
    ofOrganization?.take(replicate, cost)
    return null
  }

  #limitsOf(keyHash: string): SupposedKeyLimits | null {
    return this.#limits.keys.get(keyHash) ?? this.#limits.keys.get('*') ?? null
  }

  #creditsOf(organizationId: string): number | null {
    return this.#limits.credits.get(organizationId) ?? this.#limits.credits.get('*') ?? null
  }

  #purse(name: string): Purse {
    let purse = this.#purses.get(name)
    if (purse === undefined) {
      purse = new Purse(this.#replicates)
      this.#purses.set(name, purse)
    }
    return purse
  }
}
