/** The revocation barrier over the rows of the machines: asks who is behind until nobody is. */
import { type Clock, sleep } from '../base/clock.js'
import type { MachineEpoch, Membership } from '../store/membership.js'
import type { RevocationBarrier } from '../store/revocation-barrier.js'
import { SilenceWatch } from './silence-watch.js'

interface BarrierOptions {
  readonly membership: Pick<Membership, 'behind' | 'expire'>
  readonly clock: Clock
  /** The machine that has what it changes by itself, as it is now; null for none. */
  readonly self: () => MachineEpoch | null
}

/** Machines that follow the log confirm within milliseconds; one that does not may take seconds. */
const FIRST_POLL_MS = 2
const POLL_GROWTH = 1.5
const MOST_POLL_MS = 200
/** A slow store is no gap. */
const LOOK_MS = 1_000

interface BarrierWaiter {
  readonly version: number
  readonly pass: (unconfirmed: readonly string[]) => void
  readonly fail: (error: unknown) => void
}

/** All who wait share the questions. */
export class MembershipBarrier implements RevocationBarrier {
  readonly #options: BarrierOptions
  readonly #watch: SilenceWatch
  #waiting: BarrierWaiter[] = []
  #isAsking = false

  constructor(options: BarrierOptions) {
    this.#options = options
    this.#watch = new SilenceWatch(LOOK_MS)
  }

  pass(version: number): Promise<readonly string[]> {
    return new Promise((pass, fail) => {
      this.#waiting.push({ version, pass, fail })
      if (!this.#isAsking) void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    const { clock } = this.#options
    this.#isAsking = true
    let pauseMs = FIRST_POLL_MS
    while (this.#waiting.length > 0) {
      // A copy: who comes while the answer is on its way was not asked about.
      const asked = [...this.#waiting]
      try {
        await this.#askOnce(asked)
      } catch (error) {
        this.#waiting = this.#waiting.filter((waiter) => !asked.includes(waiter))
        for (const { fail } of asked) fail(error)
      }
      if (this.#waiting.length === 0) break
      const hasNews = this.#waiting.some((waiter) => !asked.includes(waiter))
      pauseMs = hasNews ? FIRST_POLL_MS : Math.min(MOST_POLL_MS, pauseMs * POLL_GROWTH)
      await sleep(pauseMs, clock)
    }
    this.#isAsking = false
  }

  /** Lets those through whose version nobody lacks. Their changes were committed before the question was sent. */
  async #askOnce(asked: readonly BarrierWaiter[]): Promise<void> {
    const { membership, clock, self } = this.#options
    const newest = Math.max(...asked.map(({ version }) => version))
    const behind = await membership.behind(newest, self())
    const now = clock.monotonicMs()
    const awaited = behind.filter(({ isAwaited }) => isAwaited)
    const serving = behind.filter(({ isAwaited }) => !isAwaited)
    this.#watch.observe(awaited, now)
    const silent = this.#watch.silent(now)
    if (silent.length > 0) await membership.expire(silent)
    const oldest = Math.min(...awaited.map(({ applied }) => applied))
    const passed = asked.filter(({ version }) => version <= oldest)
    this.#waiting = this.#waiting.filter((waiter) => !passed.includes(waiter))
    for (const { version, pass } of passed) {
      pass(serving.filter(({ applied }) => applied < version).map(({ name }) => name))
    }
  }
}
