/**
 * Limits that several processes keep together, exactly. One quota server knows how much of each quota is out; the other
 * processes hold leases, take permits out of them without asking, and give back what they do not need when the server
 * revokes it. What is leased and what has been spent together never exceed the quota, whichever process dies.
 *
 * Amounts are integers: nano-dollars, tokens, requests, calls at a time.
 */

export interface Quota {
  /** Equal names mean the same quota, in every process. */
  readonly name: string
  readonly capacity: number
  /** How long a window lasts in which the capacity is there anew; 0 when there are no windows. */
  readonly windowMs: number
  /**
   * By how much a token bucket of that capacity refills in a millisecond; absent for what is no bucket. What is granted
   * of a bucket is used up: it is good for a tenth of a second, and never given back.
   */
  readonly refillPerMs?: number
}

/** What a process asks of the quota server. */
export interface QuotaRequest extends Quota {
  /** At least 1. */
  readonly wanted: number
  /** What the smallest of those who wait needs; absent where that is all that is wanted. */
  readonly least?: number
}

export interface QuotaGrant {
  /** Less than was wanted when the quota is used up now, more when it is far from that. */
  readonly granted: number
  /** Number of the window; 0 where there are none. */
  readonly epoch: number
  /** Until the window ends, a bucket has its next token, or tokens of one are void; 0 where there is no such end. */
  readonly resetInMs: number
  /** What is left beyond what was granted, too little for any of those who wait; absent where there is none. */
  readonly left?: number
}

/** An amount of a lease that goes back to the server, or that a process has used beyond its lease. */
export interface LeaseAmount {
  readonly name: string
  readonly epoch: number
  readonly amount: number
}

/** One part in so many of what is left is granted in advance, which spares most of the asking. */
const ADVANCE_DIVISOR = 32
/** And at most so many times what was wanted: every question is a message there and back. */
const MAX_ADVANCE_FACTOR = 1024

/** How much of what is left a request gets. */
export function grantableAmount(available: number, wanted: number): number {
  const advance = Math.min(Math.floor((available - wanted) / ADVANCE_DIVISOR), wanted * MAX_ADVANCE_FACTOR)
  return Math.max(0, Math.min(Math.floor(available), wanted + Math.max(0, advance)))
}

/** Spent amounts of these quotas are kept in the ledger, and last longer than any process. */
const MONEY_PREFIX = '$'

export function isMoneyQuota(name: string): boolean {
  return name.startsWith(MONEY_PREFIX)
}

export function moneyQuotaName(payer: string, period: string): string {
  return `${MONEY_PREFIX}${payer} ${period}`
}

/** The two parts of `moneyQuotaName`. */
export function parseMoneyQuotaName(name: string): { readonly payer: string; readonly period: string } {
  const [payer, period] = name.slice(MONEY_PREFIX.length).split(' ')
  return { payer: payer!, period: period! }
}
