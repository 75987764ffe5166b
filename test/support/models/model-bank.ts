/** The bank of all machines in memory, by the clock of a test: the same protocol as the one in PostgreSQL, without it. */
import type { Clock } from '../../../src/base/clock.js'
import { grantableAmount, isMoneyQuota } from '../../../src/limits/quota.js'
import type { BankCall, BankClaim, BankReply, QuotaBank } from '../../../src/limits/quota-bank.js'

interface ModelLease {
  drawn: number
  spent: number
  answered: number
}

interface ModelAccount {
  capacity: number
  /** Spent by leases that are gone. */
  settled: number
  window: number
  endsAt: number
  call: number
  calledAt: number
  readonly leases: Map<string, ModelLease>
}

/** What machines hear without asking. */
interface ModelMachine {
  onCalled(calls: readonly BankCall[]): void
  onAnswered(name: string): void
}

/** A call-in is shared by those who ask within this. */
const SHARED_MS = 20

export class ModelBank {
  readonly accounts = new Map<string, ModelAccount>()
  readonly machines = new Map<string, ModelMachine>()
  statements = 0
  readonly #clock: Clock
  readonly #buckets = new Map<string, { level: number; at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Out of what there is: spent, or with a machine. */
  committed(name: string): number {
    const account = this.accounts.get(name)
    return account === undefined ? 0 : account.settled + sum(account, ({ drawn }) => drawn)
  }

  /** The bank as one machine sees it. */
  of(machine: string): QuotaBank {
    return {
      exchange: async (claims) => {
        this.statements++
        return claims.map((claim) => this.#serve(machine, claim))
      },
      takeTokens: async (claims) => {
        this.statements++
        const now = this.#clock.monotonicMs()
        return claims.map(({ name, capacity, refillPerMs, wanted }) => {
          const { level, at } = this.#buckets.get(name) ?? { level: capacity, at: now }
          const full = Math.min(capacity, level + (now - at) * refillPerMs)
          const granted = grantableAmount(full, wanted)
          this.#buckets.set(name, { level: full - granted, at: now })
          return { name, granted, level: full - granted }
        })
      },
      calls: async () => [],
      retire: async () => {},
      freeEarlier: async () => {},
      adopt: async () => [...this.accounts.keys()],
      prune: async () => {},
    }
  }

  #serve(machine: string, claim: BankClaim): BankReply {
    const { name, capacity, windowMs, wanted } = claim
    const now = this.#clock.monotonicMs()
    let account = this.accounts.get(name)
    if (account === undefined) {
      account = {
        capacity,
        settled: 0,
        window: 0,
        endsAt: 0,
        call: 0,
        calledAt: Number.NEGATIVE_INFINITY,
        leases: new Map(),
      }
      this.accounts.set(name, account)
    }
    if (windowMs > 0 && now >= account.endsAt && wanted > 0) {
      Object.assign(account, { window: account.window + 1, endsAt: now + windowMs, settled: 0 })
      account.leases.clear()
    }
    const lease = account.leases.get(machine) ?? { drawn: 0, spent: 0, answered: 0 }
    account.leases.set(machine, lease)
    const held = windowMs > 0 && claim.window !== account.window ? -1 : claim.held
    if (held > lease.drawn) throw new Error(`${machine} claims ${held} of ${lease.drawn} of ${name}`)
    if (held < 0) {
      account.settled += isMoneyQuota(name) ? lease.spent : 0
      Object.assign(lease, { drawn: 0, spent: 0 })
    } else lease.drawn = Math.max(held, lease.spent)
    lease.drawn += claim.owed
    if (capacity >= 0) account.capacity = capacity
    lease.answered = Math.max(lease.answered, claim.answered)
    const room = account.capacity - this.committed(name)
    const state = this.#grant(account, machine, lease, claim, room)
    if (claim.answered > 0) this.#tellAnswered(name)
    const { window, call, endsAt } = account
    const left = account.capacity - this.committed(name)
    return {
      ...{ name, state, held: lease.drawn, room: left, window },
      endsInMs: windowMs > 0 ? endsAt - now : 0,
      call: claim.call > 0 ? claim.call : call,
      version: null,
    }
  }

  #grant(
    account: ModelAccount,
    machine: string,
    lease: ModelLease,
    { name, wanted, least, target, call }: BankClaim,
    room: number,
  ): BankReply['state'] {
    const share = Math.floor(room / (2 * this.machines.size))
    if (wanted === 0) {
      const granted = Math.max(0, Math.min(target, share))
      lease.drawn += granted
      if (granted > 0) lease.answered = 0
      return 'ok'
    }
    if (room >= wanted) {
      const granted = Math.min(room, Math.max(wanted, Math.min(target, share)))
      lease.drawn += granted
      if (granted > wanted) lease.answered = 0
      return 'ok'
    }
    const awaited = [...account.leases].filter(
      ([holder, { drawn, spent, answered }]) =>
        holder !== machine && drawn > spent && (call === 0 || answered < call),
    )
    if (awaited.length === 0) {
      if (room >= least) lease.drawn += room
      return 'short'
    }
    const now = this.#clock.monotonicMs()
    // Those who ask at about the same time share a call.
    if (call === 0 && account.calledAt <= now - SHARED_MS) account.call++
    account.calledAt = now
    const number = account.call
    for (const [holder] of awaited) {
      queueMicrotask(() => this.machines.get(holder)?.onCalled([{ name, call: number }]))
    }
    return 'called'
  }

  #tellAnswered(name: string): void {
    for (const machine of this.machines.values()) queueMicrotask(() => machine.onAnswered(name))
  }
}

function sum({ leases }: ModelAccount, part: (lease: ModelLease) => number): number {
  let total = 0
  for (const lease of leases.values()) total += part(lease)
  return total
}
