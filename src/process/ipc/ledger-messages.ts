/** What a worker and the office of accounting say to each other. */
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../limits/quota.js'

export type LedgerMessageToWorker =
  /** Answers `draw`; null when nobody can tell what is left. */
  | { readonly type: 'drawn'; readonly id: number; readonly drawn: QuotaGrant | null }
  /** Asks for what is not needed of a lease. */
  | { readonly type: 'recall'; readonly name: string }
  /** Answers `freshen`. */
  | { readonly type: 'fresh'; readonly id: number; readonly done: boolean }

export type LedgerMessageToSupervisor =
  /** Draws on a quota that all workers share. */
  | { readonly type: 'draw'; readonly id: number; readonly draw: QuotaRequest }
  | { readonly type: 'gave-back'; readonly amount: LeaseAmount }
  | { readonly type: 'owes'; readonly amount: LeaseAmount }
  /** Asks for the ledger to have everything that was written before. */
  | { readonly type: 'freshen'; readonly id: number }
