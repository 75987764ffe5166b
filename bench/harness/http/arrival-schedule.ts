/** When the requests of an open loop are due: known before the first one is sent, whatever the server does. */
import { seededRandom } from '../../../src/base/random.js'

export type ArrivalPattern = 'constant' | 'poisson'

/** A stretch of time with one rate; profiles such as a spike or a ramp are several of them. */
export interface RatePhase {
  readonly seconds: number
  /** Requests per second, above 0. */
  readonly rate: number
}

/** Due times of one run, one after the other. */
export interface ArrivalSchedule {
  /** Milliseconds from the start of the run; Infinity once the run is over. */
  next(): number
  /** Length of the run in milliseconds. */
  readonly lengthMs: number
}

/**
 * Due times over `stretches`. `constant`: evenly spaced, the first at 0. `poisson`: independent exponential gaps drawn
 * from `seed`, so that the same seed repeats the same arrivals. Gaps are summed as doubles: over an hour at 10,000/s
 * the error stays below a microsecond.
 */
export function arrivalSchedule(stretches: readonly RatePhase[], pattern: ArrivalPattern, seed: number) {
  const random = seededRandom(seed)
  const gap = pattern === 'constant' ? () => 1 : () => -Math.log(1 - random())
  const lengthMs = stretches.reduce((sum, { seconds }) => sum + seconds * 1000, 0)
  let at = 0
  let stretch = 0
  let began = 0
  // In units of the mean gap: what remains of the gap under way, so that a change of rate takes effect at once.
  let left = pattern === 'constant' ? 0 : gap()
  const next = (): number => {
    for (; stretch < stretches.length; stretch++) {
      const { seconds, rate } = stretches[stretch]!
      const ends = began + seconds * 1000
      const due = at + (left * 1000) / rate
      // Half a nanosecond of tolerance: the sum of gaps must not squeeze one more request in at the very end.
      if (due < ends - 5e-7) {
        at = due
        left = gap()
        return due
      }
      left -= ((ends - at) * rate) / 1000
      if (left < 0) left = 0
      at = ends
      began = ends
    }
    return Number.POSITIVE_INFINITY
  }
  return { next, lengthMs }
}

/** Due times that are known one by one, in milliseconds and in their order; those from `lengthMs` on are left out. */
export function listedSchedule(times: readonly number[], lengthMs: number): ArrivalSchedule {
  let at = 0
  const next = (): number => {
    const due = times[at++] ?? Number.POSITIVE_INFINITY
    return due < lengthMs ? due : Number.POSITIVE_INFINITY
  }
  return { next, lengthMs }
}
