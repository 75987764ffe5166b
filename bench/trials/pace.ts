import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../src/base/histogram.js'

/** A fixed schedule: due times are computed from the start, never from the previous firing. */
export interface Schedule {
  readonly perSecond: number
  /** How many are due at the same moment; the rate stays the same. Default 1. */
  readonly burst?: number
  /** Ends the schedule; without it only `running` does. */
  readonly seconds?: number
  /** True burns CPU in the last milliseconds before a due time: lateness in microseconds instead of milliseconds. */
  readonly precise?: boolean
  /** Asked before each firing; false ends the schedule. */
  readonly running?: () => boolean
}

// Node's timers fire up to about a millisecond late: a precise schedule sleeps that much less and then spins.
const SPIN_MS = 2

/**
 * Calls `fire(due)` for each due time (`performance.now()` milliseconds), late ones too: an open loop neither
 * skips nor slows down when the server or this process stalls. Returns how late the firings were.
 */
export async function pace(schedule: Schedule, fire: (due: number) => void): Promise<Histogram> {
  const lateness = new Histogram()
  const burst = schedule.burst ?? 1
  const gap = (1_000 * burst) / schedule.perSecond
  const start = performance.now()
  const groups = Math.round(((schedule.seconds ?? Number.POSITIVE_INFINITY) * 1_000) / gap)
  for (let group = 0; group < groups; group++) {
    const due = start + group * gap
    await waitUntil(due, schedule.precise ?? false)
    if (schedule.running && !schedule.running()) break
    lateness.record(performance.now() - due)
    for (let i = 0; i < burst; i++) fire(due)
  }
  return lateness
}

async function waitUntil(due: number, precise: boolean): Promise<void> {
  for (let left = due - performance.now(); left > 0; left = due - performance.now()) {
    if (!precise) await sleep(Math.ceil(left))
    else if (left > SPIN_MS) await sleep(Math.floor(left - SPIN_MS) || 1)
    else await spinUntil(due)
  }
}

/** Turns the event loop until the time has come: sockets are served meanwhile, and no promise is made for a turn. */
function spinUntil(due: number): Promise<void> {
  return new Promise((resolve) => {
    const turn = (): void => {
      if (performance.now() >= due) resolve()
      else setImmediate(turn)
    }
    turn()
  })
}
