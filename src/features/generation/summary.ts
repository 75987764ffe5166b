/** A generation in a line, as lists and the live feed tell it. */
import { isoTime } from '../../base/clock.js'
import { nanosToDollars } from '../../base/money.js'
import type { LedgerRow } from '../../store/ledger-store.js'

type SummarizedRow = Pick<
  LedgerRow,
  | 'id'
  | 'keyHash'
  | 'createdAt'
  | 'outcome'
  | 'cost'
  | 'byokCost'
  | 'promptTokens'
  | 'completionTokens'
  | 'detail'
>

/** @param keyName null for a key without a name, or one that is gone */
export function encodeSummary(row: SummarizedRow, keyName: string | null) {
  const { detail } = row
  return {
    id: row.id,
    created_at: isoTime(row.createdAt),
    key_hash: row.keyHash,
    key_name: keyName,
    model: detail.model,
    requested: detail.requested,
    provider: detail.provider,
    api: detail.api,
    streamed: detail.streamed,
    outcome: row.outcome,
    fault: detail.fault,
    finish: detail.finish,
    prompt_tokens: row.promptTokens,
    completion_tokens: row.completionTokens,
    cost: nanosToDollars(row.cost),
    byok_cost: nanosToDollars(row.byokCost ?? 0),
    duration_ms: detail.durationMs,
    first_event_ms: detail.firstEventMs,
    session_id: detail.sessionId,
    attempts: detail.attempts,
  }
}
