/**
 * A machine of a fleet as the bank sees it: quota server, leases and the intake of a journal, without a server around
 * them. What is on its disk outlives it.
 */
import { systemClock } from '../../../src/base/clock.js'
import { MachineBank } from '../../../src/limits/machine-bank.js'
import type { Quota } from '../../../src/limits/quota.js'
import type { QuotaBank } from '../../../src/limits/quota-bank.js'
import { isPermit, NO_ANSWER, QuotaLeases, type QuotaPermit } from '../../../src/limits/quota-leases.js'
import { QuotaServer } from '../../../src/limits/quota-server.js'
import { openBank, parseCall } from '../../../src/store/postgres/bank.js'
import type { Database } from '../../../src/store/postgres/database.js'

interface DiskLine {
  readonly name: string
  readonly cost: number
  /** It was reserved from a lease. */
  readonly leased: boolean
}

/** What calls have come to, in the order of their ends, and what is set aside for those that run. */
export class SimulatedDisk {
  readonly lines: DiskLine[] = []
  readonly open = new Map<number, { readonly name: string; readonly amount: number }>()
  /** How many lines the ledger has for sure. */
  taken = 0
  calls = 0
}

export type CallOutcome = 'answered' | 'short' | 'unknown'

interface SimulatedMachineOptions {
  readonly name: string
  readonly epoch: number
  readonly database: Database
  readonly bankDatabase: Database
  readonly disk: SimulatedDisk
  readonly live: () => number
  readonly flush: () => Promise<boolean>
}

const HOLDER = 'worker'

export class SimulatedMachine {
  readonly name: string
  epoch: number
  readonly disk: SimulatedDisk
  readonly leases: QuotaLeases
  readonly bank: MachineBank
  readonly #database: Database
  readonly #port: QuotaBank
  readonly #server: QuotaServer
  /** Resolves when it is no longer frozen. */
  #thawed: Promise<void> = Promise.resolve()
  thaw: () => void = () => {}
  isFrozen = false
  isDead = false
  /** Statements to the bank, and how long each took. */
  readonly exchangesMs: number[] = []
  #die: (word: typeof NO_ANSWER) => void = () => {}
  readonly #death = new Promise<typeof NO_ANSWER>((resolve) => {
    this.#die = resolve
  })
  #intake: Promise<void> | null = null

  constructor({ name, epoch, database, bankDatabase, disk, live, flush }: SimulatedMachineOptions) {
    this.name = name
    this.epoch = epoch
    this.disk = disk
    this.#database = database
    this.#port = openBank(bankDatabase, { name, epoch, live })
    let bank: MachineBank | undefined
    this.#server = new QuotaServer({
      clock: systemClock,
      load: (_name, done) => done(null),
      revoke: (_holder, quota) => queueMicrotask(() => this.leases.onRevoke(quota)),
      supply: (quotas) => {
        bank = new MachineBank({ clock: systemClock, bank: this.#throughIce(), flush, quotas })
        return bank
      },
    })
    this.bank = bank!
    this.leases = new QuotaLeases(systemClock, {
      acquire: (request, onReply) => {
        this.#server.acquire(HOLDER, request, (grant) => queueMicrotask(() => onReply(grant, false)))
      },
      notify: (kind, amount) => {
        if (kind === 'quota-overdraft') this.#server.recordOverdraft(HOLDER, amount)
        else this.#server.release(HOLDER, amount)
      },
      makeDurable: () => true,
    })
  }

  /** Tables beside those of the server: how far each simulated disk is in the ledger. */
  static async prepare(database: Database): Promise<void> {
    await database.query(
      'CREATE TABLE sluice.simulated_disks (machine text PRIMARY KEY, taken bigint NOT NULL DEFAULT 0)',
    )
  }

  /** What a server does at its start: what an earlier run has left is settled, and the rest of its leases freed. */
  async begin(): Promise<void> {
    await this.#port.retire()
    await this.#database.query(
      'INSERT INTO sluice.simulated_disks (machine) VALUES ($1) ON CONFLICT DO NOTHING',
      [this.name],
    )
    for (const { name, amount } of this.disk.open.values())
      this.disk.lines.push({ name, cost: amount, leased: true })
    this.disk.open.clear()
    while (this.disk.taken < this.disk.lines.length) await this.#take(0)
    await this.#port.freeEarlier()
  }

  /** A call that reserves `amount` and comes to `cost` after `during`. */
  async call(
    quota: Quota,
    amount: number,
    cost: number,
    during: Promise<unknown> | null = null,
    onAdmitted?: () => void,
  ): Promise<CallOutcome> {
    const permit =
      this.leases.tryAcquire(quota, amount) ??
      (await Promise.race([this.leases.acquire(quota, amount), this.#death]))
    if (permit === NO_ANSWER) return 'unknown'
    if (!isPermit(permit)) return 'short'
    // A machine that died meanwhile has answered nobody.
    if (this.isDead) return 'unknown'
    const isMoney = quota.name.startsWith('$')
    const id = this.disk.calls++
    if (isMoney) this.disk.open.set(id, { name: quota.name, amount })
    onAdmitted?.()
    if (during !== null) await during
    if (this.isDead) return 'unknown'
    this.#end(quota.name, permit, cost, isMoney ? id : null)
    return 'answered'
  }

  /** A call while there is no limit. */
  spendFreely(name: string, cost: number): void {
    this.disk.lines.push({ name, cost, leased: false })
  }

  /** Brings what has ended into the ledger. */
  intake(): Promise<void> {
    this.#intake ??= this.#takeOwn().finally(() => {
      this.#intake = null
    })
    return this.#intake
  }

  onHint(payload: string): void {
    if (this.isFrozen || this.isDead) return
    const [word = '', ...rest] = payload.split(' ')
    if (word === 'called') this.bank.onCallHint(parseCall(rest.join(' ')))
    else this.bank.onAnswered(rest.join(' '))
  }

  /** What a beat does: call-ins that no hint has told of. */
  async poll(): Promise<void> {
    if (this.isFrozen || this.isDead) return
    const calls = await this.#port.calls().catch(() => [])
    if (!this.isDead) this.bank.onCalled(calls)
  }

  freeze(): void {
    this.isFrozen = true
    this.#thawed = new Promise((resolve) => {
      this.thaw = () => {
        this.isFrozen = false
        resolve()
      }
    })
  }

  /** What its calls have come to, and what is set aside for those that run. */
  committed(name: string): number {
    let sum = 0
    for (const line of this.disk.lines) if (line.name === name) sum += line.cost
    for (const call of this.disk.open.values()) if (call.name === name) sum += call.amount
    return sum
  }

  kill(): void {
    this.isDead = true
    this.#die(NO_ANSWER)
    this.bank.shutDown()
    this.thaw()
  }

  rejoined(epoch: number): void {
    this.epoch = epoch
    this.bank.onRejoined(epoch)
  }

  #end(name: string, permit: QuotaPermit, cost: number, id: number | null): void {
    if (id !== null) {
      this.disk.open.delete(id)
      this.disk.lines.push({ name, cost, leased: true })
    }
    this.leases.release(permit, cost)
  }

  async #takeOwn(): Promise<void> {
    await this.#thawed
    if (!this.isDead && this.disk.taken < this.disk.lines.length) await this.#take(this.epoch)
  }

  /** One statement, which moves the mark, the sums and the leases, or nothing. */
  async #take(epoch: number): Promise<void> {
    const { name, disk } = this
    const from = disk.taken
    const costs = costsOf(disk.lines.slice(from))
    const values = [
      ...[name, from, disk.lines.length, epoch],
      ...[costs.map((line) => line.name), costs.map(({ cost }) => cost), costs.map(({ leased }) => leased)],
    ]
    try {
      await this.#database.query(TAKE, values)
    } catch {
      // Nobody knows whether it was taken, or will be.
    }
    const [mark] = await this.#database.query<{ taken: number }>(
      'SELECT taken FROM sluice.simulated_disks WHERE machine = $1',
      [name],
    )
    const { taken } = mark!
    if (disk.taken !== from || taken === from) return
    disk.taken = taken
    if (epoch === 0) return
    for (const { name: quota, cost, leased } of costsOf(disk.lines.slice(from, taken))) {
      this.#server.recordSpending(HOLDER, quota, cost, leased)
    }
  }

  /** The bank, which a frozen machine does not reach, nor hears. */
  #throughIce(): QuotaBank {
    return {
      ...this.#port,
      exchange: async (claims) => {
        await this.#thawed
        const sentAt = performance.now()
        const replies = await this.#port.exchange(claims)
        this.exchangesMs.push(performance.now() - sentAt)
        await this.#thawed
        return replies
      },
    }
  }
}

function costsOf(lines: readonly DiskLine[]): readonly DiskLine[] {
  const costs = new Map<string, DiskLine>()
  for (const { name, cost, leased } of lines) {
    const id = `${leased} ${name}`
    costs.set(id, { name, leased, cost: cost + (costs.get(id)?.cost ?? 0) })
  }
  return [...costs.values()]
}

const TAKE = `WITH moved AS (
    UPDATE sluice.simulated_disks SET taken = $3 WHERE machine = $1 AND taken = $2 RETURNING taken),
  sums AS (
    INSERT INTO sluice.ledger_sums AS s (payer, period, cost, prompt_tokens, completion_tokens, calls)
    SELECT split_part(substr(q.name, 2), ' ', 1), split_part(substr(q.name, 2), ' ', 2), sum(q.cost), 0, 0, 0
    FROM unnest($5::text[], $6::bigint[]) AS q(name, cost), moved GROUP BY q.name ORDER BY q.name
    ON CONFLICT (payer, period) DO UPDATE SET cost = s.cost + excluded.cost RETURNING 1)
  SELECT sluice.settle($1, $4, $5, $6, $7) FROM moved, (SELECT count(*) FROM sums) AS done`
