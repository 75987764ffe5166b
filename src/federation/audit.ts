/** Rows about exchanges, gathered and written together: a transaction for each would cost more than the exchange. */
import type { Clock } from '../base/clock.js'
import { uuidV7 } from '../base/ids.js'
import type { FederationAuditRow, FederationPolicy, FederationStore } from '../store/federation-store.js'

const GATHERED_MS = 50
const MOST_GATHERED = 500
/** Rows that wait while the store takes none; beyond it they are counted and lost. */
const MOST_WAITING = 20_000

interface AuditTrailOptions {
  readonly store: Pick<FederationStore, 'appendAudit'>
  readonly clock: Clock
  /** Told when rows could not be kept; once per attempt to write. */
  readonly lost: (rows: number, cause: unknown) => void
}

/** A crash loses the rows of the last twentieth of a second; a `close` loses none. */
export class AuditTrail {
  private gathered: FederationAuditRow[] = []
  private cancel: (() => void) | null = null
  private writing: Promise<void> = Promise.resolve()
  private waiting = 0

  constructor(private readonly options: AuditTrailOptions) {}

  /** Takes a row; it can be read a moment later. */
  append(row: FederationAuditRow): void {
    if (this.waiting >= MOST_WAITING) {
      this.options.lost(1, 'the store does not keep up')
      return
    }
    this.waiting++
    this.gathered.push(row)
    if (this.gathered.length >= MOST_GATHERED) void this.flush()
    else this.cancel ??= this.options.clock.after(GATHERED_MS, () => void this.flush())
  }

  /** Resolves when every row that was taken is on disk, or lost and told so. */
  flush(): Promise<void> {
    this.cancel?.()
    this.cancel = null
    const rows = this.gathered
    if (rows.length === 0) return this.writing
    this.gathered = []
    const written = this.options.store
      .appendAudit(rows)
      .catch((cause) => this.options.lost(rows.length, cause))
    this.writing = Promise.all([this.writing, written]).then(() => {
      this.waiting -= rows.length
    })
    return this.writing
  }

  close(): Promise<void> {
    return this.flush()
  }
}

/** What came of an exchange. `at` is Unix time in milliseconds. */
interface Verdict {
  readonly at: number
  /** `sub` of a token that is known to be from the issuer; null otherwise. */
  readonly actor: string | null
  /** `issued`, or the kind of the fault. */
  readonly outcome: string
  readonly reason: string | null
}

/** The row about an exchange, in the trails of the policy's organization; no word of the token but its `sub`. */
export function exchangeRow(
  { requestId, address }: { readonly requestId: string; readonly address: string },
  policy: FederationPolicy | null,
  { at, actor, outcome, reason }: Verdict,
): FederationAuditRow {
  return {
    id: uuidV7(at),
    at,
    trail: outcome === 'issued' ? 'issued' : 'refused',
    organizationId: policy?.organizationId ?? '',
    action: 'exchange',
    actor: actor === null ? null : firstOf(actor),
    policyId: policy?.id ?? null,
    issuerId: policy?.issuerId ?? null,
    keyHash: policy?.apiKeyHash ?? null,
    outcome,
    reason,
    requestId,
    address,
  }
}

/** A genuine token may still have a `sub` beyond all bounds. */
function firstOf(text: string): string {
  return text.slice(0, 1_024).toWellFormed()
}
