/** Where the quota server of a machine draws from when the machine is one of many. Embedded, there is none. */
import type { QuotaGrant, QuotaRequest } from './quota.js'

/** What this machine has of one quota. */
export interface QuotaLine {
  readonly name: string
  /** All that was drawn of it and not given back, spent or not. */
  readonly held: number
  /** What is left of it for any machine, when the bank was asked last; below 0 when more is out than the limit. */
  readonly room: number
  /** Whether what is held is good under that limit; otherwise the bank has to be asked, whatever is held. */
  isGoodUnder(capacity: number): boolean
}

/** What those who wait need, on the whole and the smallest of them; what the machine has unused is part of it. */
export interface QuotaNeed {
  readonly total: number
  readonly least: number
  /** Whether others have been asked to give back for its sake, and are to be waited for. */
  readonly waits: boolean
}

/**
 * `served`: enough is held now for one of them at least. `called`: others were asked to give back, so that it makes
 * sense to draw again. `short`: there is no more. `away`: it cannot be told.
 */
export type SupplyOutcome = 'served' | 'called' | 'short' | 'away'

export interface QuotaSupply {
  /** The quota is used here from now on. */
  open(name: string): QuotaLine
  /** It is not used here any more; nothing of it is with a holder. */
  close(line: QuotaLine): void
  /** Draws for those who wait; not again before `done` was called, which may be at once. */
  draw(line: QuotaLine, request: QuotaRequest, need: QuotaNeed, done: (outcome: SupplyOutcome) => void): void
  /** Something has come back from a holder. */
  returned(line: QuotaLine): void
  /** A holder has used more than it had. */
  overdrawn(line: QuotaLine): void
  /** Takes tokens of a bucket. */
  takeTokens(request: QuotaRequest, answer: (grant: QuotaGrant | null) => void): void
}

/** The quota server, as the supply sees it. */
export interface SuppliedQuotas {
  /** Of what is held: what no holder has, less what holders have used beyond their leases; 0 when the window is over. */
  unused(name: string): number
  /** Asks all holders for what they do not need; calls `done` when they have answered, or are late. */
  recall(name: string, done: () => void): void
  /** The bank has said when the window ends, of the monotonic clock; `isNew`: it is another one than before. */
  windowIs(name: string, endsAt: number, isNew: boolean): void
  /** Nothing of what was held counts any more, neither what holders have. */
  voided(name: string): void
}
