/** The audit of federation: rows about exchanges and changes, how they are written, and pages of them. */
import type { Clock } from '../base/clock.js'
import { invalidInput } from '../base/fault.js'
import { newUuidV7 } from '../base/ids.js'
import type { Principal } from '../base/principal.js'
import {
  AUDIT_TRAILS,
  type AuditTrailName,
  type FederationAuditPage,
  type FederationAuditRow,
  type FederationPolicy,
  type FederationStore,
} from '../store/federation-store.js'

// ── Rows ────────────────────────────────────────────────────────────────────

/** Who changes something: `actor` is the hash of a management key, or `command line`. */
export type AuditActor = Pick<FederationAuditRow, 'organizationId' | 'actor' | 'requestId' | 'address'>

export function actorOfCaller(
  { organizationId, keyHash }: Principal,
  { requestId, address }: { readonly requestId: string; readonly address: string },
): AuditActor {
  return { organizationId, actor: keyHash, requestId, address }
}

export type AuditAction =
  | `issuer.${'create' | 'update' | 'delete'}`
  | `policy.${'create' | 'update' | 'pause' | 'enable' | 'delete'}`
  | `signing-key.${'rotate' | 'drop'}`

type AuditSubject = Pick<FederationAuditRow, 'policyId' | 'issuerId' | 'keyHash' | 'reason'>

/** The audit row of a change. `at` is Unix time in milliseconds. */
export function changeAuditRow(
  actor: AuditActor,
  action: AuditAction,
  at: number,
  about: Partial<AuditSubject>,
): FederationAuditRow {
  const subject: AuditSubject = { policyId: null, issuerId: null, keyHash: null, reason: null, ...about }
  return { id: newUuidV7(at), at, trail: 'changes', action, outcome: 'done', ...actor, ...subject }
}

/**
 * The audit row of an exchange, in the trails of the policy's organization. `at` is Unix time in milliseconds, `actor`
 * the `sub` of a token that is known to be from the issuer, `outcome` `issued` or the kind of the fault.
 */
export function exchangeAuditRow(
  policy: FederationPolicy | null,
  exchange: Pick<FederationAuditRow, 'at' | 'actor' | 'outcome' | 'reason' | 'requestId' | 'address'>,
): FederationAuditRow {
  const { at, outcome, reason, requestId, address } = exchange
  // Member by member: with a spread the engine looks for the shape of every row anew, 5 µs an exchange.
  return {
    id: newUuidV7(at),
    at,
    trail: outcome === 'issued' ? 'issued' : 'refused',
    organizationId: policy?.organizationId ?? '',
    action: 'exchange',
    // A genuine token may still have a `sub` beyond all bounds.
    actor: exchange.actor?.slice(0, 1_024).toWellFormed() ?? null,
    policyId: policy?.id ?? null,
    issuerId: policy?.issuerId ?? null,
    keyHash: policy?.apiKeyHash ?? null,
    outcome,
    reason,
    requestId,
    address,
  }
}

// ── Pages ───────────────────────────────────────────────────────────────────

/**
 * How deep all trails together can be read: their rows are merged for every page, from the newest on. A single trail
 * is read where the page lies.
 */
const MAX_MERGED_OFFSET = 1_000

/** Newest first. Fails with `invalid-input` when all trails are asked for deeper than that. */
export function readAuditPage(
  store: Pick<FederationStore, 'auditPage'>,
  organizationId: string,
  trail: AuditTrailName | null,
  offset: number,
  limit: number,
): FederationAuditPage {
  if (trail !== null) return store.auditPage(organizationId, trail, offset, limit)
  if (offset > MAX_MERGED_OFFSET) {
    const note = `must be at most ${MAX_MERGED_OFFSET} without a trail`
    throw invalidInput(['query', 'offset'], note)
  }
  const pages = AUDIT_TRAILS.map((each) => store.auditPage(organizationId, each, 0, offset + limit))
  const rows = pages
    .flatMap((page) => page.rows)
    .sort((a, b) => b.at - a.at)
    .slice(offset, offset + limit)
  return { rows, total: pages.reduce((sum, { total }) => sum + total, 0) }
}

// ── Writing ─────────────────────────────────────────────────────────────────

const BATCH_MS = 50
const MAX_BATCH_ROWS = 500
/** Rows that wait while the store takes none; beyond it they are counted and lost. */
const MAX_WAITING_ROWS = 20_000

interface AuditLogOptions {
  readonly store: Pick<FederationStore, 'appendAudit'>
  readonly clock: Clock
  /** Told when rows could not be kept; once per attempt to write. */
  readonly onLost: (rows: number, cause: unknown) => void
}

/** A crash loses the rows of the last twentieth of a second; a `flush` before the end loses none. */
export class AuditLogWriter {
  private batch: FederationAuditRow[] = []
  private cancel: (() => void) | null = null
  private writing: Promise<void> = Promise.resolve()
  private waitingRows = 0

  constructor(private readonly options: AuditLogOptions) {}

  /** Takes a row; it can be read a moment later. */
  append(row: FederationAuditRow): void {
    if (this.waitingRows >= MAX_WAITING_ROWS) {
      this.options.onLost(1, 'the store does not keep up')
      return
    }
    this.waitingRows++
    this.batch.push(row)
    if (this.batch.length >= MAX_BATCH_ROWS) void this.flush()
    else this.cancel ??= this.options.clock.runAfter(BATCH_MS, () => void this.flush())
  }

  /** Resolves when every row that was taken is on disk, or lost and told so. */
  flush(): Promise<void> {
    this.cancel?.()
    this.cancel = null
    const rows = this.batch
    if (rows.length === 0) return this.writing
    this.batch = []
    const written = this.options.store
      .appendAudit(rows)
      .catch((cause) => this.options.onLost(rows.length, cause))
    this.writing = Promise.all([this.writing, written]).then(() => {
      this.waitingRows -= rows.length
    })
    return this.writing
  }
}
