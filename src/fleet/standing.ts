/**
 * Until when a machine may serve by the records it has: the holder's side of the revocation barrier (contract/fleet 3.1).
 *
 * The time is that of the machine's monotonic clock, which all its processes share, and counts from before the last
 * confirmed beat was sent. A process that was frozen finds it over by itself, without having heard anything.
 */
import { Fault } from '../base/fault.js'
import { ANONYMOUS, type CallerAuthority, type Principal } from '../base/principal.js'

/** Nanoseconds of the machine's monotonic clock in a millisecond. */
const NANOSECONDS = 1e6

/** Milliseconds on the monotonic clock that all processes of a machine share. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / NANOSECONDS
}

/**
 * What `performance.now()` of this process lacks to `machineMs`. The shared clock is read last: a process that is held up
 * in between takes its time for over a little early, and never late.
 */
const OFFSET_MS = ((): number => {
  const own = performance.now()
  return machineMs() - own
})()

const RETRY_AFTER_S = 1
const STALE = new Fault('unavailable', {
  retryAfter: RETRY_AFTER_S,
  detail: 'this machine has had no word from the database for longer than it may serve without',
})

/** Milliseconds of the monotonic clock that all processes of the machine share; not finite before the first beat. */
export interface StandingNotice {
  readonly validUntil: number
  readonly isFenced: boolean
}

/** Whether a machine may serve; every process of it has one. */
export class Standing {
  readonly #refuses: boolean
  readonly #now: () => number
  /** On the clock of `#now`. */
  #validUntil = Number.NEGATIVE_INFINITY
  /** Its epoch is over, and it is about to join anew. */
  #isFenced = false

  /**
   * @param whenAway what happens beyond the limit
   * @param now milliseconds of the machine's monotonic clock
   */
  constructor(whenAway: 'refuse' | 'serve', now: () => number = () => performance.now() + OFFSET_MS) {
    this.#refuses = whenAway === 'refuse'
    this.#now = now
  }

  /** What another process of the machine is to be told. */
  get notice(): StandingNotice {
    return { validUntil: this.#validUntil, isFenced: this.#isFenced }
  }

  /** Takes what the process that beats has told. */
  set(notice: StandingNotice): void {
    this.#validUntil = notice.validUntil
    this.#isFenced = notice.isFenced
  }

  /** A beat that was sent so long before was confirmed; times never go back. */
  extend(validUntil: number): void {
    this.#isFenced = false
    if (validUntil > this.#validUntil) this.#validUntil = validUntil
  }

  /**
   * The epoch of this machine is over: nothing it has known counts any more, and whoever reaches the store to hear that
   * has no reason to serve all the same.
   */
  fence(): void {
    this.#isFenced = true
    this.#validUntil = Number.NEGATIVE_INFINITY
  }

  /** The store has gone before it has joined anew: it is as any machine without the store again. */
  unfence(): void {
    this.#isFenced = false
  }

  /** Whether what the machine knows is fresh enough to decide by. */
  isValid(): boolean {
    return this.#now() < this.#validUntil
  }

  /** Why nothing may be served any more; null while it may. */
  refusal(): Fault | null {
    return !this.isValid() && (this.#refuses || this.#isFenced) ? STALE : null
  }

  /** Throws `unavailable` when nothing may be served any more. */
  check(): void {
    const refusal = this.refusal()
    if (refusal !== null) throw refusal
  }

  /** Does what gives away something that lasts, and gives it only if the machine may serve to the end of it. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    this.check()
    const result = await work()
    this.check()
    return result
  }

  /**
   * An authority that asks this first. It asks after the key was read: a process that is frozen in between has read
   * what no longer counts.
   */
  guard(authority: CallerAuthority): CallerAuthority {
    const admit = (caller: Principal): Principal => {
      this.check()
      return caller
    }
    const refuse = (error: unknown): never => {
      // A key that is not known here may be known to all others.
      this.check()
      throw error
    }
    return {
      authorize: (...asked) => {
        let caller: ReturnType<CallerAuthority['authorize']>
        try {
          caller = authority.authorize(...asked)
        } catch (error) {
          return refuse(error)
        }
        if (caller instanceof Promise) return caller.then(admit, refuse)
        return caller === ANONYMOUS ? caller : admit(caller)
      },
    }
  }
}
