/** Two processes, a quota server and a ledger, with everything between them in the hands of a test: messages, turns, deaths. */
import type { LeaseAmount, QuotaGrant, QuotaRequest } from '../../../src/limits/quota.js'
import { moneyQuotaName } from '../../../src/limits/quota.js'
import { isPermit, NO_ANSWER, QuotaLeases, type QuotaPermit } from '../../../src/limits/quota-leases.js'
import { QuotaServer } from '../../../src/limits/quota-server.js'
import { FakeClock } from '../timing/fake-clock.js'

type OnGrant = (grant: QuotaGrant | null, late: boolean) => void
type ToServer =
  | { readonly type: 'acquire-quota'; readonly request: QuotaRequest; readonly onReply: OnGrant }
  | { readonly type: 'release-quota' | 'quota-overdraft'; readonly amount: LeaseAmount }
/** Runs when it arrives. */
type ToProcess = () => void

/** A line of a journal. */
interface Line {
  readonly type: 'open' | 'close'
  readonly id: number
  readonly amount: number
}

interface Process {
  readonly holder: string
  readonly leases: QuotaLeases
  readonly toServer: ToServer[]
  readonly toProcess: ToProcess[]
  /** Lines of this turn, and those that outlive the process. */
  buffer: Line[]
  readonly written: Line[]
  /** How many of them are in the ledger. */
  taken: number
  readonly running: { readonly id: number; readonly permit: QuotaPermit }[]
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
  #server: QuotaServer
  #loads: ((spent: number) => void)[] = []
  #calls = 0
  #holders = 0

  constructor(limit: number, processes = 2) {
    this.limit = limit
    this.#server = this.#newServer()
    this.#processes = Array.from({ length: processes }, () => this.#newProcess())
  }

  /** A call comes; whether it is admitted shows later. */
  reserve(at: number, amount: number): void {
    const process = this.#processes[at]!
    const quota = { name: NAME, capacity: this.limit, windowMs: 0 }
    const permit = process.leases.tryAcquire(quota, amount)
    if (permit !== null) {
      this.#begin(process, permit)
      return
    }
    void process.leases.acquire(quota, amount).then((outcome) => {
      if (outcome === NO_ANSWER || !isPermit(outcome)) this.refused++
      else this.#begin(process, outcome)
    })
  }

  /** One of the calls of a process ends, at a part of what was set aside, or at more than that. */
  settle(at: number, which: number, part: number): void {
    const process = this.#processes[at]!
    if (process.running.length === 0) return
    const [{ id, permit }] = process.running.splice(which % process.running.length, 1) as [
      Process['running'][0],
    ]
    const cost = Math.floor(permit.amount * part)
    this.overrun += Math.max(0, cost - permit.amount)
    process.buffer.push({ type: 'close', id, amount: cost })
    process.leases.release(permit, cost)
  }

  /** The turn of a process ends: its lines are written. */
  turn(at: number): void {
    flush(this.#processes[at]!)
  }

  /** One message arrives. */
  deliver(at: number, direction: 'server' | 'process'): void {
    const process = this.#processes[at]!
    if (direction === 'process') {
      process.toProcess.shift()?.()
      return
    }
    const message = process.toServer.shift()
    if (message !== undefined) this.#receive(process, message)
  }

  /** The ledger takes what has been written. */
  take(): void {
    for (const process of [...this.#processes, ...this.#dead]) this.#takeFrom(process)
    for (const done of this.#loads.splice(0)) done(this.spent())
  }

  /** A process is gone with what it had not written, and another takes its seat. What it had said may be heard. */
  crash(at: number, heard: boolean): void {
    const process = this.#processes[at]!
    if (heard) for (const message of process.toServer.splice(0)) this.#receive(process, message)
    this.#dead.push(process)
    this.#server.holderDied(process.holder)
    this.#processes[at] = this.#newProcess()
  }

  /** What the dead have left open is closed with what was set aside. */
  bury(): void {
    this.take()
    for (const process of this.#dead.splice(0)) {
      for (const { id, amount } of openOf(process)) this.#close(process, id, amount)
      this.#server.holderSettled(process.holder)
    }
  }

  /** All processes are gone, the server among them, and begin again with the ledger. */
  restart(): void {
    this.#loads = []
    this.#dead.push(...this.#processes)
    this.#server = this.#newServer()
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

  #begin(process: Process, permit: QuotaPermit): void {
    if (!this.#processes.includes(process)) return
    const id = this.#calls++
    this.admitted++
    process.running.push({ id, permit })
    process.buffer.push({ type: 'open', id, amount: permit.amount })
  }

  #receive({ holder, toProcess }: Process, message: ToServer): void {
    if (message.type === 'acquire-quota') {
      const { request, onReply } = message
      this.#server.acquire(holder, request, (grant) => toProcess.push(() => onReply(grant, false)))
    } else if (message.type === 'quota-overdraft') this.#server.recordOverdraft(holder, message.amount)
    else this.#server.release(holder, message.amount)
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
    this.#server.recordSpending(process.holder, NAME, cost, true)
  }

  #newServer(): QuotaServer {
    const server: QuotaServer = new QuotaServer({
      clock: this.clock,
      load: (_name, done) => this.#loads.push(done),
      revoke: (holder, name) => {
        const process = this.#processes.find((each) => each.holder === holder)
        process?.toProcess.push(() => process.leases.onRevoke(name))
      },
    })
    return server
  }

  #newProcess(): Process {
    const toServer: ToServer[] = []
    const process: Process = {
      holder: `holder ${this.#holders++}`,
      toServer,
      toProcess: [],
      buffer: [],
      written: [],
      taken: 0,
      running: [],
      leases: new QuotaLeases(this.clock, {
        acquire: (request, onReply) => void toServer.push({ type: 'acquire-quota', request, onReply }),
        notify: (type, amount) => void toServer.push({ type, amount }),
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

const openOf = ({ written }: Process): Line[] => openIn(written)

function openIn(lines: readonly Line[]): Line[] {
  const closed = new Set(lines.filter(({ type }) => type === 'close').map(({ id }) => id))
  return lines.filter(({ type, id }) => type === 'open' && !closed.has(id))
}
