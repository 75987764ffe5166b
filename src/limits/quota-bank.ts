/** The bank of all quotas: one process keeps it. See quota.ts for what it promises. */
import type { Clock } from '../base/clock.js'
import { type Amount, type Draw, type Drawn, isMoney } from './quota.js'

interface QuotaBankPorts {
  readonly clock: Clock
  /**
   * What had been spent of a quota of money by now, by everybody; `done` may be called later, and must be called in
   * the same turn in which the figure is read. Null when it cannot be told.
   */
  readonly load: (name: string, done: (spent: number | null) => void) => void
  /** Asks a holder to give back what it does not need. It answers with `gaveBack`, be it nothing. */
  readonly recall: (holder: string, name: string) => void
}

interface Lease {
  /** Drawn and not given back. */
  granted: number
  /** Of that, what the ledger has seen spent. */
  spent: number
}

interface Turn {
  readonly holder: string
  readonly wish: Draw
  readonly answer: (drawn: Drawn | null) => void
  recalled: boolean
}

interface Account {
  readonly name: string
  capacity: number
  /** Spent by those who hold no lease any more, or never held one. */
  spent: number
  epoch: number
  endsAt: number
  readonly leases: Map<string, Lease>
  /** Who wants to draw, in order. */
  readonly turns: Turn[]
  /** Holders whose answer the first of them waits for. */
  readonly awaited: Set<string>
  stopWaiting: () => void
  state: 'loading' | 'open'
}

/** A holder that does not answer in time keeps what it has. */
const RECALL_MS = 250
/** One part in so many of what is left is granted in advance, which spares most of the asking. */
const ADVANCE = 32
/** And at most so many times what was wanted: every question is a message there and back. */
const MOST_ADVANCE = 1024
/** Accounts kept at a time; beyond it those that nobody holds anything of are forgotten. */
const MOST_ACCOUNTS = 50_000
/** Of them, looked at when a new one comes. */
const LOOKS = 16

export class QuotaBank {
  readonly #ports: QuotaBankPorts
  readonly #accounts = new Map<string, Account>()
  #epochs = 0

  constructor(ports: QuotaBankPorts) {
    this.#ports = ports
  }

  /** Answers with what is granted, now or later; with null when nobody can tell what is left. */
  draw(holder: string, wish: Draw, answer: (drawn: Drawn | null) => void): void {
    const account = this.#accountOf(wish)
    account.turns.push({ holder, wish, answer, recalled: false })
    if (account.state === 'open' && account.awaited.size === 0) this.#serve(account)
  }

  /** A holder has answered a recall, or gives something back unasked. */
  gaveBack(holder: string, { name, epoch, amount }: Amount): void {
    const account = this.#accounts.get(name)
    if (account === undefined) return
    const lease = account.leases.get(holder)
    if (lease !== undefined && epoch === account.epoch) lease.granted -= amount
    this.#heard(account, holder)
  }

  /** A holder has used more than it had drawn. It is told too late to be refused. */
  owes(holder: string, { name, epoch, amount }: Amount): void {
    const account = this.#accounts.get(name)
    if (account === undefined || epoch !== account.epoch) return
    leaseOf(account, holder).granted += amount
  }

  /** Money that the ledger has seen spent. `leased`: it was reserved from that holder's lease. */
  spent(holder: string, name: string, amount: number, leased: boolean): void {
    const account = this.#accounts.get(name)
    // An account that is being loaded will find it in the ledger.
    if (account === undefined || account.state === 'loading') return
    if (leased) leaseOf(account, holder).spent += amount
    else account.spent += amount
  }

  /** A holder has died: nobody waits for its answers. Its leases stay until `settled`. */
  died(holder: string): void {
    for (const account of this.#accounts.values()) {
      const { turns } = account
      const first = turns[0]
      for (let at = turns.length - 1; at >= 0; at--) if (turns[at]!.holder === holder) turns.splice(at, 1)
      if (turns[0] === first) this.#heard(account, holder)
      else if (account.awaited.size > 0) this.#waitNoMore(account)
    }
  }

  /** Everything a dead holder has spent is in the ledger: what it had beyond that is there again. */
  settled(holder: string): void {
    for (const account of this.#accounts.values()) {
      const lease = account.leases.get(holder)
      if (lease === undefined) continue
      account.leases.delete(holder)
      if (isMoney(account.name)) account.spent += lease.spent
      // What it has used of a window stays used, and nobody can tell any more how much it was.
      else if (account.endsAt !== Number.POSITIVE_INFINITY) account.spent += lease.granted
    }
  }

  /** What may still be drawn, were everything given back that is not needed. For whoever wants to look. */
  outstanding(name: string): { readonly capacity: number; readonly committed: number } | null {
    const account = this.#accounts.get(name)
    return account === undefined ? null : { capacity: account.capacity, committed: committed(account) }
  }

  knows(name: string): boolean {
    return this.#accounts.has(name)
  }

  get size(): number {
    return this.#accounts.size
  }

  #accountOf({ name, capacity, windowMs }: Draw): Account {
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = {
        name,
        capacity,
        spent: 0,
        epoch: 0,
        endsAt: windowMs === 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
        leases: new Map(),
        turns: [],
        awaited: new Set(),
        stopWaiting: () => {},
        state: 'open',
      }
      this.#makeRoom()
      this.#accounts.set(name, account)
      if (isMoney(name)) this.#load(account)
    }
    return account
  }

  #load(account: Account): void {
    account.state = 'loading'
    this.#ports.load(account.name, (spent) => {
      if (spent === null) {
        // The next who asks tries anew.
        this.#accounts.delete(account.name)
        for (const { answer } of account.turns.splice(0)) answer(null)
        return
      }
      account.spent = spent
      account.state = 'open'
      this.#serve(account)
    })
  }

  #serve(account: Account): void {
    for (;;) {
      const turn = account.turns[0]
      if (turn === undefined) return
      this.#renew(account, turn.wish)
      account.capacity = turn.wish.capacity
      const available = account.capacity - committed(account)
      if (available < turn.wish.wanted && !turn.recalled && this.#recall(account, turn)) return
      account.turns.shift()
      turn.answer(this.#grant(account, turn, available))
    }
  }

  /** A window begins with the first call after the last one has ended. */
  #renew(account: Account, { windowMs }: Draw): void {
    const now = this.#ports.clock.monotonicMs()
    if (now < account.endsAt) return
    account.epoch = ++this.#epochs
    account.endsAt = now + windowMs
    account.spent = 0
    account.leases.clear()
  }

  /** True when there is somebody whose answer is worth waiting for. */
  #recall(account: Account, turn: Turn): boolean {
    turn.recalled = true
    for (const [holder, { granted, spent }] of account.leases) {
      if (holder !== turn.holder && granted > spent) account.awaited.add(holder)
    }
    if (account.awaited.size === 0) return false
    account.stopWaiting = this.#ports.clock.runAfter(RECALL_MS, () => this.#waitNoMore(account))
    for (const holder of [...account.awaited]) this.#ports.recall(holder, account.name)
    return true
  }

  #heard(account: Account, holder: string): void {
    if (account.awaited.delete(holder) && account.awaited.size === 0) this.#waitNoMore(account)
  }

  #waitNoMore(account: Account): void {
    account.stopWaiting()
    account.awaited.clear()
    this.#serve(account)
  }

  #grant(account: Account, { holder, wish: { wanted } }: Turn, available: number): Drawn {
    const advance = Math.min(Math.floor((available - wanted) / ADVANCE), wanted * MOST_ADVANCE)
    const granted = Math.max(0, Math.min(available, wanted + Math.max(0, advance)))
    if (granted > 0) leaseOf(account, holder).granted += granted
    const { epoch, endsAt } = account
    const resetInMs = endsAt === Number.POSITIVE_INFINITY ? 0 : endsAt - this.#ports.clock.monotonicMs()
    return { granted, epoch, resetInMs }
  }

  /** Looks at a few only, those longest unlooked at: whoever asks must not wait for a search through all. */
  #makeRoom(): void {
    if (this.#accounts.size < MOST_ACCOUNTS) return
    const now = this.#ports.clock.monotonicMs()
    let looks = LOOKS
    for (const [name, account] of this.#accounts) {
      if (looks-- === 0) return
      this.#accounts.delete(name)
      const busy = account.state !== 'open' || account.turns.length > 0
      if (busy || !isIdle(account, now)) this.#accounts.set(name, account)
    }
  }
}

function leaseOf(account: Account, holder: string): Lease {
  let lease = account.leases.get(holder)
  if (lease === undefined) {
    lease = { granted: 0, spent: 0 }
    account.leases.set(holder, lease)
  }
  return lease
}

/** Out or spent. */
function committed({ spent, leases }: Account): number {
  let sum = spent
  for (const lease of leases.values()) sum += Math.max(lease.granted, lease.spent)
  return sum
}

/** Nobody holds anything: all there is to know stands in the ledger, or nowhere. */
function isIdle({ leases, spent, name, endsAt }: Account, now: number): boolean {
  // What was held of a window is void when it has ended.
  if (now >= endsAt) return true
  if (!isMoney(name) && spent > 0) return false
  for (const { granted, spent: used } of leases.values()) if (granted > used) return false
  return true
}
