/**
 * Limits that several processes keep together, exactly. One bank knows how much of each quota is out; processes hold
 * leases, draw on them without asking, and give back what they do not need when the bank calls for it. What is out and
 * what has been spent together never exceed the quota, whatever dies.
 *
 * Amounts are integers: nano-dollars, tokens, requests, calls at a time.
 */

export interface Quota {
  /** Equal names mean the same quota, in every process. */
  readonly name: string
  readonly capacity: number
  /** How long a window lasts in which the capacity is there anew; 0 when there are none. */
  readonly windowMs: number
}

/** What a process asks of the bank. */
export interface QuotaRequest extends Quota {
  /** At least 1. */
  readonly wanted: number
}

export interface QuotaGrant {
  /** Less than was wanted when the quota is used up now, more when it is far from that. */
  readonly granted: number
  /** Number of the window; 0 where there are none. */
  readonly epoch: number
  /** Until the window ends; 0 where there are none. */
  readonly resetInMs: number
}

/** An amount of a lease that goes back to the bank, or that a process has used beyond its lease. */
export interface LeaseAmount {
  readonly name: string
  readonly epoch: number
  readonly amount: number
}

/** Spent amounts of these quotas are kept in the ledger, and last longer than any process. */
const MONEY_PREFIX = '$'

export function isMoneyQuota(name: string): boolean {
  return name.startsWith(MONEY_PREFIX)
}

export function moneyQuotaName(payer: string, period: string): string {
  return `${MONEY_PREFIX}${payer} ${period}`
}

/** The two parts of `moneyName`. */
export function parseMoneyQuotaName(name: string): { readonly payer: string; readonly period: string } {
  const [payer, period] = name.slice(MONEY_PREFIX.length).split(' ')
  return { payer: payer!, period: period! }
}
