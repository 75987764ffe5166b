/**
 * Reserve, settle, write down: the two moments at which an inference meets its limits and the ledger. Callers without
 * any limit are never kept waiting, nor is anybody asked about them.
 */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { isTicket, NO_ANSWER, type QuotaDesk, type Ticket } from '../../limits/quota-desk.js'
import type { AccountStore } from '../../store/account-store.js'
import {
  type ClosedLedgerEntry,
  type LedgerJournal,
  type LimitCoverage,
  NO_LIMIT_COVERAGE,
} from '../../store/ledger-store.js'
import type { RoutedRequest } from '../formats/canonical.js'
import type { InferenceOutcome } from '../formats/outcome.js'
import type { Reservation } from '../pricing/reservation.js'
import { reservationFor } from '../pricing/reserve.js'
import type { Generation } from '../run/generation.js'
import type { Admission } from '../run/run.js'
import { type Claim, type ClaimKind, claimsOf, coverageOf, refusalOf } from './claims.js'
import { ledgerRow, openEntry } from './entry.js'

interface AccountingPorts {
  readonly journal: LedgerJournal
  readonly desk: QuotaDesk
  readonly accounts: Pick<AccountStore, 'organization'>
  readonly clock: Clock
  /** Where callers without credit are sent. */
  readonly creditsUrl: string
}

type AnyGeneration = Generation<RoutedRequest>

/** What an admitted inference has taken, until it is settled. */
interface Holding {
  readonly coverage: LimitCoverage
  readonly claims: readonly Claim[]
  /** One per claim. */
  readonly tickets: readonly Ticket[]
}

const NOTHING_HELD: Holding = Object.freeze({ coverage: NO_LIMIT_COVERAGE, claims: [], tickets: [] })

/** The ledger takes no rows: nothing may run that could not be written down. */
const NO_ROOM = new Fault('unavailable', { retryAfter: 2, detail: 'the journal of the ledger takes no rows' })
const NO_BANK = new Fault('unavailable', { retryAfter: 1, detail: 'the bank of the limits did not answer' })

export class Accounting {
  readonly #ports: AccountingPorts
  #open = 0
  /** Of all callers without limits: there is nothing to give back. */
  readonly #unlimited: Admission = this.#admission(NOTHING_HELD)

  constructor(ports: AccountingPorts) {
    this.#ports = ports
  }

  /** Inferences that are admitted and not settled. */
  get open(): number {
    return this.#open
  }

  /**
   * Lets an inference begin, at once or later. Throws, or rejects with, `payment-required`, `rate-limited`
   * with the seconds after which a try makes sense, or `unavailable`; then nothing of it is held.
   */
  admit(generation: AnyGeneration): Admission | Promise<Admission> {
    const { journal, accounts } = this.#ports
    if (!journal.hasRoomFor(this.#open)) throw NO_ROOM
    const { caller, request, plan, operation } = generation
    const reservation = reservationFor(operation, request, plan.endpoints)
    const organization = accounts.organization(caller.organizationId)
    const credits = organization?.credits ?? null
    if (credits === null && caller.limits === undefined) {
      return this.#begin(generation, reservation, NOTHING_HELD)
    }
    const claims = claimsOf(caller, organization, reservation, generation.created * 1000)!
    const coverage = coverageOf(caller, credits)
    const tickets = this.#takeAll(claims)
    if (tickets === null) return this.#admitLater(generation, reservation, claims, coverage)
    return this.#begin(generation, reservation, { coverage, claims, tickets })
  }

  #admission(holding: Holding): Admission {
    return { settle: (generation, outcome) => this.#settle(generation, outcome, holding) }
  }

  /** The promise resolves when the row outlives this process; it never rejects. */
  #settle(generation: AnyGeneration, outcome: InferenceOutcome, holding: Holding): Promise<void> {
    const row = ledgerRow(generation, outcome, holding.coverage, this.#ports.clock.monotonicMs())
    const written = this.#ports.journal.recordClosed(row)
    const { claims, tickets } = holding
    for (let at = 0; at < tickets.length; at++) {
      this.#ports.desk.bring(tickets[at]!, spentOf(claims[at]!.kind, row))
    }
    this.#open--
    return written
  }

  #begin(generation: AnyGeneration, reservation: Reservation, holding: Holding): Admission {
    this.#open++
    this.#ports.journal.recordOpen(openEntry(generation, reservation.cost, holding.coverage))
    return holding === NOTHING_HELD ? this.#unlimited : this.#admission(holding)
  }

  /** Null when the bank has to be asked for one of them. */
  #takeAll(claims: readonly Claim[]): Ticket[] | null {
    const tickets: Ticket[] = []
    for (const { quota, amount } of claims) {
      const ticket = this.#ports.desk.tryTake(quota, amount)
      if (ticket === null) {
        this.#bringBack(tickets)
        return null
      }
      tickets.push(ticket)
    }
    return tickets
  }

  async #admitLater(
    generation: AnyGeneration,
    reservation: Reservation,
    claims: readonly Claim[],
    coverage: LimitCoverage,
  ): Promise<Admission> {
    const { desk, clock, creditsUrl } = this.#ports
    const tickets: Ticket[] = []
    for (const claim of claims) {
      const came = desk.tryTake(claim.quota, claim.amount) ?? (await desk.take(claim.quota, claim.amount))
      if (came !== NO_ANSWER && isTicket(came)) {
        tickets.push(came)
        continue
      }
      this.#bringBack(tickets)
      if (came === NO_ANSWER) throw NO_BANK
      const unixMs = clock.unixSeconds() * 1000
      throw refusalOf(claim, came, { caller: generation.caller, reservation, creditsUrl, unixMs })
    }
    return this.#begin(generation, reservation, { coverage, claims, tickets })
  }

  #bringBack(tickets: readonly Ticket[]): void {
    for (const ticket of tickets) this.#ports.desk.bring(ticket, 0)
  }
}

/** What is gone of a claim. A place among the calls at a time is always given back. */
function spentOf(kind: ClaimKind, row: ClosedLedgerEntry): number {
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
