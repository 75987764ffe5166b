/** A call that has just ended, as a row of the live feed. */
import { isoTime } from '../../base/clock.js'
import { nanosToDollars } from '../../base/money.js'
import type { LedgerRow } from '../../store/ledger-store.js'
import type { GenerationSummary } from './schema.js'

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
export function encodeLiveRow(row: SummarizedRow, keyName: string | null): GenerationSummary {
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
