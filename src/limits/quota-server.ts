/** The server of all quotas: one process keeps it. See quota.ts for what it promises. */
import type { Clock } from '../base/clock.js'
import {
  grantableAmount,
  isMoneyQuota,
  type LeaseAmount,
  type QuotaGrant,
  type QuotaRequest,
} from './quota.js'
import {
  committedAmount,
  isIdle,
  leaseOf,
  type PendingQuotaRequest,
  type QuotaAccount,
  type Recall,
} from './quota-account.js'
import type { QuotaSupply, SuppliedQuotas } from './quota-supply.js'
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
  /** Where it draws from when the machine is one of many; `load` is not asked then. */
  readonly supply?: (quotas: SuppliedQuotas) => QuotaSupply
}

/** A holder that does not answer in time keeps what it has. */
const REVOKE_MS = 250
/** Accounts kept at a time; beyond it idle ones are forgotten. */
const MAX_ACCOUNTS = 50_000
/** Of them, looked at when a new one comes. */
const EVICTION_LOOKS = 16

export class QuotaServer implements SuppliedQuotas {
  readonly #ports: QuotaServerPorts
  readonly #supply: QuotaSupply | null
  readonly #accounts = new Map<string, QuotaAccount>()
  /** Apart from the accounts: a flood of client addresses must evict no quota. */
  readonly #buckets: TokenBuckets
  #epochs = 0

  constructor(ports: QuotaServerPorts) {
    this.#ports = ports
    this.#buckets = new TokenBuckets(ports.clock)
    this.#supply = ports.supply?.(this) ?? null
  }

  /** Answers with what is granted, now or later; with null when it cannot be told what is left. */
  acquire(holder: string, request: QuotaRequest, answer: (grant: QuotaGrant | null) => void): void {
    if (isTokenRequest(request)) {
      if (this.#supply === null) answer(this.#buckets.take(request))
      else this.#supply.takeTokens(request, answer)
      return
    }
    const account = this.#accountOf(request)
    account.queue.push({ holder, request, answer, revoked: false, drawn: null })
    if (account.state === 'open' && account.awaited.size === 0) this.#serveQueue(account)
  }

  /** A holder has answered a revocation, or gives something back unasked. */
  release(holder: string, { name, epoch, amount }: LeaseAmount): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    const lease = account.leases.get(holder)
    if (lease !== undefined && epoch === account.epoch) lease.granted -= amount
    if (account.line !== null && account.state === 'loading') this.#supply!.returned(account.line)
    this.#holderReplied(account, holder)
  }

  /** A holder has used more than it had leased. It says so too late to be refused. */
  recordOverdraft(holder: string, { name, epoch, amount }: LeaseAmount): void {
    const account = this.#accounts.get(name)
    if (account === undefined || epoch !== account.epoch) return
    leaseOf(account, holder).granted += amount
    if (account.line !== null) this.#supply!.overdrawn(account.line)
  }

  /** Money that the ledger has seen spent. `leased`: it was reserved from that holder's lease. */
  recordSpending(holder: string, name: string, amount: number, leased: boolean): void {
    const account = this.#accounts.get(name)
    // An account that is being loaded will find it in the ledger.
    if (account === undefined || (account.state === 'loading' && account.line === null)) return
    if (leased) leaseOf(account, holder).spent += amount
    // The bank of all machines settles for itself what was reserved nowhere.
    else if (account.line === null) account.spent += amount
  }

  /** A holder has died and will answer nothing. Its leases stay until `holderSettled`. */
  holderDied(holder: string): void {
    for (const account of this.#accounts.values()) {
      for (const recall of [...account.recalls]) recallReplied(account, recall, holder)
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

  unused(name: string): number {
    const account = this.#accounts.get(name)
    return account === undefined ? 0 : this.#available(account)
  }

  recall(name: string, done: () => void): void {
    const account = this.#accounts.get(name)
    const holders = account === undefined ? [] : holdersOf(account)
    if (account === undefined || holders.length === 0) {
      done()
      return
    }
    const recall: Recall = { awaited: new Set(holders), done, cancelWait: () => {} }
    account.recalls.push(recall)
    recall.cancelWait = this.#ports.clock.runAfter(REVOKE_MS, () => endRecall(account, recall))
    for (const holder of holders) this.#ports.revoke(holder, name)
  }

  windowIs(name: string, endsAt: number, isNew: boolean): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    account.endsAt = endsAt
    if (isNew) this.#beginAnew(account)
  }

  voided(name: string): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    const holders = holdersOf(account)
    this.#beginAnew(account)
    for (const holder of holders) this.#ports.revoke(holder, name)
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
        line: this.#supply?.open(name) ?? null,
        recalls: [],
      }
      this.#evictIdle()
      this.#accounts.set(name, account)
      if (isMoneyQuota(name) && account.line === null) this.#load(account)
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
      const isGood = account.line === null || account.line.isGoodUnder(account.capacity)
      const available = isGood ? this.#available(account) : 0
      if (available < next.request.wanted) {
        if (next.drawn === null && this.#draw(account, next)) return
        if (!next.revoked && this.#revokeUnused(account, next)) return
        if (next.drawn === 'called' && this.#draw(account, next)) return
      }
      account.queue.shift()
      const isUnknown = next.drawn === 'away' && available < next.request.wanted
      next.answer(isUnknown ? null : this.#grant(account, next, available))
    }
  }

  #available(account: QuotaAccount): number {
    const { line, capacity, endsAt } = account
    if (line === null) return capacity - committedAmount(account)
    return this.#ports.clock.monotonicMs() < endsAt ? line.held - committedAmount(account) : 0
  }

  /** True when it has to be waited for. */
  #draw(account: QuotaAccount, next: PendingQuotaRequest): boolean {
    const { line, queue } = account
    if (line === null) return false
    const wants = queue.map(({ request: { wanted, least = wanted } }) => ({ wanted, least }))
    const total = wants.reduce((sum, { wanted }) => sum + wanted, 0)
    const least = wants.reduce((min, each) => Math.min(min, each.least), total)
    account.state = 'loading'
    let isOver = false
    let isWaiting = false
    this.#supply!.draw(line, next.request, { total, least, waits: next.drawn === 'called' }, (outcome) => {
      isOver = true
      account.state = 'open'
      next.drawn = outcome
      if (isWaiting) this.#serveQueue(account)
    })
    isWaiting = !isOver
    return isWaiting
  }

  /** Begins a window with the first call after the last one has ended. */
  #renew(account: QuotaAccount, { windowMs }: QuotaRequest): void {
    if (account.line !== null) return
    const now = this.#ports.clock.monotonicMs()
    if (now < account.endsAt) return
    account.endsAt = now + windowMs
    this.#beginAnew(account)
  }

  #beginAnew(account: QuotaAccount): void {
    account.epoch = ++this.#epochs
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
    for (const recall of [...account.recalls]) recallReplied(account, recall, holder)
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
    const resetInMs = isEndless ? 0 : Math.max(0, endsAt - this.#ports.clock.monotonicMs())
    const left = granted < request.wanted && account.line !== null ? account.line.room : 0
    return { granted, epoch, resetInMs, ...(left > 0 && { left }) }
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
      else if (account.line !== null) this.#supply!.close(account.line)
    }
  }
}

function holdersOf({ leases }: QuotaAccount): string[] {
  return [...leases].filter(([, { granted, spent }]) => granted > spent).map(([holder]) => holder)
}

function recallReplied(account: QuotaAccount, recall: Recall, holder: string): void {
  if (recall.awaited.delete(holder) && recall.awaited.size === 0) endRecall(account, recall)
}

function endRecall({ recalls }: QuotaAccount, recall: Recall): void {
  recall.cancelWait()
  recalls.splice(recalls.indexOf(recall), 1)
  recall.done()
}
