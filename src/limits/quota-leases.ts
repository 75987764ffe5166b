/** The desk of a process: takes amounts out of the leases it holds, and asks the bank when they do not suffice. */
import type { Clock } from '../base/clock.js'
import type { LeaseAmount, Quota, QuotaGrant, QuotaRequest } from './quota.js'

/** The way to the bank. Both are false when there is none. */
interface QuotaServerLink {
  /** A question; its answer comes to `answered`. */
  readonly acquire: (id: number, acquire: QuotaRequest) => boolean
  readonly notify: (kind: 'gave-back' | 'owes', amount: LeaseAmount) => boolean
  /**
   * Makes what has been spent so far outlive this process; false when that cannot be done now. Nobody may be told
   * that something is free again while the row that has used the rest can still be lost.
   */
  readonly makeDurable: () => boolean
}

/** Taken from a quota, to be brought back with what has become of it. */
export interface QuotaPermit {
  readonly lease: LocalLease
  readonly epoch: number
  readonly amount: number
}

/** Why there is no ticket. */
export interface QuotaShortage {
  /** What is left for a single call; 0 and more. */
  readonly left: number
  /** Until the window ends; 0 where there are none. */
  readonly resetInMs: number
}

/** The bank did not answer. */
export const NO_ANSWER = 'no answer'

interface PermitWaiter {
  readonly amount: number
  readonly resolve: (came: QuotaPermit | QuotaShortage | typeof NO_ANSWER) => void
}

/** What this process knows of one quota. */
export class LocalLease {
  capacity: number
  free = 0
  epoch = 0
  /** The lease is void from then on; of the monotonic clock. */
  validUntil = Number.POSITIVE_INFINITY
  /** Until then the bank need not be asked again for more than `free`. */
  insufficientUntil = Number.NEGATIVE_INFINITY
  requesting = false
  /** Not in the books of the desk any more. */
  evicted = false
  readonly waiters: PermitWaiter[] = []

  constructor(
    readonly name: string,
    capacity: number,
  ) {
    this.capacity = capacity
  }
}

/** A bank that is this late is busy or gone. */
const ANSWER_MS = 2_000
/** How old a refusal may be that is given without asking again, so that a flood of them costs little. */
const SHORTAGE_MS = 20
/** Quotas known at a time; beyond it the one that came first goes. */
const MAX_LEASES = 20_000

export function isPermit(came: QuotaPermit | QuotaShortage | typeof NO_ANSWER): came is QuotaPermit {
  return typeof came === 'object' && 'tab' in came
}

export class QuotaLeases {
  readonly #clock: Clock
  readonly #link: QuotaServerLink
  readonly #leases = new Map<string, LocalLease>()
  readonly #questions = new Map<number, (drawn: QuotaGrant | null) => void>()
  #next = 0

  constructor(clock: Clock, line: QuotaServerLink) {
    this.#clock = clock
    this.#link = line
  }

  /** A ticket at once, or null when the bank has to be asked. */
  tryAcquire(quota: Quota, amount: number): QuotaPermit | null {
    const tab = this.#leaseOf(quota)
    if (this.#usableAmount(tab) < amount) return null
    tab.free -= amount
    return { lease: tab, epoch: tab.epoch, amount }
  }

  /** Asks the bank. Never rejects. */
  acquire(quota: Quota, amount: number): Promise<QuotaPermit | QuotaShortage | typeof NO_ANSWER> {
    const tab = this.#leaseOf(quota)
    const now = this.#clock.monotonicMs()
    if (!tab.requesting && now < tab.insufficientUntil && this.#usableAmount(tab) < amount) {
      return Promise.resolve(this.#shortageOf(tab))
    }
    return new Promise((resolve) => {
      tab.waiters.push({ amount, resolve })
      if (!tab.requesting) this.#requestWaiting(tab, quota.windowMs)
    })
  }

  /** Brings a ticket back. `spent` of its amount is gone; it may be more than that. */
  release({ lease: tab, epoch, amount }: QuotaPermit, spent: number): void {
    // A window that has ended took everything with it.
    if (epoch !== tab.epoch || this.#clock.monotonicMs() >= tab.validUntil) return
    tab.free += amount - spent
    if (tab.free < 0) {
      this.#link.notify('owes', { name: tab.name, epoch, amount: -tab.free })
      tab.free = 0
    } else if (tab.evicted) this.#giveBack(tab)
    else if (amount > spent) tab.insufficientUntil = Number.NEGATIVE_INFINITY
  }

  /** Takes the bank's answer. Null: it cannot tell. */
  onGrant(id: number, drawn: QuotaGrant | null): void {
    this.#questions.get(id)?.(drawn)
  }

  /** The bank wants back what is not needed. It is answered, be it with nothing. */
  onRevoke(name: string): void {
    const tab = this.#leases.get(name)
    if (tab === undefined) this.#link.notify('gave-back', { name, epoch: 0, amount: 0 })
    else this.#giveBack(tab)
  }

  #giveBack(tab: LocalLease): void {
    const amount = this.#link.makeDurable() ? tab.free : 0
    tab.free -= amount
    this.#link.notify('gave-back', { name: tab.name, epoch: tab.epoch, amount })
  }

  #usableAmount(tab: LocalLease): number {
    if (this.#clock.monotonicMs() >= tab.validUntil) tab.free = 0
    return tab.free
  }

  #shortageOf(tab: LocalLease): QuotaShortage {
    const left = this.#usableAmount(tab)
    const resetInMs =
      tab.validUntil === Number.POSITIVE_INFINITY ? 0 : tab.validUntil - this.#clock.monotonicMs()
    return { left, resetInMs: Math.max(0, resetInMs) }
  }

  /** Asks until nobody waits; those who come meanwhile are part of the next question. */
  #requestWaiting(tab: LocalLease, windowMs: number): void {
    const batch = tab.waiters.splice(0)
    const all = batch.reduce((sum, { amount }) => sum + amount, 0)
    const wanted = Math.max(1, all - this.#usableAmount(tab))
    tab.requesting = true
    // Served in the turn of the answer: a recall that comes right behind it would take what was drawn for these.
    this.#askServer(tab, { name: tab.name, capacity: tab.capacity, windowMs, wanted }, (drawn) => {
      if (drawn === null) for (const { resolve } of batch) resolve(NO_ANSWER)
      else this.#serveWaiters(tab, batch, drawn.granted < wanted)
      tab.requesting = false
      if (tab.waiters.length > 0) this.#requestWaiting(tab, windowMs)
    })
  }

  /** In order; one that does not fit makes room for a smaller one behind it. */
  #serveWaiters(tab: LocalLease, batch: readonly PermitWaiter[], short: boolean): void {
    const again: PermitWaiter[] = []
    for (const waiter of batch) {
      const { amount, resolve } = waiter
      if (amount <= this.#usableAmount(tab)) {
        tab.free -= amount
        resolve({ lease: tab, epoch: tab.epoch, amount })
      } else if (short) {
        tab.insufficientUntil = this.#clock.monotonicMs() + SHORTAGE_MS
        resolve(this.#shortageOf(tab))
      } else again.push(waiter)
    }
    // Calls that came meanwhile have taken what was drawn for these.
    tab.waiters.unshift(...again)
  }

  /** `then` is called once, with null when no answer comes in time. */
  #askServer(tab: LocalLease, draw: QuotaRequest, then: (drawn: QuotaGrant | null) => void): void {
    const id = this.#next++
    let late = false
    const giveUp = (): void => {
      late = true
      then(null)
    }
    const cancel = this.#clock.runAfter(ANSWER_MS, giveUp)
    this.#questions.set(id, (drawn) => {
      cancel()
      this.#questions.delete(id)
      // Also when it comes too late for those who waited: nothing that was granted is lost.
      if (drawn !== null) this.#bookGrant(tab, drawn)
      if (!late) then(drawn)
      if (tab.evicted && !tab.requesting && tab.free > 0) this.#giveBack(tab)
    })
    if (this.#link.acquire(id, draw)) return
    cancel()
    this.#questions.delete(id)
    // Not in this turn: whoever asks has not said yet what it waits for.
    this.#clock.runAfter(0, giveUp)
  }

  #bookGrant(tab: LocalLease, { granted, epoch, resetInMs }: QuotaGrant): void {
    if (epoch !== tab.epoch) {
      tab.free = 0
      tab.epoch = epoch
    }
    tab.free += granted
    tab.validUntil = resetInMs > 0 ? this.#clock.monotonicMs() + resetInMs : Number.POSITIVE_INFINITY
  }

  #leaseOf({ name, capacity }: Quota): LocalLease {
    let tab = this.#leases.get(name)
    if (tab === undefined) {
      tab = new LocalLease(name, capacity)
      if (this.#leases.size >= MAX_LEASES) this.#evictFirst()
      this.#leases.set(name, tab)
    } else if (tab.capacity !== capacity) {
      // Somebody has changed the limit: what was drawn under the old one goes back, and the bank hears of the new.
      tab.capacity = capacity
      tab.insufficientUntil = Number.NEGATIVE_INFINITY
      if (tab.free > 0) this.#giveBack(tab)
    }
    return tab
  }

  #evictFirst(): void {
    const [first] = this.#leases.values()
    if (first === undefined) return
    this.#leases.delete(first.name)
    first.evicted = true
    if (first.free > 0) this.#giveBack(first)
  }
}
