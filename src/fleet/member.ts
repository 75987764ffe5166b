/**
 * A machine's life in its fleet, in the process that speaks for it: it beats every second, follows the change log,
 * says what it has applied, and knows until when its machine may serve.
 */
import { type Clock, sleep, unixMs } from '../base/clock.js'
import type { Log } from '../base/log.js'
import type {
  BeatAnswer,
  MachineEpoch,
  MachineFacts,
  Membership,
  ReplicaPosition,
} from '../store/membership.js'
import { SilenceWatch } from './silence-watch.js'
import type { Standing } from './standing.js'

/** The machine's copy of the managed records. */
export interface Replica {
  /** Null while it has none that may be read. */
  position(): ReplicaPosition | null
  /** Takes all changes that it lacks. Resolves with the version it has then. */
  catchUp(): Promise<number>
}

/** What is done beside, when the machine's place in the fleet changes. */
interface MemberListener {
  /** Until when the machine may serve has changed. */
  readonly onStanding: () => void
  /** With every confirmed beat: quotas whose leases are asked back, and how many machines live, itself included. */
  readonly onBeat: (beat: { readonly called: readonly string[]; readonly live: number }) => void
  /** It was expired and has joined anew. */
  readonly onRejoined: (former: number, epoch: number) => void
  /** It must not join any more; one sentence for the operator. */
  readonly onRefused: (sentence: string) => void
}

interface MemberOptions extends MemberListener {
  readonly membership: Membership
  readonly replica: Replica
  readonly standing: Standing
  readonly stalenessMs: number
  readonly clock: Clock
  /** Milliseconds of the monotonic clock that all processes of the machine share. */
  readonly machineMs: () => number
  readonly log: Log
  readonly facts: () => Omit<MachineFacts, 'clock_ms'>
  /** Takes its name anew. Resolves with an epoch, or with a sentence when it must not. */
  readonly rejoin: () => Promise<number | string>
}

const BEAT_MS = 1_000
/** Machines that began in one moment do not stay in step. */
const BEAT_SPREAD = 0.2
/** Behind a pooler nothing tells of changes, so the log is looked at so often. */
const POLL_MS = 200
const RETRY_MIN_MS = 200
const RETRY_SPREAD_MS = 600

export class FleetMember {
  readonly #options: MemberOptions
  readonly #watch: SilenceWatch
  #self: MachineEpoch
  #live = 1
  #head = 0
  /** What it had was not of the history that the store has now, after a backup was restored say. */
  #isOfOtherHistory = false
  #hasLeft = false
  #isAway = false
  /** What is under way of following the log; calls meanwhile are one more round. */
  #following: Promise<void> | null = null
  #followAgain = false
  #confirmed: string | null = null

  constructor(self: MachineEpoch, options: MemberOptions) {
    this.#self = self
    this.#options = options
    this.#watch = new SilenceWatch(BEAT_MS)
  }

  get self(): MachineEpoch {
    return this.#self
  }

  /** Machines that join or live, itself included, as of its last beat. */
  get live(): number {
    return this.#live
  }

  /**
   * From then on the machine may serve. Rejects with `unavailable` when the store goes away meanwhile; then it may be
   * tried again.
   */
  async enter(): Promise<void> {
    if (!(await this.#goLive())) await this.#joinAnew()
  }

  /** It has everything then that was acknowledged before it counted as live. False when its epoch is over already. */
  async #goLive(): Promise<boolean> {
    const { membership, replica, standing, machineMs, stalenessMs, onStanding } = this.#options
    await replica.catchUp()
    const sentAt = machineMs()
    const answer = await membership.goLive(this.#self, replica.position())
    if (answer === null) return false
    // Whatever was acknowledged without waiting for this machine was committed before it became live.
    await replica.catchUp()
    await membership.confirm(this.#self, replica.position()!)
    standing.extend(sentAt + stalenessMs)
    this.#take(answer)
    onStanding()
    return true
  }

  /** Beats until it leaves. */
  async run(): Promise<void> {
    const { clock } = this.#options
    while (!this.#hasLeft) {
      await sleep(BEAT_MS * (1 - BEAT_SPREAD / 2 + BEAT_SPREAD * Math.random()), clock)
      if (!this.#hasLeft) await this.#beat()
    }
  }

  /** Looks at the log without hints, for those who get none. */
  async poll(): Promise<void> {
    while (!this.#hasLeft) {
      await sleep(POLL_MS, this.#options.clock)
      if (!this.#isAway) await this.follow()
    }
  }

  /** Takes what is new in the change log and says so. Never rejects; what fails now is tried with the next beat. */
  follow(): Promise<void> {
    if (this.#hasLeft) return this.#following ?? Promise.resolve()
    if (this.#following !== null) {
      this.#followAgain = true
      return this.#following
    }
    this.#following = this.#follow().finally(() => {
      this.#following = null
    })
    return this.#following
  }

  /** Nobody waits for this machine from then on, and it serves nobody; its replica is not looked at any more. */
  async leave(): Promise<void> {
    const { membership, standing, onStanding } = this.#options
    this.#hasLeft = true
    standing.fence()
    onStanding()
    await this.#following
    await membership.leave(this.#self)
  }

  /** It goes without a word: others wait for it until they believe it gone. */
  stop(): void {
    this.#hasLeft = true
  }

  async #beat(): Promise<void> {
    const { membership, replica, standing, stalenessMs, machineMs, clock, facts } = this.#options
    try {
      // A machine that cannot take changes must be believed gone in the end, or every change would wait for it.
      if (this.#isBehind()) await this.#catchUp()
      const sentAt = machineMs()
      const silent = this.#watch.silent(clock.monotonicMs())
      const told = { ...facts(), clock_ms: unixMs(clock) }
      const position = replica.position()
      const answer = await membership.beat(this.#self, position, told, silent)
      if (this.#hasLeft) return
      if (answer === null) {
        await this.#joinAnew()
        return
      }
      standing.extend(sentAt + stalenessMs)
      this.#take(answer)
      this.#isOfOtherHistory = answer.applied < (position?.version ?? 0)
      this.#options.onStanding()
      if (this.#isBehind()) await this.follow()
    } catch (error) {
      if (!this.#hasLeft) this.#setAway(true, error)
    }
  }

  #take(answer: BeatAnswer): void {
    const { clock, onBeat } = this.#options
    this.#setAway(false, null)
    this.#head = answer.head
    this.#live = answer.others.length + 1
    this.#watch.observe(answer.others, clock.monotonicMs())
    onBeat({ called: answer.called, live: this.#live })
  }

  #isBehind(): boolean {
    return this.#isOfOtherHistory || (this.#options.replica.position()?.version ?? -1) < this.#head
  }

  async #catchUp(): Promise<void> {
    const { replica, membership } = this.#options
    await replica.catchUp()
    this.#isOfOtherHistory = false
    const position = replica.position()
    if (position === null || position.change === this.#confirmed) return
    const { change } = position
    if (await membership.confirm(this.#self, position)) this.#confirmed = change
  }

  async #follow(): Promise<void> {
    do {
      this.#followAgain = false
      try {
        await this.#catchUp()
      } catch (err) {
        this.#options.log.debug({ err }, 'the change log could not be followed; the next beat tries again')
        return
      }
    } while (this.#followAgain && !this.#hasLeft)
  }

  /** Others have believed it gone, so its keys and leases are nobody's: nothing is served until it has joined anew. */
  async #joinAnew(): Promise<void> {
    const { standing, onStanding, log, clock, rejoin, onRejoined, onRefused } = this.#options
    const former = this.#self.epoch
    log.warn({ epoch: former }, 'other machines have believed this one gone; it joins anew')
    standing.fence()
    onStanding()
    while (!this.#hasLeft) {
      try {
        const joined = await rejoin()
        // It has just reached the store: whatever else it does without one, it does not do now.
        standing.fence()
        onStanding()
        if (typeof joined === 'string') {
          this.#hasLeft = true
          onRefused(joined)
          return
        }
        this.#self = { name: this.#self.name, epoch: joined }
        this.#confirmed = null
        onRejoined(former, joined)
        if (await this.#goLive()) return
      } catch (error) {
        // Without the store it is as any machine without the store.
        standing.unfence()
        onStanding()
        this.#setAway(true, error)
        await sleep(RETRY_MIN_MS + RETRY_SPREAD_MS * Math.random(), clock)
      }
    }
  }

  #setAway(isAway: boolean, err: unknown): void {
    if (this.#isAway === isAway) return
    this.#isAway = isAway
    const { log } = this.#options
    if (isAway) log.error({ err }, 'the heartbeat was not confirmed')
    else log.info({}, 'heartbeats are confirmed again')
  }
}
