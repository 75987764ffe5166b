/** Simulated machines on one bank in PostgreSQL, and what must hold of it whatever happens to them. */
import { systemClock } from '../../../src/base/clock.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { listen } from '../../../src/store/postgres/listen.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import { SimulatedDisk, SimulatedMachine } from './simulated-machine.js'

interface BankWorldOptions {
  readonly url: string
  readonly machines: number
  readonly connections: number
  /** Whether a hint gets lost. */
  readonly losesHint?: () => boolean
  /** How often machines write their ledgers, and beat. */
  readonly intakeMs?: number
  readonly beatMs?: number
}

const INTAKE_MS = 50
const BEAT_MS = 200

export class BankWorld {
  readonly database: Database
  /** Has connections of its own: what the bank takes is measured, not what waits for the ledger. */
  readonly #bankDatabase: Database
  readonly machines: SimulatedMachine[] = []
  readonly #disks: SimulatedDisk[] = []
  readonly #stop: (() => void)[] = []
  #epochs = 0
  #closed = false

  private constructor(url: string, connections: number) {
    const options = { url, connections, clock: systemClock }
    this.database = openDatabase({ ...options, name: 'ledgers' })
    this.#bankDatabase = openDatabase({ ...options, name: 'banks' })
  }

  static async open(options: BankWorldOptions): Promise<BankWorld> {
    const { url, machines, connections, losesHint, intakeMs = INTAKE_MS, beatMs = BEAT_MS } = options
    const world = new BankWorld(url, connections)
    await migrate(world.database)
    await SimulatedMachine.prepare(world.database)
    for (let at = 0; at < machines; at++) {
      world.#disks.push(new SimulatedDisk())
      await world.start(at)
    }
    const listener = listen({
      ...{ url, channel: 'sluice', clock: systemClock },
      onHint: (payload) => {
        for (const machine of world.machines) if (losesHint?.() !== true) machine.onHint(payload)
      },
    })
    world.#stop.push(() => listener.close())
    world.#every(intakeMs, (machine) => machine.intake())
    world.#every(beatMs, (machine) => machine.poll())
    return world
  }

  /** Starts a machine, also one that was killed: on the same disk, under another epoch. */
  async start(at: number): Promise<void> {
    const name = `m${at}`
    const machine: SimulatedMachine = new SimulatedMachine({
      ...{ name, epoch: await this.#join(name), disk: this.#disks[at]! },
      ...{ database: this.database, bankDatabase: this.#bankDatabase },
      live: () => this.machines.filter(({ isDead }) => !isDead).length,
      flush: () => this.#flush(machine),
    })
    try {
      await machine.begin()
    } catch (error) {
      // Nobody knows of it: its timers would keep the process.
      machine.kill()
      throw error
    }
    this.machines[at] = machine
  }

  /** Others have believed it gone. */
  async expire({ name }: SimulatedMachine): Promise<void> {
    await this.database.query(`UPDATE sluice.machines SET state = 'expired' WHERE name = $1`, [name])
  }

  /** It comes back with the same processes. */
  async rejoin(machine: SimulatedMachine): Promise<void> {
    machine.rejoined(await this.#join(machine.name))
    machine.thaw()
  }

  /** Sets the credits of an organization; resolves when all machines that live have them. */
  async setCredits(organization: string, credits: number | null): Promise<void> {
    await this.database.query(
      `WITH head AS (UPDATE sluice.change_head SET version = version + 1, change = gen_random_uuid()
         RETURNING version, change),
       change AS (INSERT INTO sluice.changes (version, id) SELECT version, change FROM head)
       INSERT INTO sluice.records (space, key, value, version)
       SELECT 'account-organizations', convert_to($1, 'UTF8'), convert_to($2, 'UTF8'), version FROM head
       ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, version = excluded.version`,
      [organization, JSON.stringify({ id: organization, name: '\u0000 \ud800', credits })],
    )
    await this.database.query('UPDATE sluice.machines SET applied = (SELECT version FROM sluice.change_head)')
  }

  /** As `sluice fleet forget`: nothing that the machine holds counts any more. */
  async forget({ name }: SimulatedMachine): Promise<void> {
    await this.database.query('SELECT sluice.void_leases($1)', [name])
  }

  /** What is spent and set aside on all disks. */
  committed(name: string): number {
    return this.machines.reduce((sum, machine) => sum + machine.committed(name), 0)
  }

  /** What is wrong with the bank in this moment; empty when nothing is. */
  async faults(mayOverspend = false): Promise<readonly string[]> {
    const rows = await this.database.query<{ fault: string }>(mayOverspend ? FAULTS : FAULTS + OVERSPENT)
    return rows.map(({ fault }) => fault)
  }

  /** What the ledger has seen of a quota, and what the bank says of it. */
  async balance(name: string): Promise<Readonly<Record<Balance, number>>> {
    const rows = await this.database.query<Record<Balance, number>>(
      `SELECT settled, leased, overspent, withdrawn,
         sluice.spent(split_part(substr(name, 2), ' ', 1), split_part(substr(name, 2), ' ', 2)) AS spent
       FROM sluice.bank_balances WHERE name = $1`,
      [name],
    )
    return rows[0] ?? { settled: 0, leased: 0, overspent: 0, withdrawn: 0, spent: 0 }
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const machine of this.machines) machine.kill()
    for (const stop of this.#stop) stop()
    await Promise.all([this.database.close(), this.#bankDatabase.close()])
  }

  async #join(name: string): Promise<number> {
    const epoch = ++this.#epochs
    await this.database.query(
      `INSERT INTO sluice.machines
         (name, folder, run, epoch, state, serves_away, staleness_ms, public_url, api_key_hash, management_key_hash, facts)
       VALUES ($1, gen_random_uuid(), gen_random_uuid(), $2, 'live', false, 10000, '', '', '', '{}')
       ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, state = 'live'`,
      [name, epoch],
    )
    return epoch
  }

  /** What machines do when they are asked to bring in what they have answered; who is frozen is not waited for. */
  async #flush(asker: SimulatedMachine): Promise<boolean> {
    const others = this.machines.filter((machine) => machine !== asker && !machine.isFrozen)
    await Promise.all(others.map((machine) => takeAll(machine).catch(() => {})))
    return takeAll(asker).then(
      () => true,
      () => false,
    )
  }

  #every(ms: number, deed: (machine: SimulatedMachine) => Promise<void>): void {
    const round = async (): Promise<void> => {
      await Promise.all(
        this.machines.filter(({ isDead }) => !isDead).map((each) => deed(each).catch(() => {})),
      )
      if (!this.#closed) this.#stop.push(systemClock.runAfter(ms, () => void round()))
    }
    void round()
  }
}

/** An intake that is under way may have begun before the newest lines. */
async function takeAll(machine: SimulatedMachine): Promise<void> {
  await machine.intake()
  await machine.intake()
}

type Balance = 'settled' | 'leased' | 'overspent' | 'withdrawn' | 'spent'

/** One statement sees one moment of all tables. */
const FAULTS = `
  SELECT name || ': ' || settled || ' settled and ' || leased || ' leased of ' || capacity AS fault
  FROM sluice.bank_balances WHERE settled + leased > capacity OR leased < 0
  UNION ALL
  SELECT a.name || ': leases of ' || coalesce(sum(l.drawn - l.folded), 0) || ', not ' || a.leased + a.withdrawn
  FROM sluice.bank_accounts a LEFT JOIN sluice.bank_leases l ON l.account = a.name
  GROUP BY a.name HAVING coalesce(sum(l.drawn - l.folded), 0) <> a.leased + a.withdrawn
  UNION ALL
  SELECT b.name || ': ' || b.settled + b.overspent || ' settled, and the ledger has ' || coalesce(s.cost, 0)
  FROM sluice.bank_balances b LEFT JOIN sluice.ledger_sums s
    ON s.payer = split_part(substr(b.name, 2), ' ', 1) AND s.period = split_part(substr(b.name, 2), ' ', 2)
  WHERE b.kind = 'money' AND b.settled + b.overspent <> coalesce(s.cost, 0)
`

/** Where no limit is lowered and nobody is forgotten. */
const OVERSPENT = `
  UNION ALL
  SELECT name || ': overspent by ' || overspent FROM sluice.bank_balances WHERE overspent > 0`
