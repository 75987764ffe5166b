/** The audit of federation: rows about exchanges and changes, how they are written, and pages of them. */
import type { Clock } from '../base/clock.js'
import { Fault, invalidInput } from '../base/fault.js'
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
  | `sign-in-provider.${'create' | 'update' | 'delete'}`
  | `session.${'create' | 'delete'}`

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
export async function readAuditPage(
  store: Pick<FederationStore, 'auditPage'>,
  organizationId: string,
  trail: AuditTrailName | null,
  offset: number,
  limit: number,
): Promise<FederationAuditPage> {
  if (trail !== null) return store.auditPage(organizationId, trail, offset, limit)
  if (offset > MAX_MERGED_OFFSET) {
    const note = `must be at most ${MAX_MERGED_OFFSET} without a trail`
    throw invalidInput(['query', 'offset'], note)
  }
  const pages = await Promise.all(
    AUDIT_TRAILS.map((each) => store.auditPage(organizationId, each, 0, offset + limit)),
  )
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
/** Before a store that is away is asked again; spread, so that machines do not come back in one moment. */
const RETRY_MIN_MS = 200
const RETRY_SPREAD_MS = 600

interface AuditLogOptions {
  readonly store: Pick<FederationStore, 'appendAudit'>
  readonly clock: Clock
  /** Whether rows wait for a store that is away, because exchanges go on without it; otherwise they are tried once. */
  readonly waitsForStore: boolean
  /** Told when rows could not be kept; once per attempt to write. */
  readonly onLost: (rows: number, cause: unknown) => void
}

/** A crash loses the rows of the last twentieth of a second, or those that wait for the store; a `close` none it takes. */
export class AuditLogWriter {
  private batch: FederationAuditRow[] = []
  private cancel: (() => void) | null = null
  /** Written one after the other. */
  private readonly batches: (readonly FederationAuditRow[])[] = []
  private writing: Promise<void> | null = null
  private waitingRows = 0
  private closed = false
  /** Ends the pause after a refusal; null while nothing was refused. */
  private wake: (() => void) | null = null
  /** Those who wait for rows to be written or refused. */
  private flushing: (() => void)[] = []

  constructor(private readonly options: AuditLogOptions) {}

  /** Takes a row; it can be read a moment later. */
  append(row: FederationAuditRow): void {
    if (this.waitingRows >= MAX_WAITING_ROWS) {
      this.options.onLost(1, 'the store does not keep up')
      return
    }
    this.waitingRows++
    this.batch.push(row)
    if (this.batch.length >= MAX_BATCH_ROWS) this.startWriting()
    else this.cancel ??= this.options.clock.runAfter(BATCH_MS, () => this.startWriting())
  }

  /** Resolves when every row that was taken is on disk, or lost and told so, or waits for a store that is away. */
  flush(): Promise<void> {
    this.startWriting()
    if (this.writing === null || this.wake !== null) return Promise.resolve()
    return new Promise((resolve) => this.flushing.push(resolve))
  }

  /** Resolves when every row that was taken is on disk, or lost and told so: a store that is away is not waited for. */
  async close(): Promise<void> {
    this.closed = true
    this.wake?.()
    this.startWriting()
    await this.writing
  }

  private startWriting(): void {
    this.cancel?.()
    this.cancel = null
    if (this.batch.length > 0) {
      this.batches.push(this.batch)
      this.batch = []
    }
    if (this.batches.length > 0) this.writing ??= this.write()
  }

  private async write(): Promise<void> {
    while (this.batches.length > 0) {
      const rows = this.batches[0]!
      const cause = await this.options.store.appendAudit(rows).then(
        () => null,
        (error: unknown) => ({ error }),
      )
      if (cause !== null && !this.closed && this.waits(cause.error)) await this.pause()
      else this.settle(cause)
    }
    this.writing = null
    this.release()
  }

  /** The first batch is written, or lost with its cause; the others with it when nobody waits for the store any more. */
  private settle(cause: { readonly error: unknown } | null): void {
    const isEnd = cause !== null && this.closed
    for (const rows of this.batches.splice(0, isEnd ? this.batches.length : 1)) {
      this.waitingRows -= rows.length
      if (cause !== null) this.options.onLost(rows.length, cause.error)
    }
  }

  private waits(error: unknown): boolean {
    return this.options.waitsForStore && error instanceof Fault && error.kind === 'unavailable'
  }

  private async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const delayMs = RETRY_MIN_MS + RETRY_SPREAD_MS * Math.random()
      const cancel = this.options.clock.runAfter(delayMs, resolve)
      this.wake = () => {
        cancel()
        resolve()
      }
      this.release()
    })
    this.wake = null
  }

  private release(): void {
    for (const resolve of this.flushing.splice(0)) resolve()
  }
}
