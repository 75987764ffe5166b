/** The server of all quotas: one process keeps it. See quota.ts for what it promises. */
import type { Clock } from '../base/clock.js'
import {
  grantableAmount,
  isMoneyQuota,
  type LeaseAmount,
  type QuotaGrant,
  type QuotaRequest,
} from './quota.js'
import { isTokenRequest, TokenBuckets } from './token-buckets.js'

interface QuotaServerPorts {
  readonly clock: Clock
  /**
   * What has been spent of a quota of money so far, by all processes; `done` may be called later, and must be called
   * in the same turn in which the figure is read. Null when it cannot be told.
   */
  readonly load: (name: string, done: (spent: number | null) => void) => void
  /** Asks a holder to give back what it does not need. It answers with `release`, if need be of nothing. */
  readonly revoke: (holder: string, name: string) => void
}

interface HolderLease {
  /** Granted and not given back. */
  granted: number
  /** Of that, what the ledger has seen spent. */
  spent: number
}

interface PendingQuotaRequest {
  readonly holder: string
  readonly request: QuotaRequest
  readonly answer: (grant: QuotaGrant | null) => void
  /** The other holders have been asked to give back for its sake. */
  revoked: boolean
}

interface QuotaAccount {
  readonly name: string
  capacity: number
  /** Spent by holders without a lease. */
  spent: number
  epoch: number
  endsAt: number
  readonly leases: Map<string, HolderLease>
  /** In the order in which they came. */
  readonly queue: PendingQuotaRequest[]
  /** Holders whose answer the first of the queue waits for. */
  readonly awaited: Set<string>
  cancelWait: () => void
  state: 'loading' | 'open'
}

/** A holder that does not answer in time keeps what it has. */
const REVOKE_MS = 250
/** Accounts kept at a time; beyond it idle ones are forgotten. */
const MAX_ACCOUNTS = 50_000
/** Of them, looked at when a new one comes. */
const EVICTION_LOOKS = 16

export class QuotaServer {
  readonly #ports: QuotaServerPorts
  readonly #accounts = new Map<string, QuotaAccount>()
  /** Apart from the accounts: a flood of client addresses must evict no quota. */
  readonly #buckets: TokenBuckets
  #epochs = 0

  constructor(ports: QuotaServerPorts) {
    this.#ports = ports
    this.#buckets = new TokenBuckets(ports.clock)
  }

  /** Answers with what is granted, now or later; with null when it cannot be told what is left. */
  acquire(holder: string, request: QuotaRequest, answer: (grant: QuotaGrant | null) => void): void {
    if (isTokenRequest(request)) {
      answer(this.#buckets.take(request))
      return
    }
    const account = this.#accountOf(request)
    account.queue.push({ holder, request, answer, revoked: false })
    if (account.state === 'open' && account.awaited.size === 0) this.#serveQueue(account)
  }

  /** A holder has answered a revocation, or gives something back unasked. */
  release(holder: string, { name, epoch, amount }: LeaseAmount): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    const lease = account.leases.get(holder)
    if (lease !== undefined && epoch === account.epoch) lease.granted -= amount
    this.#holderReplied(account, holder)
  }

  /** A holder has used more than it had leased. It says so too late to be refused. */
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
    else account.spent += amount
  }

  /** A holder has died and will answer nothing. Its leases stay until `holderSettled`. */
  holderDied(holder: string): void {
    for (const account of this.#accounts.values()) {
      const { queue } = account
      const first = queue[0]
      for (let at = queue.length - 1; at >= 0; at--) if (queue[at]!.holder === holder) queue.splice(at, 1)
      if (queue[0] === first) this.#holderReplied(account, holder)
      else if (account.awaited.size > 0) this.#stopAwaiting(account)
    }
  }

  /** Everything a dead holder has spent is in the ledger: the rest of its leases is free again. */
  holderSettled(holder: string): void {
    for (const account of this.#accounts.values()) {
      const lease = account.leases.get(holder)
      if (lease === undefined) continue
      account.leases.delete(holder)
      if (isMoneyQuota(account.name)) account.spent += lease.spent
      // How much of a window it has used died with it, so all that it was granted counts as used.
      else if (account.endsAt !== Number.POSITIVE_INFINITY) account.spent += lease.granted
    }
  }

  /** Accounts kept, without the buckets. */
  get size(): number {
    return this.#accounts.size
  }

  #accountOf({ name, capacity, windowMs }: QuotaRequest): QuotaAccount {
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = {
        name,
        capacity,
        spent: 0,
        epoch: 0,
        endsAt: windowMs === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
        leases: new Map(),
        queue: [],
        awaited: new Set(),
        cancelWait: () => {},
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
    this.#ports.load(account.name, (spent) => {
      if (spent === null) {
        // The next request tries anew.
        this.#accounts.delete(account.name)
        for (const { answer } of account.queue.splice(0)) answer(null)
        return
      }
      account.spent = spent
      account.state = 'open'
      this.#serveQueue(account)
    })
  }

  #serveQueue(account: QuotaAccount): void {
    for (;;) {
      const next = account.queue[0]
      if (next === undefined) return
      this.#renew(account, next.request)
      account.capacity = next.request.capacity
      const available = account.capacity - committedAmount(account)
      if (available < next.request.wanted && !next.revoked && this.#revokeUnused(account, next)) return
      account.queue.shift()
      next.answer(this.#grant(account, next, available))
    }
  }

  /** Begins a window with the first call after the last one has ended. */
  #renew(account: QuotaAccount, { windowMs }: QuotaRequest): void {
    const now = this.#ports.clock.monotonicMs()
    if (now < account.endsAt) return
    account.epoch = ++this.#epochs
    account.endsAt = now + windowMs
    account.spent = 0
    account.leases.clear()
  }

  /** True when there is a holder whose answer is worth waiting for. */
  #revokeUnused(account: QuotaAccount, pending: PendingQuotaRequest): boolean {
    pending.revoked = true
    for (const [holder, { granted, spent }] of account.leases) {
      if (holder !== pending.holder && granted > spent) account.awaited.add(holder)
    }
    if (account.awaited.size === 0) return false
    account.cancelWait = this.#ports.clock.runAfter(REVOKE_MS, () => this.#stopAwaiting(account))
    for (const holder of [...account.awaited]) this.#ports.revoke(holder, account.name)
    return true
  }

  #holderReplied(account: QuotaAccount, holder: string): void {
    if (account.awaited.delete(holder) && account.awaited.size === 0) this.#stopAwaiting(account)
  }

  #stopAwaiting(account: QuotaAccount): void {
    account.cancelWait()
    account.awaited.clear()
    this.#serveQueue(account)
  }

  #grant(account: QuotaAccount, { holder, request }: PendingQuotaRequest, available: number): QuotaGrant {
    const granted = grantableAmount(available, request.wanted)
    const { epoch, endsAt } = account
    if (granted > 0) leaseOf(account, holder).granted += granted
    const isEndless = endsAt === Number.POSITIVE_INFINITY
    return { granted, epoch, resetInMs: isEndless ? 0 : endsAt - this.#ports.clock.monotonicMs() }
  }

  /** Looks at a few only, those not looked at for longest: a request must not wait for a search through all. */
  #evictIdle(): void {
    const now = this.#ports.clock.monotonicMs()
    let looks = EVICTION_LOOKS
    for (const [name, account] of this.#accounts) {
      if (this.#accounts.size < MAX_ACCOUNTS || looks-- === 0) return
      this.#accounts.delete(name)
      const isBusy = account.state !== 'open' || account.queue.length > 0
      if (isBusy || !isIdle(account, now)) this.#accounts.set(name, account)
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

/** Leased or spent. */
function committedAmount({ spent, leases }: QuotaAccount): number {
  let sum = spent
  for (const lease of leases.values()) sum += Math.max(lease.granted, lease.spent)
  return sum
}

/** No holder has anything of it: all there is to know stands in the ledger, or nowhere. */
function isIdle({ leases, spent, name, endsAt }: QuotaAccount, now: number): boolean {
  // What was leased of a window is void when it has ended.
  if (now >= endsAt) return true
  if (!isMoneyQuota(name) && spent > 0) return false
  for (const { granted, spent: used } of leases.values()) if (granted > used) return false
  return true
}
