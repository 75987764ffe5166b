/**
 * Reserve, settle, write down: the two moments at which an inference meets its limits and the ledger. Callers without
 * any limit are never kept waiting, nor is anybody asked about them.
 */
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { QuotaPermit } from '../../limits/quota-leases.js'
import type { AccountStore } from '../../store/account-store.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { LoopAccount } from '../loop/ports.js'
import { type Reservation, reservationForPlan } from '../pricing/reservation.js'
import type { Generation, ParentGeneration } from '../run/generation.js'
import type { Admission } from '../run/ports.js'
import { type BookingPorts, Bookings, type HeldPermits, NOTHING_HELD } from './bookings.js'
import { isOfPart, isOfRequest, limitCoverageFor, quotaClaimsFor, type ToolLimits } from './claims.js'
import { closedLedgerEntry, openLedgerEntry } from './ledger-rows.js'
import { type ObserveTool, RequestAccount } from './request-account.js'

type RoutedGeneration = Generation<RoutedRequest>

interface AccountingPorts extends BookingPorts {
  readonly accounts: Pick<AccountStore, 'organization'>
  /** A caller as its key is now; what refuses it where the key is gone. */
  readonly renew: (caller: Principal) => Principal | Fault
}

/** A count of tokens costs nothing; whoever has nothing left may not have tokens counted. */
const COUNT_RESERVATION: Reservation = {
  promptTokens: 0,
  completionTokens: 0,
  cost: 1,
  fixed: 1,
  perMillion: 0,
}

export class Accounting {
  readonly #ports: AccountingPorts
  readonly #bookings: Bookings
  /** Of all callers without limits: there is nothing to give back. */
  readonly #unlimited: Admission
  /** Of requests that run loops, by their roots. */
  readonly #requests = new WeakMap<RoutedGeneration, RequestAccount>()
  #observeTool: ObserveTool = () => {}
  #toolLimits: Readonly<Record<string, ToolLimits>> = {}

  constructor(ports: AccountingPorts) {
    this.#ports = ports
    this.#bookings = new Bookings(ports)
    this.#unlimited = this.#admission(NOTHING_HELD)
  }

  /** Inferences, and parts of them, that are admitted and not settled. */
  get open(): number {
    return this.#bookings.open
  }

  /** `observe` is told of each call of a tool that is over, and must not throw. */
  watchTools(observe: ObserveTool): void {
    this.#observeTool = observe
  }

  /** What the operator lets keys and organizations have of each tool, by its name. */
  limitTools(limits: Readonly<Record<string, ToolLimits>>): void {
    this.#toolLimits = limits
  }

  /**
   * Lets an inference begin, at once or later. Throws, or rejects with, `payment-required`, `rate-limited`
   * with the seconds after which a try makes sense, or `unavailable`; then nothing of it is held.
   */
  admit(generation: RoutedGeneration): Admission | Promise<Admission> {
    this.#bookings.requireRoom()
    const { caller, request, plan, operation, parent, account } = generation
    const inclusive = caller.limits?.spending?.includesByok ?? false
    const reservation = reservationForPlan(operation, request, plan.endpoints, inclusive)
    const organization =
      account === undefined ? this.#ports.accounts.organization(caller.organizationId) : account.organization
    const credits = organization?.credits ?? null
    if (credits === null && caller.limits === undefined) {
      return this.#begin(generation, reservation, NOTHING_HELD)
    }
    // The place among the calls is that of the whole request.
    const every = quotaClaimsFor(caller, organization, reservation, generation.created * 1000)
    const claims = parent === null ? every : every.filter(isOfPart)
    const coverage = limitCoverageFor(caller, credits)
    const begin = (permits: readonly QuotaPermit[]): Admission =>
      this.#begin(generation, reservation, { coverage, claims, permits })
    const permits = this.#bookings.hold(claims, caller, reservation)
    if (!(permits instanceof Promise)) return begin(permits)
    return permits.then(begin, (refusal: unknown) => {
      // Whoever cannot pay here may go on its own account all the same.
      const isUnpaid = refusal instanceof Fault && refusal.kind === 'payment-required'
      if (isUnpaid && generation.keepOwnAccounts()) return this.admit(generation)
      throw refusal
    })
  }

  /**
   * Opens the account of a request that runs a loop: its place among the calls and the requests of its key. What it
   * spends is claimed part by part. Throws, or rejects with, `rate-limited` or `unavailable`.
   */
  openAccount(root: RoutedGeneration): LoopAccount | Promise<LoopAccount> {
    this.#bookings.requireRoom()
    const { caller } = root
    const claims = quotaClaimsFor(caller, null, COUNT_RESERVATION, root.created * 1000).filter(isOfRequest)
    const open = (permits: readonly QuotaPermit[]): LoopAccount => {
      const account = new RequestAccount(root, {
        bookings: this.#bookings,
        accounts: this.#ports.accounts,
        clock: this.#ports.clock,
        renew: this.#ports.renew,
        observe: this.#observeTool,
        limitsOf: (tool) => this.#toolLimits[tool] ?? null,
        place: { ...NOTHING_HELD, claims, permits },
      })
      this.#requests.set(root, account)
      return account
    }
    const permits = this.#bookings.hold(claims, caller, COUNT_RESERVATION)
    return permits instanceof Promise ? permits.then(open) : open(permits)
  }

  /**
   * Lets a count of input tokens begin: a request among those of the key, which costs nothing but needs something left.
   * Rejects as `admit` does; otherwise resolves to what gives its place back. It leaves no row.
   */
  async admitCount(generation: RoutedGeneration): Promise<() => void> {
    const { caller } = generation
    const organization = this.#ports.accounts.organization(caller.organizationId)
    const claims = quotaClaimsFor(caller, organization, COUNT_RESERVATION, generation.created * 1000)
    const permits = await this.#bookings.hold(claims, caller, COUNT_RESERVATION)
    return () => this.#bookings.release({ ...NOTHING_HELD, claims, permits })
  }

  #admission(held: HeldPermits): Admission {
    return {
      recordLost: (generation, attempt) => this.#bookings.recordLost(generation, attempt),
      settle: (generation, outcome) => this.#settle(generation, outcome, held),
    }
  }

  #settle(generation: RoutedGeneration, outcome: InferenceOutcome, held: HeldPermits): Promise<void> {
    const row = closedLedgerEntry(generation, outcome, held.coverage, this.#ports.clock.monotonicMs())
    const written = this.#bookings.end(row, held)
    if (generation.parent !== null) this.#requestOf(generation.parent)?.add(generation.consumption)
    return written
  }

  #requestOf({ root }: ParentGeneration): RequestAccount | null {
    return this.#requests.get(root) ?? null
  }

  #begin(generation: RoutedGeneration, reservation: Reservation, held: HeldPermits): Admission {
    if (generation.parent !== null) this.#requestOf(generation.parent)?.begin()
    this.#bookings.begin(openLedgerEntry(generation, reservation, held.coverage))
    return held === NOTHING_HELD ? this.#unlimited : this.#admission(held)
  }
}
