import { type Clock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import { VERSION } from '../base/version.js'
import type { Config } from '../config/config.js'
import { MembershipBarrier } from '../fleet/barrier.js'
import { joinFleet } from '../fleet/join.js'
import { FleetMember } from '../fleet/member.js'
import { SharedFlush } from '../fleet/shared-flush.js'
import { machineMs, Standing } from '../fleet/standing.js'
import type { RoutingUpdate } from '../gateway/routing/routing-update.js'
import type { SuppliedQuotas } from '../limits/quota-supply.js'
import type { FleetStart } from '../process/ipc/messages.js'
import type { MachineFacts } from '../store/membership.js'
import { type Database, openDatabase } from '../store/postgres/database.js'
import { createFleetView } from '../store/postgres/fleet-view.js'
import { listen } from '../store/postgres/listen.js'
import { createMembership } from '../store/postgres/membership.js'
import { migrate } from '../store/postgres/migrate.js'
import type { RevocationBarrier } from '../store/revocation-barrier.js'
import type { FleetFigures } from '../telemetry/counters/fleet-figures.js'
import { type FleetBank, type FleetBankHooks, openFleetBank } from './fleet-bank.js'
import { FleetFigureBook } from './fleet-figures.js'
import { joinRequests, rejoin, tellClock, whenReachable } from './fleet-joining.js'
import { openFleetLedger } from './fleet-ledger.js'
import type { LedgerIntake } from './ledger.js'
import { openReplica } from './replica.js'
import { RoutingHints } from './routing-hints.js'

interface FleetMachinePorts {
  readonly clock: Clock
  readonly log: Log
  /** Tells the operator, on standard output. */
  readonly announce: (line: string) => void
  /** Until when the machine may serve has changed. */
  readonly onStanding: () => void
  /** It must not go on; one sentence for the operator. */
  readonly onRefused: (sentence: string) => void
  /** Bytes of journals that the ledger has not taken in. */
  readonly journalBytes: () => number
  /** A worker of another machine has learnt something of endpoints or sessions. */
  readonly onRoutingUpdate: (update: RoutingUpdate) => void
  /** Whether the start was called off meanwhile. */
  readonly isLeaving: () => boolean
}

/** Hints of all kinds; a payload begins with a word. */
const CHANNEL = 'sluice'
const LEAVE_MS = 2_000

export class FleetMachine {
  readonly name: string
  /** Epoch of the run before that has not left cleanly; null when there was none. */
  readonly formerEpoch: number | null
  readonly database: Database
  readonly standing: Standing
  /** Set by who composes the bank. */
  bank: FleetBankHooks | null = null
  /** Whether nobody was there before: it has made the first keys. */
  readonly isFounder: boolean
  readonly #barrier: RevocationBarrier
  readonly #member: FleetMember
  #flush: SharedFlush | null = null
  #routing: RoutingHints | null = null
  readonly #figures: FleetFigureBook
  readonly #log: Log
  readonly #closers: (() => void | Promise<void>)[] = []

  private constructor(parts: {
    readonly name: string
    readonly log: Log
    readonly formerEpoch: number | null
    readonly database: Database
    readonly createBarrier: (machine: FleetMachine) => RevocationBarrier
    readonly isFounder: boolean
    readonly standing: Standing
    readonly createMember: (machine: FleetMachine) => FleetMember
    readonly figures: FleetFigureBook
  }) {
    this.name = parts.name
    this.#log = parts.log
    this.formerEpoch = parts.formerEpoch
    this.database = parts.database
    this.#barrier = parts.createBarrier(this)
    this.isFounder = parts.isFounder
    this.standing = parts.standing
    this.#member = parts.createMember(this)
    this.#figures = parts.figures
  }

  /**
   * Joins, and resolves when the machine may serve; waits for a database that is away. Rejects with `RefusedStart`.
   * The data folder must be locked.
   */
  static async open(config: Config, ports: FleetMachinePorts): Promise<FleetMachine> {
    const { clock, log } = ports
    const facts = (): Omit<MachineFacts, 'clock_ms'> => ({
      release: VERSION,
      node: process.version,
      journal_bytes: ports.journalBytes(),
    })
    const request = joinRequests(config, () => ({ ...facts(), clock_ms: unixMs(clock) }))
    const { name } = request(false)
    const database = openDatabase({
      url: config.databaseUrl,
      connections: SUPERVISOR_CONNECTIONS,
      clock,
      name: `sluice ${name} supervisor`,
    })
    const membership = createMembership(database)
    const joining = { membership, clock }
    const joined = await whenReachable(ports, async () => {
      for (const done of await migrate(database)) log.info({ migration: done }, 'the schema was extended')
      const onOccupied = (waitMs: number): void =>
        ports.announce(
          `sluice waits up to ${Math.ceil(waitMs / 1000)} s: another machine of the name "${name}" may be running`,
        )
      return joinFleet(request(false), { ...joining, onOccupied })
    })
    tellClock(joined.storeMs, ports)
    const replica = openReplica({ dataDir: config.dataDir, database, machine: name, clock, log })
    const standing = new Standing(config.fleetWhenStoreIsAway)
    const { fleetStalenessMs: stalenessMs } = config
    const machine = new FleetMachine({
      ...{
        name,
        log,
        database,
        standing,
        formerEpoch: joined.formerEpoch,
        isFounder: joined.epoch === 1,
      },
      figures: new FleetFigureBook({ machine: name, database, clock, view: createFleetView(database) }),
      createBarrier: (owner) => new MembershipBarrier({ membership, clock, self: () => owner.#member.self }),
      createMember: (owner) =>
        new FleetMember(
          { name, epoch: joined.epoch },
          {
            ...{ membership, replica, standing, stalenessMs, clock, machineMs, log, facts },
            onStanding: ports.onStanding,
            onBeat: ({ called }) => owner.bank?.onCalled(called),
            onRejoined: (former, epoch) => owner.bank?.onRejoined(former, epoch),
            onRefused: ports.onRefused,
            rejoin: () => rejoin(membership, request(true)),
          },
        ),
    })
    machine.#closers.push(() => replica.close())
    await whenReachable(ports, () => machine.#member.enter())
    machine.#run(config, ports)
    return machine
  }

  /** Under which epoch it lives now. */
  get epoch(): number {
    return this.#member.self.epoch
  }

  /** Machines that live, this one included. */
  get live(): number {
    return this.#member.live
  }

  /**
   * Resolves when no machine serves by records older than that version, with those that could not be asked and serve all
   * the same; with null when the store cannot tell.
   */
  async passBarrier(version: number): Promise<readonly string[] | null> {
    try {
      return await this.#figures.timeBarrier(() => this.#barrier.pass(version))
    } catch {
      return null
    }
  }

  /** The bank of all machines, which this one's quota server draws from; `flush` is `openFlush`'s. */
  openBank(quotas: SuppliedQuotas, flush: () => Promise<boolean>): FleetBank {
    const { database, name, epoch } = this
    const live = (): number => this.live
    const bank = openFleetBank({ database, member: { name, epoch, live }, flush, quotas })
    this.bank = bank.hooks
    return bank
  }

  /** The ledger of all machines, into which this one brings the journals of its data folder. */
  openLedger(dataDir: string, log: Log): LedgerIntake {
    const { database, name: machine } = this
    return openFleetLedger({ database, machine, epoch: () => this.epoch, dataDir, log })
  }

  /** For metrics. */
  figures(): Promise<FleetFigures> {
    return this.#figures.read()
  }

  /** A worker of this machine has learnt something of endpoints or sessions. */
  tellRouting(update: RoutingUpdate): void {
    this.#routing?.tell(update)
  }

  /** Has all machines bring in what they have answered; `flush` does it on this one. */
  openFlush(flush: () => Promise<boolean>, clock: Clock): SharedFlush {
    this.#flush = new SharedFlush({
      ...{ machine: this.name, flush, clock, live: () => this.live },
      hears: () => !this.database.isPooled,
      send: (payload) => this.#hint(payload),
    })
    return this.#flush
  }

  /** What a worker starts with. */
  get start(): FleetStart {
    return { machine: this.name, standing: this.standing.notice }
  }

  /**
   * After the workers have ended and their journals were taken in: gives back what it holds, and nobody waits for it any
   * more. When that cannot be done in time, it goes without a word to the others, who then find it silent.
   */
  async leave(): Promise<void> {
    try {
      const late = new Promise<never>((_, fail) =>
        setTimeout(() => fail(new Fault('unavailable')), LEAVE_MS).unref(),
      )
      await Promise.race([this.bank?.giveBack(), late])
      await Promise.race([this.#member.leave(), late])
    } catch (error) {
      this.#log.warn({ err: error }, 'the store could not be told that this machine leaves')
      this.#member.stop()
    }
    for (const close of this.#closers) await close()
    await Promise.race([
      this.database.close(),
      new Promise((resolve) => setTimeout(resolve, LEAVE_MS).unref()),
    ])
  }

  #hint(payload: string): Promise<unknown> {
    return this.database.query('SELECT pg_notify($1, $2)', [CHANNEL, payload])
  }

  #run({ databaseUrl: url }: Config, { clock, announce, onRoutingUpdate }: FleetMachinePorts): void {
    void this.#member.run()
    if (this.database.isPooled) {
      announce('sluice is behind a pooler of connections: changes are looked for instead of being heard of')
      void this.#member.poll()
      return
    }
    const routing = new RoutingHints({
      ...{ machine: this.name, clock, onUpdate: onRoutingUpdate },
      send: (text) => void this.#hint(`routing ${text}`).catch(() => {}),
    })
    this.#routing = routing
    const onHint = (payload: string): void => {
      if (payload === 'change') void this.#member.follow()
      else if (payload.startsWith('routing ')) routing.receive(payload.slice('routing '.length))
      else if (this.#flush?.receive(payload) !== true) this.bank?.onHint(payload)
    }
    const listener = listen({
      ...{ url, channel: CHANNEL, clock, onHint },
      onListening: () => void this.#member.follow(),
    })
    this.#closers.push(() => listener.close())
  }
}

/** Beats and what must not wait behind each other: the log, the barrier, the ledger, the bank. */
const SUPERVISOR_CONNECTIONS = 6
