/** A limit of calls by a name, over all processes together. */
import { Fault } from '../base/fault.js'
import { isPermit, NO_ANSWER, type QuotaLeases } from './quota-leases.js'

interface BucketRate {
  /** Calls per second in the long run. */
  readonly perSecond: number
  /** Calls that may come at once after a silence. */
  readonly burst: number
  /** Seconds that a refused caller is sent away for at most; without bound when absent. */
  readonly longestWait?: number
}

/** Lets a call through: null at once, or a promise, which rejects with `rate-limited`. */
export type BucketLimit = (name: string) => Promise<void> | null

/**
 * Lets one call of a name through. A refusal says after how many seconds a try makes sense.
 * @param prefix tells the names of one limit from those of others
 */
export function limitByBucket(
  leases: QuotaLeases,
  prefix: string,
  { perSecond, burst, longestWait = Number.POSITIVE_INFINITY }: BucketRate,
): BucketLimit {
  const rule = { capacity: burst, windowMs: 0, refillPerMs: perSecond / 1000 }
  return (name) => {
    const quota = { name: prefix + name, ...rule }
    if (leases.tryAcquire(quota, 1) !== null) return null
    return leases.acquire(quota, 1).then((outcome) => {
      if (isPermit(outcome)) return
      const waitMs = outcome === NO_ANSWER ? 0 : outcome.resetInMs
      const seconds = Math.min(longestWait, Math.max(1, Math.ceil(waitMs / 1000)))
      throw new Fault('rate-limited', { retryAfter: seconds })
    })
  }
}
