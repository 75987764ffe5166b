/** The account of one request that runs a loop, over limits, credit and the ledger (contract/tools 2). */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { AccountStore } from '../../store/account-store.js'
import type { InferenceOutcome, RoutedRequest } from '../formats/canonical.js'
import type { LoopAccount, ToolPermit, ToolRow, ToolSpending } from '../loop/ports.js'
import type { Reservation } from '../pricing/reservation.js'
import type { Consumption, Generation } from '../run/generation.js'
import { type Bookings, type HeldPermits, NOTHING_HELD } from './bookings.js'
import { isOfMoney, limitCoverageFor, quotaClaimsFor, type ToolLimits, toolClaimsFor } from './claims.js'
import { closedRootEntry, closedToolEntry, openLedgerEntry, openToolEntry } from './ledger-rows.js'
import { addConsumption, NOTHING_CONSUMED } from './sums.js'

/** Told of each call of a tool that is over. What it throws is its own affair. */
export type ObserveTool = (root: Generation<RoutedRequest>, row: ToolRow, spent: ToolSpending) => void

interface RequestAccountPorts {
  readonly bookings: Bookings
  readonly accounts: Pick<AccountStore, 'organization'>
  readonly clock: Clock
  readonly renew: (caller: Principal) => Principal | Fault
  /** Limits of the operator; null where there are none. */
  readonly limitsOf: (tool: string) => ToolLimits | null
  readonly observe: ObserveTool
  /** Among the calls and the requests of the key. */
  readonly place: HeldPermits
}

const IS_OVER = new Fault('internal', { detail: 'a part of a request that is over' })

export class RequestAccount implements LoopAccount {
  readonly #ports: RequestAccountPorts
  readonly #root: Generation<RoutedRequest>
  #consumed: Consumption = NOTHING_CONSUMED
  #state: 'new' | 'begun' | 'closed' = 'new'

  constructor(root: Generation<RoutedRequest>, ports: RequestAccountPorts) {
    this.#root = root
    this.#ports = ports
  }

  recheck(): Principal | Fault {
    return this.#ports.renew(this.#root.caller)
  }

  get charged(): number {
    return this.#consumed.cost.total
  }

  consumption(): Consumption {
    const { requested = 0, executed = 0 } = this.#root.loop ?? {}
    if (requested === 0 && executed === 0) return this.#consumed
    const counts = { toolCallsRequested: requested, toolCallsExecuted: executed }
    return addConsumption(this.#consumed, consumptionOf(0, counts))
  }

  /** A part has been admitted: the row of the root begins with the first. */
  begin(): void {
    if (this.#state !== 'new') return
    this.#state = 'begun'
    this.#ports.bookings.begin(openLedgerEntry(this.#root, NOTHING_RESERVED, NOTHING_HELD.coverage))
  }

  /** A part has been settled. */
  add(consumed: Consumption | null): void {
    if (consumed !== null) this.#consumed = addConsumption(this.#consumed, consumed)
  }

  async reserve(row: ToolRow): Promise<ToolPermit | Fault> {
    try {
      const caller = this.#state === 'closed' ? IS_OVER : this.recheck()
      if (caller instanceof Fault) return caller
      const held = await this.#hold(caller, row)
      return this.#open(row, held)
    } catch (error) {
      return error instanceof Fault ? error : new Fault('internal', { cause: error })
    }
  }

  async #hold(caller: Principal, { name, fee }: ToolRow): Promise<HeldPermits> {
    const { bookings, accounts, limitsOf } = this.#ports
    bookings.requireRoom()
    const organization = accounts.organization(caller.organizationId)
    const reservation = feeReservation(fee)
    const money = quotaClaimsFor(caller, organization, reservation, this.#root.created * 1000)
    const limits = limitsOf(name)
    const claims = [
      ...(limits === null ? [] : toolClaimsFor(caller, limits)),
      ...(fee === 0 ? [] : money.filter(isOfMoney)),
    ]
    const coverage = limitCoverageFor(caller, organization?.credits ?? null)
    return { coverage, claims, permits: await bookings.hold(claims, caller, reservation) }
  }

  #open(row: ToolRow, held: HeldPermits): ToolPermit | Fault {
    const { bookings } = this.#ports
    // The request may have ended while the limits were asked.
    if (this.#state === 'closed') {
      bookings.giveBack(held.permits)
      return IS_OVER
    }
    this.begin()
    bookings.begin(openToolEntry(this.#root, row, held.coverage))
    let isOpen = true
    return {
      settle: (spent) => {
        if (!isOpen) return 0
        isOpen = false
        return this.#settle(row, spent, held)
      },
    }
  }

  #settle(row: ToolRow, spent: ToolSpending, held: HeldPermits): number {
    const asked = spent.executed && spent.charged > 0 ? Math.ceil(spent.charged) : 0
    const charged = Math.min(asked, row.fee)
    void this.#ports.bookings.end(
      closedToolEntry(this.#root, row, { ...spent, charged }, held.coverage),
      held,
    )
    this.#ports.observe(this.#root, row, { ...spent, charged })
    const { web_searches: webSearches = 0, web_fetches: webFetches = 0 } = spent.units ?? {}
    this.add(
      consumptionOf(charged, {
        ...(webSearches > 0 && { webSearches }),
        ...(webFetches > 0 && { webFetches }),
      }),
    )
    return charged
  }

  close(outcome: InferenceOutcome): Promise<void> | null {
    const { bookings, clock, place } = this.#ports
    const was = this.#state
    this.#state = 'closed'
    if (was === 'begun') return bookings.end(closedRootEntry(this.#root, outcome, clock.monotonicMs()), place)
    // Plugins may have read and judged for it, though nothing was admitted.
    if (was === 'new') bookings.release(place)
    return null
  }
}

const NOTHING_RESERVED = feeReservation(0)

function feeReservation(cost: number): Reservation {
  return { promptTokens: 0, completionTokens: 0, cost, fixed: cost, perMillion: 0 }
}

function consumptionOf(charged: number, details: NonNullable<Consumption['usage']['details']>): Consumption {
  const { usage, cost } = NOTHING_CONSUMED
  return {
    ...NOTHING_CONSUMED,
    usage: { ...usage, details },
    cost: { ...cost, total: charged, fees: charged },
  }
}
