/** What readers of many rows ask the ledger for. Times are Unix milliseconds. */
import type { LedgerOutcome, LedgerRow } from '../ledger-store.js'

/** Whose rows may be read. */
export interface LedgerScope {
  /** Null: of all organizations. */
  readonly organizationId: string | null
  /** Only what ran in these workspaces, and what these keys did; null: all of the organization. */
  readonly only: { readonly workspaces: readonly string[]; readonly keys: readonly string[] } | null
}

/** Members that are null let everything through. */
export interface LedgerFilter {
  readonly scope: LedgerScope
  /** From this moment on, and before that one. */
  readonly from: number
  readonly to: number
  readonly keyHash: string | null
  readonly model: string | null
  /** Display name of the provider. */
  readonly provider: string | null
}

export interface LedgerListQuery extends LedgerFilter {
  readonly outcome: LedgerOutcome | null
  readonly sessionId: string | null
  /** Only rows whose ids come before this one; null: from the newest on. */
  readonly before: string | null
  readonly limit: number
}

export interface LedgerPage {
  /** Calls with their parts, without what they have lost; the newest first. */
  readonly rows: readonly LedgerRow[]
  /** Before which id the next page goes on, whether a row has it or not; null when there is no more. */
  readonly next: string | null
}

export const USAGE_DIMENSIONS = ['day', 'hour', 'key', 'model', 'provider'] as const
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number]

export interface UsageQuery extends LedgerFilter {
  /** By what sums are told apart; only these members of the lines are set. */
  readonly by: readonly UsageDimension[]
  /** More lines than that are not told: one more is answered instead, which says so. */
  readonly limit: number
}

/** What calls of an hour came to, or of a group of hours. Money is in nano-dollars. */
export interface UsageFigures {
  cost: number
  promptTokens: number
  completionTokens: number
  calls: number
  failed: number
  byok: number
}
export const USAGE_FIGURES = ['cost', 'promptTokens', 'completionTokens', 'calls', 'failed', 'byok'] as const

export interface UsageLine extends UsageFigures {
  /** When the day or the hour begins; null where sums are not told apart by time. */
  readonly at: number | null
  readonly keyHash: string | null
  readonly model: string | null
  readonly provider: string | null
}

/** Whether a payer is in a scope. */
export function isInScope(
  { organizationId, only }: LedgerScope,
  payer: Pick<LedgerRow, 'organizationId' | 'workspaceId' | 'keyHash'>,
): boolean {
  if (organizationId !== null && payer.organizationId !== organizationId) return false
  if (only === null) return true
  const { workspaceId, keyHash } = payer
  return (workspaceId !== null && only.workspaces.includes(workspaceId)) || only.keys.includes(keyHash)
}
