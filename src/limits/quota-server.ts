/** The bank of all quotas: one process keeps it. See quota.ts for what it promises. */
import type { Clock } from '../base/clock.js'
import { isMoneyQuota, type LeaseAmount, type QuotaGrant, type QuotaRequest } from './quota.js'

interface QuotaServerPorts {
  readonly clock: Clock
  /**
   * What had been spent of a quota of money by now, by everybody; `done` may be called later, and must be called in
   * the same turn in which the figure is read. Null when it cannot be told.
   */
  readonly load: (name: string, done: (spent: number | null) => void) => void
  /** Asks a holder to give back what it does not need. It answers with `gaveBack`, be it nothing. */
  readonly revoke: (holder: string, name: string) => void
}

interface HolderLease {
  /** Drawn and not given back. */
  granted: number
  /** Of that, what the ledger has seen spent. */
  spent: number
}

interface PendingRequest {
  readonly holder: string
  readonly request: QuotaRequest
  readonly answer: (drawn: QuotaGrant | null) => void
  revoked: boolean
}

interface QuotaAccount {
  readonly name: string
  capacity: number
  /** Spent by those who hold no lease any more, or never held one. */
  recordSpending: number
  epoch: number
  endsAt: number
  readonly leases: Map<string, HolderLease>
  /** Who wants to draw, in order. */
  readonly queue: PendingRequest[]
  /** Holders whose answer the first of them waits for. */
  readonly awaited: Set<string>
  stopWaiting: () => void
  state: 'loading' | 'open'
}

/** A holder that does not answer in time keeps what it has. */
const REVOKE_MS = 250
/** One part in so many of what is left is granted in advance, which spares most of the asking. */
const ADVANCE_DIVISOR = 32
/** And at most so many times what was wanted: every question is a message there and back. */
const MAX_ADVANCE_FACTOR = 1024
/** Accounts kept at a time; beyond it those that nobody holds anything of are forgotten. */
const MAX_ACCOUNTS = 50_000
/** Of them, looked at when a new one comes. */
const EVICTION_LOOKS = 16

export class QuotaServer {
  readonly #ports: QuotaServerPorts
  readonly #accounts = new Map<string, QuotaAccount>()
  #epochs = 0

  constructor(ports: QuotaServerPorts) {
    this.#ports = ports
  }

  /** Answers with what is granted, now or later; with null when nobody can tell what is left. */
  acquire(holder: string, wish: QuotaRequest, answer: (drawn: QuotaGrant | null) => void): void {
    const account = this.#accountOf(wish)
    account.queue.push({ holder, request: wish, answer, revoked: false })
    if (account.state === 'open' && account.awaited.size === 0) this.#serveQueue(account)
  }

  /** A holder has answered a recall, or gives something back unasked. */
  release(holder: string, { name, epoch, amount }: LeaseAmount): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    const lease = account.leases.get(holder)
    if (lease !== undefined && epoch === account.epoch) lease.granted -= amount
    this.#holderReplied(account, holder)
  }

  /** A holder has used more than it had drawn. It is told too late to be refused. */
  recordOverdraft(holder: string, { name, epoch, amount }: LeaseAmount): void {
    const account = this.#accounts.get(name)
    if (account === undefined || epoch !== account.epoch) return
    leaseOf(account, holder).granted += amount
  }

  /** Money that the ledger has seen spent. `leased`: it was reserved from that holder's lease. */
  recordSpending(holder: string, name: string, amount: number, leased: boolean): void {
    const account = this.#accounts.get(name)
    // An account that is being loaded will find it in the ledger.
    if (account === undefined || account.state === 'loading') return
    if (leased) leaseOf(account, holder).spent += amount
    else account.recordSpending += amount
  }

  /** A holder has died: nobody waits for its answers. Its leases stay until `settled`. */
  holderDied(holder: string): void {
    for (const account of this.#accounts.values()) {
      const { queue: turns } = account
      const first = turns[0]
      for (let at = turns.length - 1; at >= 0; at--) if (turns[at]!.holder === holder) turns.splice(at, 1)
      if (turns[0] === first) this.#holderReplied(account, holder)
      else if (account.awaited.size > 0) this.#stopAwaiting(account)
    }
  }

  /** Everything a dead holder has spent is in the ledger: what it had beyond that is there again. */
  holderSettled(holder: string): void {
    for (const account of this.#accounts.values()) {
      const lease = account.leases.get(holder)
      if (lease === undefined) continue
      account.leases.delete(holder)
      if (isMoneyQuota(account.name)) account.recordSpending += lease.spent
      // What it has used of a window stays used, and nobody can tell any more how much it was.
      else if (account.endsAt !== Number.POSITIVE_INFINITY) account.recordSpending += lease.granted
    }
  }

  /** What may still be drawn, were everything given back that is not needed. For whoever wants to look. */
  outstandingAmounts(name: string): { readonly capacity: number; readonly committed: number } | null {
    const account = this.#accounts.get(name)
    return account === undefined ? null : { capacity: account.capacity, committed: committedAmount(account) }
  }

  knowsQuota(name: string): boolean {
    return this.#accounts.has(name)
  }

  get size(): number {
    return this.#accounts.size
  }

  #accountOf({ name, capacity, windowMs }: QuotaRequest): QuotaAccount {
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = {
        name,
        capacity,
        recordSpending: 0,
        epoch: 0,
        endsAt: windowMs === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
        leases: new Map(),
        queue: [],
        awaited: new Set(),
        stopWaiting: () => {},
        state: 'open',
      }
      this.#evictIdle()
      this.#accounts.set(name, account)
      if (isMoneyQuota(name)) this.#load(account)
    }
    return account
  }

  #load(account: QuotaAccount): void {
    account.state = 'loading'
    this.#ports.load(account.name, (recordSpending) => {
      if (recordSpending === null) {
        // The next who asks tries anew.
        this.#accounts.delete(account.name)
        for (const { answer } of account.queue.splice(0)) answer(null)
        return
      }
      account.recordSpending = recordSpending
      account.state = 'open'
      this.#serveQueue(account)
    })
  }

  #serveQueue(account: QuotaAccount): void {
    for (;;) {
      const turn = account.queue[0]
      if (turn === undefined) return
      this.#startWindow(account, turn.request)
      account.capacity = turn.request.capacity
      const available = account.capacity - committedAmount(account)
      if (available < turn.request.wanted && !turn.revoked && this.#revokeUnused(account, turn)) return
      account.queue.shift()
      turn.answer(this.#grant(account, turn, available))
    }
  }

  /** A window begins with the first call after the last one has ended. */
  #startWindow(account: QuotaAccount, { windowMs }: QuotaRequest): void {
    const now = this.#ports.clock.monotonicMs()
    if (now < account.endsAt) return
    account.epoch = ++this.#epochs
    account.endsAt = now + windowMs
    account.recordSpending = 0
    account.leases.clear()
  }

  /** True when there is somebody whose answer is worth waiting for. */
  #revokeUnused(account: QuotaAccount, turn: PendingRequest): boolean {
    turn.revoked = true
    for (const [holder, { granted, spent: recordSpending }] of account.leases) {
      if (holder !== turn.holder && granted > recordSpending) account.awaited.add(holder)
    }
    if (account.awaited.size === 0) return false
    account.stopWaiting = this.#ports.clock.runAfter(REVOKE_MS, () => this.#stopAwaiting(account))
    for (const holder of [...account.awaited]) this.#ports.revoke(holder, account.name)
    return true
  }

  #holderReplied(account: QuotaAccount, holder: string): void {
    if (account.awaited.delete(holder) && account.awaited.size === 0) this.#stopAwaiting(account)
  }

  #stopAwaiting(account: QuotaAccount): void {
    account.stopWaiting()
    account.awaited.clear()
    this.#serveQueue(account)
  }

  #grant(
    account: QuotaAccount,
    { holder, request: { wanted } }: PendingRequest,
    available: number,
  ): QuotaGrant {
    const advance = Math.min(Math.floor((available - wanted) / ADVANCE_DIVISOR), wanted * MAX_ADVANCE_FACTOR)
    const granted = Math.max(0, Math.min(available, wanted + Math.max(0, advance)))
    if (granted > 0) leaseOf(account, holder).granted += granted
    const { epoch, endsAt } = account
    const resetInMs = endsAt === Number.POSITIVE_INFINITY ? 0 : endsAt - this.#ports.clock.monotonicMs()
    return { granted, epoch, resetInMs }
  }

  /** Looks at a few only, those longest unlooked at: whoever asks must not wait for a search through all. */
  #evictIdle(): void {
    if (this.#accounts.size < MAX_ACCOUNTS) return
    const now = this.#ports.clock.monotonicMs()
    let looks = EVICTION_LOOKS
    for (const [name, account] of this.#accounts) {
      if (looks-- === 0) return
      this.#accounts.delete(name)
      const busy = account.state !== 'open' || account.queue.length > 0
      if (busy || !isIdle(account, now)) this.#accounts.set(name, account)
    }
  }
}

function leaseOf(account: QuotaAccount, holder: string): HolderLease {
  let lease = account.leases.get(holder)
  if (lease === undefined) {
    lease = { granted: 0, spent: 0 }
    account.leases.set(holder, lease)
  }
  return lease
}

/** Out or spent. */
function committedAmount({ recordSpending: spent, leases }: QuotaAccount): number {
  let sum = spent
  for (const lease of leases.values()) sum += Math.max(lease.granted, lease.spent)
  return sum
}

/** Nobody holds anything: all there is to know stands in the ledger, or nowhere. */
function isIdle({ leases, recordSpending: spent, name, endsAt }: QuotaAccount, now: number): boolean {
  // What was held of a window is void when it has ended.
  if (now >= endsAt) return true
  if (!isMoneyQuota(name) && spent > 0) return false
  for (const { granted, spent: used } of leases.values()) if (granted > used) return false
  return true
}
