/**
 * Reserve, settle, write down: the two moments at which an inference meets its limits and the ledger. Callers without
 * any limit are never kept waiting, nor is anybody asked about them.
 */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { isPermit, NO_ANSWER, type QuotaLeases, type QuotaPermit } from '../../limits/quota-leases.js'
import type { AccountStore } from '../../store/account-store.js'
import {
  type ClosedLedgerEntry,
  type LedgerJournal,
  type LimitCoverage,
  NO_LIMIT_COVERAGE,
} from '../../store/ledger-store.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import { type Reservation, reservationFor } from '../pricing/reservation.js'
import type { Generation } from '../run/generation.js'
import type { Admission } from '../run/ports.js'
import {
  limitCoverageFor,
  type QuotaClaim,
  type QuotaClaimKind,
  quotaClaimsFor,
  refusalFault,
} from './claims.js'
import { closedLedgerEntry, lostAttemptEntry, openLedgerEntry } from './ledger-rows.js'

type RoutedGeneration = Generation<RoutedRequest>

interface AccountingPorts {
  readonly journal: LedgerJournal
  readonly leases: QuotaLeases
  readonly accounts: Pick<AccountStore, 'organization'>
  readonly clock: Clock
  /** Where callers without credit are sent. */
  readonly creditsUrl: string
}

/** What an admitted inference has taken, until it is settled. */
interface HeldPermits {
  readonly coverage: LimitCoverage
  readonly claims: readonly QuotaClaim[]
  /** One per claim. */
  readonly permits: readonly QuotaPermit[]
}

const NOTHING_HELD: HeldPermits = Object.freeze({ coverage: NO_LIMIT_COVERAGE, claims: [], permits: [] })

/** A count of tokens costs nothing; whoever has nothing left may not have tokens counted. */
const COUNT_RESERVATION: Reservation = {
  promptTokens: 0,
  completionTokens: 0,
  cost: 1,
  fixed: 1,
  perMillion: 0,
}

/** The ledger takes no rows: nothing may run that could not be written down. */
const JOURNAL_FULL = new Fault('unavailable', {
  retryAfter: 2,
  detail: 'the journal of the ledger takes no rows',
})
const QUOTA_SERVER_SILENT = new Fault('unavailable', {
  retryAfter: 1,
  detail: 'the bank of the limits did not answer',
})

export class Accounting {
  readonly #ports: AccountingPorts
  #openCalls = 0
  /** Of all callers without limits: there is nothing to give back. */
  readonly #unlimited: Admission = this.#admission(NOTHING_HELD)

  constructor(ports: AccountingPorts) {
    this.#ports = ports
  }

  /** Inferences that are admitted and not settled. */
  get open(): number {
    return this.#openCalls
  }

  /**
   * Lets an inference begin, at once or later. Throws, or rejects with, `payment-required`, `rate-limited`
   * with the seconds after which a try makes sense, or `unavailable`; then nothing of it is held.
   */
  admit(generation: RoutedGeneration): Admission | Promise<Admission> {
    const { journal, accounts } = this.#ports
    if (!journal.hasRoomFor(this.#openCalls)) throw JOURNAL_FULL
    const { caller, request, plan, operation } = generation
    const reservation = reservationFor(operation, request, plan.endpoints)
    const organization = accounts.organization(caller.organizationId)
    const credits = organization?.credits ?? null
    if (credits === null && caller.limits === undefined) {
      return this.#recordAdmission(generation, reservation, NOTHING_HELD)
    }
    const claims = quotaClaimsFor(caller, organization, reservation, generation.created * 1000)
    const coverage = limitCoverageFor(caller, credits)
    const permits = this.#takeAtOnce(claims)
    if (permits !== null) return this.#recordAdmission(generation, reservation, { coverage, claims, permits })
    return this.#take(claims, generation, reservation).then((taken) =>
      this.#recordAdmission(generation, reservation, { coverage, claims, permits: taken }),
    )
  }

  /**
   * Lets a count of input tokens begin: a request among those of the key, which costs nothing but needs something left.
   * Rejects as `admit` does; otherwise resolves to what gives its place back. It leaves no row.
   */
  async admitCount(generation: RoutedGeneration): Promise<() => void> {
    const { caller } = generation
    const organization = this.#ports.accounts.organization(caller.organizationId)
    const claims = quotaClaimsFor(caller, organization, COUNT_RESERVATION, generation.created * 1000)
    const permits = this.#takeAtOnce(claims) ?? (await this.#take(claims, generation, COUNT_RESERVATION))
    return () => {
      for (const [at, permit] of permits.entries())
        this.#ports.leases.release(permit, claims[at]!.kind === 'requests' ? 1 : 0)
    }
  }

  /** Null when the quota server has to be asked: nothing is kept meanwhile that was taken at once. */
  #takeAtOnce(claims: readonly QuotaClaim[]): QuotaPermit[] | null {
    const permits: QuotaPermit[] = []
    for (const { quota, amount } of claims) {
      const permit = this.#ports.leases.tryAcquire(quota, amount)
      if (permit === null) {
        this.#releaseAll(permits)
        return null
      }
      permits.push(permit)
    }
    return permits
  }

  #admission(holding: HeldPermits): Admission {
    return {
      recordLost: (generation, attempt) =>
        this.#ports.journal.recordLost(lostAttemptEntry(generation, attempt)),
      settle: (generation, outcome) => this.#settle(generation, outcome, holding),
    }
  }

  /** The promise resolves when the row outlives this process; it never rejects. */
  #settle(generation: RoutedGeneration, outcome: InferenceOutcome, holding: HeldPermits): Promise<void> {
    const row = closedLedgerEntry(generation, outcome, holding.coverage, this.#ports.clock.monotonicMs())
    const written = this.#ports.journal.recordClosed(row)
    const { claims, permits } = holding
    for (let at = 0; at < permits.length; at++) {
      this.#ports.leases.release(permits[at]!, spentAmount(claims[at]!.kind, row))
    }
    this.#openCalls--
    return written
  }

  #recordAdmission(generation: RoutedGeneration, reservation: Reservation, holding: HeldPermits): Admission {
    this.#openCalls++
    this.#ports.journal.recordOpen(openLedgerEntry(generation, reservation.cost, holding.coverage))
    return holding === NOTHING_HELD ? this.#unlimited : this.#admission(holding)
  }

  async #take(
    claims: readonly QuotaClaim[],
    { caller }: RoutedGeneration,
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
      this.#releaseAll(permits)
      if (outcome === NO_ANSWER) throw QUOTA_SERVER_SILENT
      const unixMs = clock.unixSeconds() * 1000
      throw refusalFault(claim, outcome, { caller, reservation, creditsUrl, unixMs })
    }
    return permits
  }

  #releaseAll(permits: readonly QuotaPermit[]): void {
    for (const permit of permits) this.#ports.leases.release(permit, 0)
  }
}

/** What is gone of a claim. A place among the calls at a time is always given back. */
function spentAmount(kind: QuotaClaimKind, row: ClosedLedgerEntry): number {
  switch (kind) {
    case 'concurrent':
      return 0
    case 'requests':
      return 1
    case 'tokens':
      return row.promptTokens + row.completionTokens
    case 'key-money':
    case 'organization-money':
      return row.cost
  }
}
