/**
 * A fleet in a world of its own: machines whose clocks go at different rates, that freeze and are cut off and killed, and
 * a store that all of them share. The machines run the real protocol; the store keeps their rows as PostgreSQL does.
 */
import type { Clock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import type { Log } from '../../../src/base/log.js'
import { MembershipBarrier } from '../../../src/fleet/barrier.js'
import { joinFleet } from '../../../src/fleet/join.js'
import { FleetMember } from '../../../src/fleet/member.js'
import { Standing } from '../../../src/fleet/standing.js'
import type {
  BeatAnswer,
  JoinOutcome,
  JoinRequest,
  MachineBeat,
  MachineEpoch,
  MachineState,
  Membership,
  ReplicaPosition,
} from '../../../src/store/membership.js'

const STALENESS_MS = 10_000
/** As in the client of the database. */
const DEADLINE_MS = 2_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Log

/** What comes late takes nothing back. */
const taken = (row: StoredMachine, told: ReplicaPosition | null): number =>
  Math.max(row.applied, told?.version ?? 0)

interface StoredMachine {
  folder: string
  run: string
  epoch: number
  beat: number
  applied: number
  state: MachineState
  servesAway: boolean
  stalenessMs: number
}

const isPresent = ({ state }: StoredMachine): boolean => state === 'joining' || state === 'live'

/** The rows of the machines, as the statements of the store change them. */
class StoredFleet {
  readonly machines = new Map<string, StoredMachine>()
  head = 0
  #lastEpoch = 0

  join(request: JoinRequest): JoinOutcome {
    const { name, folder, run, isRejoining, servesAway, stalenessMs } = request
    const former = this.machines.get(name)
    if (former !== undefined && former.folder !== folder && isPresent(former)) {
      const { epoch, beat } = former
      return { joined: false, occupied: { name, epoch, beat, stalenessMs: former.stalenessMs } }
    }
    if (former !== undefined && isRejoining && run !== former.run) {
      return { joined: false, refusal: 'another has the folder' }
    }
    const epoch = ++this.#lastEpoch
    const place = { folder, run, epoch, servesAway, stalenessMs }
    this.machines.set(name, { ...place, beat: 0, applied: 0, state: 'joining' })
    return { joined: true, epoch, formerEpoch: former?.epoch ?? null, storeMs: 0 }
  }

  touch(self: MachineEpoch, change: (row: StoredMachine) => void): BeatAnswer | null {
    const row = this.machines.get(self.name)
    if (row === undefined || row.epoch !== self.epoch || !isPresent(row)) return null
    // The answer is that of the moment before, as a statement sees it.
    const others = [...this.machines]
      .filter(([name, other]) => name !== self.name && isPresent(other))
      .map(([name, { epoch, beat, stalenessMs }]) => ({ name, epoch, beat, stalenessMs }))
    change(row)
    return { applied: row.applied, head: this.head, called: [], others, storeMs: 0 }
  }

  expire(silent: readonly MachineBeat[]): void {
    for (const { name, epoch, beat } of silent) {
      const row = this.machines.get(name)
      if (row !== undefined && isPresent(row) && row.epoch === epoch && row.beat === beat)
        row.state = 'expired'
    }
  }

  get membership(): { readonly [K in keyof Membership]: (...args: Parameters<Membership[K]>) => unknown } {
    return {
      join: (request) => this.join(request),
      goLive: (self, applied) =>
        this.touch(self, (row) => {
          Object.assign(row, { state: 'live', applied: taken(row, applied), beat: row.beat + 1 })
        }),
      beat: (self, applied, _facts, silent) => {
        const answer = this.touch(self, (row) => {
          Object.assign(row, { applied: taken(row, applied), beat: row.beat + 1 })
        })
        if (answer !== null) this.expire(silent)
        return answer
      },
      confirm: (self, applied) =>
        this.touch(self, (row) => {
          row.applied = taken(row, applied)
        }) !== null,
      behind: (version, except) =>
        [...this.machines].flatMap(([name, { epoch, beat, applied, state, servesAway, stalenessMs }]) =>
          applied < version &&
          !(name === except?.name && epoch === except.epoch) &&
          (state === 'live' || (state === 'expired' && servesAway))
            ? [{ name, epoch, beat, applied, stalenessMs, isAwaited: state === 'live' }]
            : [],
        ),
      expire: (silent) => this.expire(silent),
      leave: (self) =>
        void this.touch(self, (row) => {
          row.state = 'left'
        }),
      forget: (name) => (this.machines.delete(name) ? 'forgotten' : 'unknown'),
    }
  }
}

interface WorldEvent {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

/** Time passes from event to event; promises are given their turns in between. */
export class FleetWorld {
  readonly store = new StoredFleet()
  readonly machines: SimulatedMachine[] = []
  /** Of the changes that were answered, the newest. */
  answered = 0
  /** How many changes were answered in all. */
  answers = 0
  /** What must never be: a machine that serves by records older than an answered change. */
  readonly violations: string[] = []
  /** From 0 to 1. */
  readonly random: () => number
  now = 0
  #events: WorldEvent[] = []
  #orders = 0

  constructor(random: () => number) {
    this.random = random
  }

  at(at: number, run: () => void): () => void {
    const event = { at: Math.max(at, this.now), order: this.#orders++, run }
    this.#events.push(event)
    return () => {
      this.#events = this.#events.filter((other) => other !== event)
    }
  }

  async pass(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      const next = this.#events
        .filter(({ at }) => at <= end)
        .reduce<WorldEvent | null>(
          (a, b) => (a === null || b.at < a.at || (b.at === a.at && b.order < a.order) ? b : a),
          null,
        )
      if (next === null) break
      this.#events = this.#events.filter((event) => event !== next)
      // Just before anything happens as well: what is over by time alone is over without an event.
      this.now = next.at
      this.look()
      next.run()
      await turns()
      this.look()
    }
    this.now = end
    this.look()
  }

  look(): void {
    for (const machine of this.machines) {
      if (machine.serves() && machine.version < this.answered) {
        this.violations.push(
          `${machine.name} serves by ${machine.version} at ${Math.round(this.now)} ms, ${this.answered} was answered`,
        )
      }
    }
  }
}

/** All that follows from what has happened, until nothing more does. */
async function turns(): Promise<void> {
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve))
}

interface SimulatedOptions {
  readonly world: FleetWorld
  readonly name: string
  /** Of its clock against the world's. */
  readonly rate: number
  readonly whenAway?: 'refuse' | 'serve'
  /** Its own setting. */
  readonly stalenessMs?: number
}

export class SimulatedMachine {
  readonly name: string
  /** What its replica has; it outlives the process. */
  version = 0
  isCut = false
  /** The longest way of a message to the store or back, milliseconds. */
  mostDelayMs = 3
  /** Changes that it has made and not answered. */
  waiting = 0
  refusedBy = ''
  readonly #world: FleetWorld
  readonly #rate: number
  readonly #whenAway: 'refuse' | 'serve'
  readonly #stalenessMs: number
  #isFrozen = false
  /** What has come in while it was frozen. */
  #held: (() => void)[] = []
  /** Counts its processes: what an earlier one has begun ends nowhere. */
  #process = 0
  /** When the last statement gets to the store that this process has sent; and a process before it. */
  #sentUntil = 0
  #formerSentUntil = 0
  #standing: Standing
  #member: FleetMember | null = null
  #barrier: MembershipBarrier | null = null

  constructor({ world, name, rate, whenAway = 'refuse', stalenessMs = STALENESS_MS }: SimulatedOptions) {
    this.name = name
    this.#world = world
    this.#rate = rate
    this.#whenAway = whenAway
    this.#stalenessMs = stalenessMs
    this.#standing = new Standing(whenAway)
    world.machines.push(this)
  }

  /** Whether a call that came in now would be let through. */
  serves(): boolean {
    return this.#member !== null && !this.#isFrozen && this.#standing.refusal() === null
  }

  /** Starts a process on its folder; one that is there is killed. */
  start(): void {
    this.kill()
    const clock = this.#clock()
    const membership = this.#membership(clock)
    this.#standing = new Standing(this.#whenAway, () => clock.monotonicMs())
    const standing = this.#standing
    const stalenessMs = this.#stalenessMs
    const run = `${this.name} ${this.#process}`
    const request = (isRejoining: boolean): JoinRequest => ({
      ...{ name: this.name, folder: this.name, run, isRejoining, servesAway: this.#whenAway === 'serve' },
      stalenessMs,
      terms: { publicUrl: '', apiKeyHash: '', managementKeyHash: '' },
      facts: { release: '', node: '', clock_ms: 0, journal_bytes: 0 },
      sealedCheck: '',
      opensCheck: () => true,
    })
    const begin = async (): Promise<void> => {
      const joining = { membership, clock, onOccupied: () => {} }
      const { epoch } = await joinFleet(request(false), joining)
      const member = new FleetMember(
        { name: this.name, epoch },
        {
          ...{ membership, standing, stalenessMs, clock, log: SILENT },
          machineMs: () => clock.monotonicMs(),
          facts: () => ({ release: '', node: '', journal_bytes: 0 }),
          replica: {
            position: () => ({ version: this.version, change: String(this.version) }),
            catchUp: () => this.#catchUp(clock),
          },
          onStanding: () => {},
          onBeat: () => {},
          onRejoined: () => {},
          onRefused: (sentence) => {
            this.refusedBy = sentence
          },
          rejoin: async () => {
            const outcome = await membership.join(request(true))
            if (outcome.joined) return outcome.epoch
            return 'refusal' in outcome ? outcome.refusal : 'occupied'
          },
        },
      )
      await member.enter()
      this.#barrier = new MembershipBarrier({ membership, clock, self: () => member.self })
      this.#member = member
      void member.run()
    }
    const attempt = (): void => void begin().catch(() => clock.runAfter(500, attempt))
    attempt()
  }

  /** Its process ends, with nothing said. */
  kill(): void {
    this.#process++
    this.#formerSentUntil = this.#sentUntil
    this.#member?.stop()
    this.#member = null
    this.#held = []
    this.waiting = 0
  }

  freeze(): void {
    this.#isFrozen = true
  }

  thaw(): void {
    this.#isFrozen = false
    // In any order: what a socket and a timer bring is not sorted by when it happened.
    const held = this.#held.sort(() => this.#world.random() - 0.5)
    this.#held = []
    this.#world.look()
    for (const run of held) run()
  }

  async leave(): Promise<void> {
    const member = this.#member
    this.#member = null
    await member?.leave()
  }

  /** Disables something: it is answered when the barrier has let it through. Refused where a call would be. */
  async change(): Promise<void> {
    if (!this.serves()) return
    const world = this.#world
    const barrier = this.#barrier!
    const process = this.#process
    this.waiting++
    try {
      const version = await this.#ask(this.#clock(), () => ++world.store.head)
      // Its workers have it when it goes on.
      this.version = Math.max(this.version, version)
      // Everybody else hears of it soon, or not at all.
      for (const machine of world.machines) {
        if (machine !== this && world.random() < 0.8)
          world.at(world.now + world.random() * 5, () => machine.hint())
      }
      await barrier.pass(version)
      if (process !== this.#process || this.#isFrozen) return
      world.answered = Math.max(world.answered, version)
      world.answers++
    } catch (error) {
      if (!(error instanceof Fault)) throw error
    } finally {
      if (process === this.#process) this.waiting--
    }
  }

  hint(): void {
    this.#arrive(this.#process, () => void this.#member?.follow())
  }

  async #catchUp(clock: Clock): Promise<number> {
    const { store } = this.#world
    const head = await this.#ask(clock, () => store.head)
    this.version = Math.max(this.version, head)
    return this.version
  }

  /** Its own clock; timers of a frozen process fire when it goes on. */
  #clock(): Clock {
    const world = this.#world
    const process = this.#process
    return {
      unixSeconds: () => world.now / 1000,
      monotonicMs: () => world.now * this.#rate,
      runAfter: (ms, task) => world.at(world.now + ms / this.#rate, () => this.#arrive(process, task)),
    }
  }

  #arrive(process: number, task: () => void): void {
    if (process !== this.#process) return
    if (this.#isFrozen) this.#held.push(task)
    else task()
  }

  #membership(clock: Clock): Membership {
    const { membership } = this.#world.store
    const remote = Object.entries(membership).map(([name, run]) => [
      name,
      (...args: unknown[]) => this.#ask(clock, () => (run as (...all: unknown[]) => unknown)(...args)),
    ])
    return Object.fromEntries(remote) as Membership
  }

  /** A statement: it gets there or not, is carried out there, and its answer gets back or not. */
  #ask<T>(clock: Clock, carryOut: () => T): Promise<T> {
    const world = this.#world
    const process = this.#process
    const delay = (): number => world.random() * this.mostDelayMs
    return new Promise((resolve, reject) => {
      const late = (): void => reject(new Fault('unavailable', { retryAfter: 1 }))
      const cancel = clock.runAfter(DEADLINE_MS, late)
      // To start takes a process longer than what a killed one has sent is under way: a statement to join that came after
      // that of a successor would take its place from it, and the successor ends and says so.
      const arrivesAt = Math.max(world.now + delay(), this.#formerSentUntil)
      this.#sentUntil = Math.max(this.#sentUntil, arrivesAt)
      world.at(arrivesAt, () => {
        if (this.isCut) return
        const answer = carryOut()
        world.at(world.now + delay(), () => {
          if (this.isCut) return
          this.#arrive(process, () => {
            cancel()
            resolve(answer)
          })
        })
      })
    })
  }
}
