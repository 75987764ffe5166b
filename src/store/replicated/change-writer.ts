/**
 * Carries changes of records out in the log that all machines share, exactly once each.
 *
 * A change runs on the replica as it would in LMDB, with its writes in memory. They are sent as one statement that counts
 * only when the head of the log is still at the position they were made on; else the replica is brought up to date and
 * the change runs again. One that was too slow several times holds the head while it runs. What several callers of a
 * process want at once goes as one change.
 */
import { randomUUID } from 'node:crypto'
import { type Clock, sleep } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { changeWitness } from '../../base/unconfirmed-changes.js'
import type { ReplicaPosition } from '../membership.js'
import type { RevocationBarrier } from '../revocation-barrier.js'
import { type ChangeLog, isSamePosition, type RecordChange } from './change-log.js'
import type { Replica } from './replica.js'

/** Callers whose changes go as one. */
const MOST_TOGETHER = 100
/** Beyond it changes are refused at once. */
const MOST_WAITING = 1_000
/** Tries without holding the head: the rule is one. */
const FREE_TRIES = 3
/** How long what met a failure is tried again. */
const TRY_MS = 1_500
const PAUSE_MS = 20

export type Outcome = { readonly result: unknown } | { readonly error: unknown }

/** What a group of changes has become on a position. */
export interface Attempt extends Omit<RecordChange, 'id'> {
  readonly from: ReplicaPosition
  /** Of each change. */
  readonly outcomes: readonly Outcome[]
}

interface ChangeWriterOptions {
  readonly replica: Replica
  readonly log: ChangeLog
  readonly barrier: Pick<RevocationBarrier, 'pass'>
  readonly clock: Clock
  /** Runs changes one on the other, on the replica as it is; null when it has nothing yet. */
  readonly run: (changes: readonly (() => unknown)[]) => Attempt | null
  /** Brings the replica to the head of the log. */
  readonly catchUp: () => Promise<unknown>
}

interface WaitingChange {
  readonly run: () => unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
  /** Hears which machines have not confirmed it. */
  readonly witness: (machines: readonly string[]) => void
}

interface Finished {
  readonly outcomes: readonly Outcome[]
  /** What all machines must have before it is answered; where nothing was to be changed, the version that says so. */
  readonly version: number
}

export class ChangeWriter {
  readonly #options: ChangeWriterOptions
  readonly #waiting: WaitingChange[] = []
  #working: Promise<void> | null = null

  constructor(options: ChangeWriterOptions) {
    this.#options = options
  }

  /** Resolves with what the change has returned, when it is kept and the barrier has let it through. */
  write<T>(change: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#waiting.length >= MOST_WAITING) {
        reject(new Fault('unavailable', { retryAfter: 1, detail: 'too many changes of records are waiting' }))
        return
      }
      this.#waiting.push({ run: change, resolve, reject, witness: changeWitness() })
      this.#working ??= this.#work()
    })
  }

  /** Tries again for a while when the store was away or refused. */
  async persist<T>(attempt: (isAgain: boolean) => Promise<T>): Promise<T> {
    const { clock } = this.#options
    const until = clock.monotonicMs() + TRY_MS
    for (let isAgain = false; ; isAgain = true) {
      try {
        return await attempt(isAgain)
      } catch (error) {
        if (!(error instanceof Fault) || clock.monotonicMs() >= until) throw error
        await sleep(PAUSE_MS * (1 + 4 * Math.random()), clock)
      }
    }
  }

  /** Resolves when nothing is sent any more. */
  async idle(): Promise<void> {
    await this.#working
  }

  async #work(): Promise<void> {
    // Changes that are asked for in one turn go together.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MOST_TOGETHER)
      try {
        const finished = await this.#carryOut(group.map(({ run }) => run))
        // The next group need not wait until all machines have this one.
        void this.#answer(group, finished)
      } catch (error) {
        if (error instanceof Fault || group.length === 1) for (const { reject } of group) reject(error)
        else await this.#workAlone(group)
      }
    }
    this.#working = null
  }

  /** Of changes that the database refuses together, each by itself: one of them is what it refuses. */
  async #workAlone(group: readonly WaitingChange[]): Promise<void> {
    for (const change of group) {
      try {
        void this.#answer([change], await this.#carryOut([change.run]))
      } catch (error) {
        change.reject(error)
      }
    }
  }

  async #answer(group: readonly WaitingChange[], { outcomes, version }: Finished): Promise<void> {
    try {
      // Also when another caller has made the change already, whose answer still waits: "disabled" is true of all machines.
      const unconfirmed = await this.#options.barrier.pass(version)
      for (const { witness } of group) witness(unconfirmed)
    } catch (error) {
      for (const { reject } of group) reject(error)
      return
    }
    for (const [i, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[i]!
      if ('error' in outcome) reject(outcome.error)
      else resolve(outcome.result as never)
    }
  }

  /** Makes the changes one of the log, or rejects. */
  #carryOut(changes: readonly (() => unknown)[]): Promise<Finished> {
    const { log, catchUp } = this.#options
    const id = randomUUID()
    /** By the version that they would be. */
    const attempts = new Map<number, Attempt>()
    const run = (): Attempt | null => {
      const attempt = this.#options.run(changes)
      if (attempt !== null) attempts.set(attempt.from.version + 1, attempt)
      return attempt
    }
    let tries = 0
    return this.persist(async (isAgain) => {
      for (;;) {
        // What was sent may be kept although it failed.
        const kept = isAgain ? await log.find(id) : null
        if (kept !== null) {
          // Which of the times that it was sent is kept, nobody here knows: the replica takes it from the log.
          await catchUp()
          return { outcomes: attempts.get(kept)!.outcomes, version: kept }
        }
        const attempt = await (tries++ < FREE_TRIES ? this.#tryFreely(id, run) : this.#tryAlone(id, run))
        if (attempt !== null) return this.#finish(id, attempt)
        await catchUp()
      }
    })
  }

  /** Runs on the replica as it is; null when that is not the newest version. */
  async #tryFreely(id: string, run: () => Attempt | null): Promise<Attempt | null> {
    const { log, replica, catchUp } = this.#options
    const attempt = run()
    if (attempt === null) return null
    if (attempt.entries.length > 0)
      return (await log.write({ ...attempt, id }, attempt.from)) ? attempt : null
    // Nothing is to be changed, if what was read was the newest.
    await catchUp()
    return isSamePosition(replica.position(), attempt.from) ? attempt : null
  }

  /** As `#tryFreely`, with the head held, so that no other change comes in between. */
  #tryAlone(id: string, run: () => Attempt | null): Promise<Attempt | null> {
    const { log, replica } = this.#options
    return log.hold(async ({ head, since, write }) => {
      const from = replica.position()
      const delta = from === null || isSamePosition(from, head) ? null : await since(from)
      if (from !== null && delta !== null) await replica.apply(from, delta)
      const attempt = run()
      if (attempt === null || !isSamePosition(attempt.from, head)) return null
      return attempt.entries.length === 0 || (await write({ ...attempt, id })) ? attempt : null
    })
  }

  /**
   * The replica takes over what was written. When it cannot (its disk is full, say), the change stands and nobody is told
   * so: this machine still serves by what it had, until it stops because it cannot confirm the version.
   */
  async #finish(id: string, { from, entries, audit, outcomes }: Attempt): Promise<Finished> {
    const { log, replica, catchUp } = this.#options
    if (entries.length === 0) {
      if (audit.length > 0) await log.appendAudit(id, audit)
      return { outcomes, version: from.version }
    }
    const to = { version: from.version + 1, change: id }
    if (!(await replica.apply(from, { to, entries }))) await catchUp()
    return { outcomes, version: to.version }
  }
}
