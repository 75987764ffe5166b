/** What both ledgers need to answer a question for many rows. */
import type { LedgerRow, LedgerScope, UsageFigures } from '../ledger-store.js'

export const USAGE_FIGURES = [
  'cost',
  'promptTokens',
  'completionTokens',
  'calls',
  'failed',
  'byok',
] as const satisfies readonly (keyof UsageFigures)[]

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
