/** What a quota server keeps of one quota: who holds how much of it, and who waits. */
import { isMoneyQuota, type QuotaGrant, type QuotaRequest } from './quota.js'
import type { QuotaLine, SupplyOutcome } from './quota-supply.js'

interface HolderLease {
  /** Granted and not given back. */
  granted: number
  /** Of that, what the ledger has seen spent. */
  spent: number
}

export interface PendingQuotaRequest {
  readonly holder: string
  readonly request: QuotaRequest
  readonly answer: (grant: QuotaGrant | null) => void
  /** The other holders have been asked to give back for its sake. */
  revoked: boolean
  /** What the supply has said when it was drawn from for its sake; null when it was not. */
  drawn: SupplyOutcome | null
}

/** Somebody waits for what holders give back, without a request. */
export interface Recall {
  readonly awaited: Set<string>
  readonly done: () => void
  cancelWait: () => void
}

export interface QuotaAccount {
  readonly name: string
  capacity: number
  /** Spent by holders without a lease. */
  spent: number
  epoch: number
  endsAt: number
  readonly leases: Map<string, HolderLease>
  /** In the order in which they came. */
  readonly queue: PendingQuotaRequest[]
  /** Holders whose answer the first of the queue waits for. */
  readonly awaited: Set<string>
  cancelWait: () => void
  state: 'loading' | 'open'
  /** What is drawn of the bank of all machines; null when this is the only bank. */
  readonly line: QuotaLine | null
  readonly recalls: Recall[]
}

/** By how much the ends of a window may differ, seen from two machines. */
const CLOCKS_MS = 1_000

export function leaseOf(account: QuotaAccount, holder: string): HolderLease {
  let lease = account.leases.get(holder)
  if (lease === undefined) {
    lease = { granted: 0, spent: 0 }
    account.leases.set(holder, lease)
  }
  return lease
}

/** Leased or spent. */
export function committedAmount({ spent, leases }: QuotaAccount): number {
  let sum = spent
  for (const lease of leases.values()) sum += Math.max(lease.granted, lease.spent)
  return sum
}

/** No holder has anything of it: all there is to know stands in the ledger, or nowhere. */
export function isIdle({ leases, spent, name, endsAt, line }: QuotaAccount, now: number): boolean {
  // What was leased of a window is void when it has ended, by the clock of another machine maybe a little later.
  if (now >= (line === null ? endsAt : endsAt + CLOCKS_MS)) return true
  if (!isMoneyQuota(name) && spent > 0) return false
  for (const { granted, spent: used } of leases.values()) if (granted > used) return false
  return true
}
