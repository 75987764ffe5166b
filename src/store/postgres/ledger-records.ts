/** A row of the shared ledger as its columns, and back as the line that it was. */
import { byokCostIn, byokField, parseRow } from '../ledger/row-text.js'
import { LEDGER_OUTCOMES, type LedgerRow } from '../ledger-store.js'

export const ROW_COLUMNS = `kind, id, key_hash, organization_id, workspace_id, outcome, coverage, cost, upstream_cost,
  prompt_tokens, completion_tokens, detail`

/** A row as the columns that its line is made of. */
export interface RowRecord {
  readonly kind: string
  readonly id: string
  readonly key_hash: string
  readonly organization_id: string
  readonly workspace_id: string | null
  readonly outcome: string
  readonly coverage: number
  readonly cost: number
  readonly upstream_cost: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly detail: string
}

/** As a call or a part. */
export function decodeRow(record: RowRecord): LedgerRow {
  return parseRow(payersOf(record), lineOf(record))
}

export function payersOf(record: RowRecord): Pick<LedgerRow, 'keyHash' | 'organizationId' | 'workspaceId'> {
  const { key_hash: keyHash, organization_id: organizationId, workspace_id: workspaceId } = record
  return { keyHash, organizationId, workspaceId }
}

/** The line that the row was, without its end. */
export function lineOf(record: RowRecord): string {
  const { kind, id, prompt_tokens: prompt, completion_tokens: completion, detail } = record
  if (kind === 'lost') return `L ${id} ${record.upstream_cost} ${prompt} ${completion} ${detail}`
  const outcome = LEDGER_OUTCOMES.indexOf(record.outcome as LedgerRow['outcome'])
  const figures = `${record.coverage} ${outcome} ${prompt} ${completion}${byokField(byokCostIn(detail))}`
  return `C ${id} ${record.cost} ${figures} ${detail}`
}
