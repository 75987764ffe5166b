/** The leases of one process: grants permits out of them, and asks the quota server when they do not suffice. */
import type { Clock } from '../base/clock.js'
import type { LeaseAmount, Quota, QuotaGrant, QuotaRequest } from './quota.js'

/** The way to the quota server. */
export interface QuotaServerLink {
  /**
   * Asks for an amount. `onReply` gets the grant in the turn in which it arrives, or null when the server cannot tell
   * or does not answer in time. A grant that comes after that is `late`.
   */
  readonly acquire: (
    request: QuotaRequest,
    onReply: (grant: QuotaGrant | null, late: boolean) => void,
  ) => void
  readonly notify: (kind: 'release-quota' | 'quota-overdraft', amount: LeaseAmount) => void
  /**
   * Makes what has been spent so far outlive this process; false when that cannot be done now. The server may not be
   * told that something is free again while the row that has used the rest can still be lost.
   */
  readonly makeDurable: () => boolean
}

/** An amount taken from a lease, to be released with what has become of it. */
export interface QuotaPermit {
  readonly lease: LocalLease
  readonly epoch: number
  readonly amount: number
  /** The limit that it was taken under. */
  readonly capacity: number
}

/** Why there is no permit. */
export interface QuotaShortage {
  /** What is left for a single call; 0 and more. */
  readonly left: number
  /** Until the window ends or the bucket refills; 0 where neither happens. */
  readonly resetInMs: number
}

/** The quota server did not answer. */
export const NO_ANSWER = 'no answer'

interface PermitWaiter {
  readonly amount: number
  readonly resolve: (outcome: QuotaPermit | QuotaShortage | typeof NO_ANSWER) => void
}

/** What this process holds and knows of one quota. Times are those of the monotonic clock. */
class LocalLease {
  free = 0
  epoch = 0
  /** From then on the lease is void. */
  validUntil = Number.POSITIVE_INFINITY
  /** Until then the server need not be asked again for more than `free`. */
  insufficientUntil = Number.NEGATIVE_INFINITY
  requesting = false
  /** Left elsewhere when the server was asked last. */
  leftElsewhere = 0
  /** Forgotten by this process: what comes back goes on to the server at once. */
  evicted = false
  readonly waiters: PermitWaiter[] = []

  constructor(
    readonly name: string,
    public capacity: number,
  ) {}
}

/** How old a refusal may be that is given without asking again, so that a flood of calls costs few messages. */
const SHORTAGE_MS = 20
/** The same of a bucket, which cannot have a token before it refills; sooner than that in case its rate is low. */
const BUCKET_SHORTAGE_MS = 1_000
/** Quotas known at a time; beyond it the one that came first goes. */
const MAX_LEASES = 20_000

export function isPermit(outcome: QuotaPermit | QuotaShortage | typeof NO_ANSWER): outcome is QuotaPermit {
  return typeof outcome === 'object' && 'lease' in outcome
}

export class QuotaLeases {
  readonly #clock: Clock
  readonly #link: QuotaServerLink
  readonly #leases = new Map<string, LocalLease>()

  constructor(clock: Clock, link: QuotaServerLink) {
    this.#clock = clock
    this.#link = link
  }

  /** A permit at once, or null when the server has to be asked. */
  tryAcquire(quota: Quota, amount: number): QuotaPermit | null {
    const lease = this.#leaseOf(quota)
    return this.#usableAmount(lease) < amount ? null : takePermit(lease, amount)
  }

  /** Asks the server. Never rejects. */
  acquire(quota: Quota, amount: number): Promise<QuotaPermit | QuotaShortage | typeof NO_ANSWER> {
    const lease = this.#leaseOf(quota)
    const isShort = !lease.requesting && this.#clock.monotonicMs() < lease.insufficientUntil
    if (isShort && this.#usableAmount(lease) < amount) return Promise.resolve(this.#shortageOf(lease))
    return new Promise((resolve) => {
      lease.waiters.push({ amount, resolve })
      if (!lease.requesting) this.#requestWaiting(lease, quota)
    })
  }

  /** Brings a permit back. `spent` of its amount is gone; it may be more than that. */
  release({ lease, epoch, amount, capacity }: QuotaPermit, spent: number): void {
    // A window that has ended took everything with it.
    if (epoch !== lease.epoch || this.#clock.monotonicMs() >= lease.validUntil) return
    lease.free += amount - spent
    if (lease.free < 0) {
      this.#link.notify('quota-overdraft', { name: lease.name, epoch, amount: -lease.free })
      lease.free = 0
    } else if (lease.evicted || capacity !== lease.capacity) this.#giveBack(lease)
    else if (amount > spent) lease.insufficientUntil = Number.NEGATIVE_INFINITY
  }

  /** The server wants back what is not needed. It is always answered, if need be with nothing. */
  onRevoke(name: string): void {
    const lease = this.#leases.get(name)
    if (lease === undefined) this.#link.notify('release-quota', { name, epoch: 0, amount: 0 })
    else this.#giveBack(lease)
  }

  #giveBack(lease: LocalLease): void {
    const amount = this.#link.makeDurable() ? lease.free : 0
    lease.free -= amount
    this.#link.notify('release-quota', { name: lease.name, epoch: lease.epoch, amount })
  }

  #usableAmount(lease: LocalLease): number {
    if (this.#clock.monotonicMs() >= lease.validUntil) lease.free = 0
    return lease.free
  }

  #shortageOf(lease: LocalLease): QuotaShortage {
    const left = this.#usableAmount(lease)
    const isEndless = lease.validUntil === Number.POSITIVE_INFINITY
    return {
      left: left + lease.leftElsewhere,
      resetInMs: isEndless ? 0 : Math.max(0, lease.validUntil - this.#clock.monotonicMs()),
    }
  }

  /** Asks until nothing waits; those who come meanwhile are part of the next question. */
  #requestWaiting(lease: LocalLease, quota: Quota): void {
    const batch = lease.waiters.splice(0)
    const total = batch.reduce((sum, { amount }) => sum + amount, 0)
    const usable = this.#usableAmount(lease)
    const wanted = Math.max(1, total - usable)
    const least = Math.max(1, batch.reduce((min, { amount }) => Math.min(min, amount), total) - usable)
    lease.requesting = true
    const request = { ...quota, capacity: lease.capacity, wanted, ...(least < wanted && { least }) }
    this.#link.acquire(request, (grant, late) => {
      // Nothing that was granted is lost, even when it comes too late for those who waited.
      if (grant !== null) this.#bookGrant(lease, grant)
      if (!late) {
        // Served in the turn of the grant: a revocation right behind it would take what was granted for these.
        if (grant !== null) this.#serveWaiters(lease, batch, quota, grant.granted < wanted)
        else for (const { resolve } of batch) resolve(NO_ANSWER)
        lease.requesting = false
        // Granted under another limit: good for those who asked under it, and for nobody else.
        if (request.capacity !== lease.capacity && lease.free > 0) this.#giveBack(lease)
        if (lease.waiters.length > 0) this.#requestWaiting(lease, quota)
      }
      if (lease.evicted && !lease.requesting && lease.free > 0) this.#giveBack(lease)
    })
  }

  #bookGrant(lease: LocalLease, { granted, epoch, resetInMs, left = 0 }: QuotaGrant): void {
    lease.leftElsewhere = left
    if (epoch !== lease.epoch) {
      lease.free = 0
      lease.epoch = epoch
    }
    lease.free = this.#usableAmount(lease) + granted
    lease.validUntil = resetInMs > 0 ? this.#clock.monotonicMs() + resetInMs : Number.POSITIVE_INFINITY
  }

  /** In order; one that does not fit makes room for a smaller one behind it. */
  #serveWaiters(
    lease: LocalLease,
    batch: readonly PermitWaiter[],
    { refillPerMs }: Quota,
    isShort: boolean,
  ): void {
    const again: PermitWaiter[] = []
    for (const waiter of batch) {
      const { amount, resolve } = waiter
      if (amount <= this.#usableAmount(lease)) resolve(takePermit(lease, amount))
      else if (isShort) {
        const shortage = this.#shortageOf(lease)
        const silenceMs =
          refillPerMs === undefined ? SHORTAGE_MS : Math.min(shortage.resetInMs, BUCKET_SHORTAGE_MS)
        lease.insufficientUntil = this.#clock.monotonicMs() + silenceMs
        resolve(shortage)
      } else again.push(waiter)
    }
    // Calls that came meanwhile have taken what was granted for these.
    lease.waiters.unshift(...again)
  }

  #leaseOf({ name, capacity }: Quota): LocalLease {
    let lease = this.#leases.get(name)
    if (lease === undefined) {
      lease = new LocalLease(name, capacity)
      if (this.#leases.size >= MAX_LEASES) this.#evictFirst()
      this.#leases.set(name, lease)
    } else if (lease.capacity !== capacity) {
      // The limit has changed: what was leased under the old one goes back, and the server hears of the new one.
      lease.capacity = capacity
      lease.insufficientUntil = Number.NEGATIVE_INFINITY
      if (lease.free > 0) this.#giveBack(lease)
    }
    return lease
  }

  #evictFirst(): void {
    const [first] = this.#leases.values()
    if (first === undefined) return
    this.#leases.delete(first.name)
    first.evicted = true
    if (first.free > 0) this.#giveBack(first)
  }
}

function takePermit(lease: LocalLease, amount: number): QuotaPermit {
  lease.free -= amount
  return { lease, epoch: lease.epoch, amount, capacity: lease.capacity }
}
