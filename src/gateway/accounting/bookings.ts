/** What calls hold of limits and credit while they run, and their rows: taken together, given back together. */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { isPermit, NO_ANSWER, type QuotaLeases, type QuotaPermit } from '../../limits/quota-leases.js'
import {
  type ClosedLedgerEntry,
  type LedgerJournal,
  type LimitCoverage,
  NO_LIMIT_COVERAGE,
  type OpenLedgerEntry,
} from '../../store/ledger-store.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { Reservation } from '../pricing/reservation.js'
import type { Generation, LostAttempt } from '../run/generation.js'
import { type QuotaClaim, type QuotaClaimKind, refusalFault } from './claims.js'
import { lostAttemptEntry } from './ledger-rows.js'

export interface BookingPorts {
  readonly journal: LedgerJournal
  readonly leases: QuotaLeases
  readonly clock: Clock
  /** Where callers without credit are sent. */
  readonly creditsUrl: string
}

/** What a call has taken, until it is settled. */
export interface HeldPermits {
  readonly coverage: LimitCoverage
  readonly claims: readonly QuotaClaim[]
  /** One per claim. */
  readonly permits: readonly QuotaPermit[]
}

export const NOTHING_HELD: HeldPermits = Object.freeze({
  coverage: NO_LIMIT_COVERAGE,
  claims: [],
  permits: [],
})

/** The ledger takes no rows: nothing may run that could not be written down. */
const JOURNAL_FULL = new Fault('unavailable', {
  retryAfter: 2,
  detail: 'the journal of the ledger takes no rows',
})
const QUOTA_SERVER_SILENT = new Fault('unavailable', {
  retryAfter: 1,
  detail: 'the bank of the limits did not answer',
})

export class Bookings {
  readonly #ports: BookingPorts
  #open = 0

  constructor(ports: BookingPorts) {
    this.#ports = ports
  }

  /** Rows that are begun and not over. */
  get open(): number {
    return this.#open
  }

  /** Throws where the ledger would not take another row. */
  requireRoom(): void {
    if (!this.#ports.journal.hasRoomFor(this.#open)) throw JOURNAL_FULL
  }

  /**
   * One permit per claim, at once where that can be. Rejects with `payment-required`, `rate-limited` or `unavailable`;
   * then nothing is held.
   */
  hold(
    claims: readonly QuotaClaim[],
    caller: Principal,
    reservation: Reservation,
  ): QuotaPermit[] | Promise<QuotaPermit[]> {
    return this.#takeAtOnce(claims) ?? this.#take(claims, caller, reservation)
  }

  giveBack(permits: readonly QuotaPermit[]): void {
    for (const permit of permits) this.#ports.leases.release(permit, 0)
  }

  begin(entry: OpenLedgerEntry): void {
    this.#open++
    this.#ports.journal.recordOpen(entry)
  }

  recordLost(generation: Generation<RoutedRequest>, attempt: LostAttempt): void {
    this.#ports.journal.recordLost(lostAttemptEntry(generation, attempt))
  }

  /** The promise resolves when the row outlives this process; it never rejects. */
  end(row: ClosedLedgerEntry, { claims, permits }: HeldPermits): Promise<void> {
    const written = this.#ports.journal.recordClosed(row)
    for (let at = 0; at < permits.length; at++) {
      this.#ports.leases.release(permits[at]!, spentAmount(claims[at]!.kind, row))
    }
    this.#open--
    return written
  }

  /** Ends what has left no row: it counts as a request all the same. */
  release({ claims, permits }: HeldPermits): void {
    for (const [at, permit] of permits.entries())
      this.#ports.leases.release(permit, claims[at]!.kind === 'requests' ? 1 : 0)
  }

  /** Null when the quota server has to be asked: nothing is kept meanwhile that was taken at once. */
  #takeAtOnce(claims: readonly QuotaClaim[]): QuotaPermit[] | null {
    const permits: QuotaPermit[] = []
    for (const { quota, amount } of claims) {
      const permit = this.#ports.leases.tryAcquire(quota, amount)
      if (permit === null) {
        this.giveBack(permits)
        return null
      }
      permits.push(permit)
    }
    return permits
  }

  async #take(
    claims: readonly QuotaClaim[],
    caller: Principal,
    reservation: Reservation,
  ): Promise<QuotaPermit[]> {
    const { leases, clock, creditsUrl } = this.#ports
    const permits: QuotaPermit[] = []
    for (const claim of claims) {
      const { quota, amount } = claim
      const outcome = leases.tryAcquire(quota, amount) ?? (await leases.acquire(quota, amount))
      if (outcome !== NO_ANSWER && isPermit(outcome)) {
        permits.push(outcome)
        continue
      }
      this.giveBack(permits)
      if (outcome === NO_ANSWER) throw QUOTA_SERVER_SILENT
      const unixMs = clock.unixSeconds() * 1000
      throw refusalFault(claim, outcome, { caller, reservation, creditsUrl, unixMs })
    }
    return permits
  }
}

/** What is gone of a claim. A place among the calls at a time is always given back. */
function spentAmount(kind: QuotaClaimKind, row: ClosedLedgerEntry): number {
  switch (kind) {
    case 'concurrent':
      return 0
    case 'requests':
    case 'tool-calls':
      return 1
    case 'tokens':
      return row.promptTokens + row.completionTokens
    case 'key-money':
      return row.cost + (row.coverage.byok === true ? (row.byokCost ?? 0) : 0)
    case 'organization-money':
      return row.cost
  }
}
