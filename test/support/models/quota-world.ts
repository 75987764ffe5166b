/** Two processes, a bank and a ledger, with everything between them in the hands of a test: messages, turns, deaths. */
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../../src/limits/quota.js'
import { moneyQuotaName } from '../../../src/limits/quota.js'
import { isPermit, NO_ANSWER, QuotaLeases, type QuotaPermit } from '../../../src/limits/quota-leases.js'
import { QuotaServer } from '../../../src/limits/quota-server.js'
import { FakeClock } from '../timing/fake-clock.js'

type ToBank =
  | { readonly type: 'draw'; readonly id: number; readonly draw: QuotaRequest }
  | { readonly type: 'gave-back' | 'owes'; readonly amount: LeaseAmount }
type ToDesk =
  | { readonly type: 'drawn'; readonly id: number; readonly drawn: QuotaGrant | null }
  | { readonly type: 'recall'; readonly name: string }

/** A line of a journal. */
interface Line {
  readonly type: 'open' | 'close'
  readonly id: number
  readonly amount: number
}

interface Process {
  readonly holder: string
  readonly desk: QuotaLeases
  readonly toBank: ToBank[]
  readonly toDesk: ToDesk[]
  /** Lines of this turn, and those that outlive the process. */
  buffer: Line[]
  readonly written: Line[]
  /** How many of them are in the ledger. */
  taken: number
  readonly running: { readonly id: number; readonly ticket: QuotaPermit }[]
}

const NAME = moneyQuotaName('kx', 'never')

export class QuotaWorld {
  readonly limit: number
  readonly clock = new FakeClock()
  /** Costs by call, once each. */
  readonly ledger = new Map<number, number>()
  /** By how much calls cost more than was set aside for them. */
  overrun = 0
  admitted = 0
  refused = 0
  readonly #processes: Process[]
  #dead: Process[] = []
  #bank: QuotaServer
  #loads: ((spent: number) => void)[] = []
  #calls = 0
  #holders = 0

  constructor(limit: number, processes = 2) {
    this.limit = limit
    this.#bank = this.#newBank()
    this.#processes = Array.from({ length: processes }, () => this.#newProcess())
  }

  /** A call comes; whether it is admitted shows later. */
  reserve(at: number, amount: number): void {
    const process = this.#processes[at]!
    const quota = { name: NAME, capacity: this.limit, windowMs: 0 }
    const ticket = process.desk.tryAcquire(quota, amount)
    if (ticket !== null) {
      this.#begin(process, ticket)
      return
    }
    void process.desk.acquire(quota, amount).then((came) => {
      if (came === NO_ANSWER || !isPermit(came)) this.refused++
      else this.#begin(process, came)
    })
  }

  /** One of the calls of a process ends, at a part of what was set aside, or at more than that. */
  settle(at: number, which: number, part: number): void {
    const process = this.#processes[at]!
    if (process.running.length === 0) return
    const [{ id, ticket }] = process.running.splice(which % process.running.length, 1) as [
      Process['running'][0],
    ]
    const cost = Math.floor(ticket.amount * part)
    this.overrun += Math.max(0, cost - ticket.amount)
    process.buffer.push({ type: 'close', id, amount: cost })
    process.desk.release(ticket, cost)
  }

  /** The turn of a process ends: its lines are written. */
  turn(at: number): void {
    flush(this.#processes[at]!)
  }

  /** One message arrives. */
  deliver(at: number, direction: 'bank' | 'desk'): void {
    const process = this.#processes[at]!
    if (direction === 'bank') {
      const message = process.toBank.shift()
      if (message !== undefined) this.#hear(process, message)
      return
    }
    const message = process.toDesk.shift()
    if (message?.type === 'drawn') process.desk.onGrant(message.id, message.drawn)
    else if (message !== undefined) process.desk.onRevoke(message.name)
  }

  /** The ledger takes what has been written. */
  take(): void {
    for (const process of [...this.#processes, ...this.#dead]) this.#takeFrom(process)
    for (const done of this.#loads.splice(0)) done(this.spent())
  }

  /** A process is gone with what it had not written, and another takes its seat. What it had said may be heard. */
  crash(at: number, heard: boolean): void {
    const process = this.#processes[at]!
    if (heard) for (const message of process.toBank.splice(0)) this.#hear(process, message)
    this.#dead.push(process)
    this.#bank.holderDied(process.holder)
    this.#processes[at] = this.#newProcess()
  }

  /** What the dead have left open is closed with what was set aside. */
  bury(): void {
    this.take()
    for (const process of this.#dead.splice(0)) {
      for (const { id, amount } of openOf(process)) this.#close(process, id, amount)
      this.#bank.holderSettled(process.holder)
    }
  }

  /** All processes are gone, the bank among them, and begin again with the ledger. */
  restart(): void {
    this.#loads = []
    this.#dead.push(...this.#processes)
    this.#bank = this.#newBank()
    this.bury()
    for (let at = 0; at < this.#processes.length; at++) this.#processes[at] = this.#newProcess()
  }

  wait(ms: number): void {
    this.clock.advance(ms)
  }

  /** Whatever has been promised is told. */
  async rest(): Promise<void> {
    for (let i = 0; i < 12; i++) await Promise.resolve()
  }

  spent(): number {
    let sum = 0
    for (const cost of this.ledger.values()) sum += cost
    return sum
  }

  /** Spent, or set aside for calls that run, or that were cut off. */
  committed(): number {
    let sum = this.spent()
    for (const process of [...this.#processes, ...this.#dead]) {
      const alive = this.#processes.includes(process)
      const lines = alive ? [...process.written, ...process.buffer] : process.written
      for (const { type, id, amount } of lines) if (type === 'close' && !this.ledger.has(id)) sum += amount
      for (const { amount } of openIn(lines)) sum += amount
    }
    return sum
  }

  #begin(process: Process, ticket: QuotaPermit): void {
    if (!this.#processes.includes(process)) return
    const id = this.#calls++
    this.admitted++
    process.running.push({ id, ticket })
    process.buffer.push({ type: 'open', id, amount: ticket.amount })
  }

  #hear(process: Process, message: ToBank): void {
    const { holder, toDesk } = process
    if (message.type === 'draw') {
      const { id, draw } = message
      this.#bank.acquire(holder, draw, (drawn) => toDesk.push({ type: 'drawn', id, drawn }))
    } else if (message.type === 'owes') this.#bank.recordOverdraft(holder, message.amount)
    else this.#bank.release(holder, message.amount)
  }

  #takeFrom(process: Process): void {
    for (const { type, id, amount } of process.written.slice(process.taken)) {
      if (type === 'close') this.#close(process, id, amount)
    }
    process.taken = process.written.length
  }

  #close(process: Process, id: number, cost: number): void {
    if (this.ledger.has(id)) throw new Error(`call ${id} was settled twice`)
    this.ledger.set(id, cost)
    this.#bank.recordSpending(process.holder, NAME, cost, true)
  }

  #newBank(): QuotaServer {
    const bank: QuotaServer = new QuotaServer({
      clock: this.clock,
      load: (_name, done) => this.#loads.push(done),
      revoke: (holder, name) => {
        const process = this.#processes.find((each) => each.holder === holder)
        process?.toDesk.push({ type: 'recall', name })
      },
    })
    return bank
  }

  #newProcess(): Process {
    const toBank: ToBank[] = []
    const process: Process = {
      holder: `holder ${this.#holders++}`,
      toBank,
      toDesk: [],
      buffer: [],
      written: [],
      taken: 0,
      running: [],
      desk: new QuotaLeases(this.clock, {
        acquire: (id, draw) => toBank.push({ type: 'draw', id, draw }) > 0,
        notify: (type, amount) => toBank.push({ type, amount }) > 0,
        makeDurable: () => {
          flush(process)
          return true
        },
      }),
    }
    return process
  }
}

function flush(process: Process): void {
  process.written.push(...process.buffer)
  process.buffer = []
}

function openOf({ written }: Process): Line[] {
  return openIn(written)
}

function openIn(lines: readonly Line[]): Line[] {
  const closed = new Set(lines.filter(({ type }) => type === 'close').map(({ id }) => id))
  return lines.filter(({ type, id }) => type === 'open' && !closed.has(id))
}
