/** A limit of calls by client address, over all processes together. */
import { addressBucket } from '../base/caller-address.js'
import { Fault } from '../base/fault.js'
import { isPermit, NO_ANSWER, type QuotaLeases } from './quota-leases.js'

interface AddressRate {
  /** Calls per minute in the long run. */
  readonly perMinute: number
  /** Calls that may come at once after a silence. */
  readonly burst: number
}

const MINUTE_MS = 60_000

/**
 * Lets one call of an address through: null at once, or a promise, which rejects with `rate-limited` and the seconds
 * after which a try makes sense.
 */
export function limitByAddress(
  leases: QuotaLeases,
  { perMinute, burst }: AddressRate,
): (address: string) => Promise<void> | null {
  const rule = { capacity: burst, windowMs: 0, refillPerMs: perMinute / MINUTE_MS }
  return (address) => {
    const quota = { name: `a${addressBucket(address)}`, ...rule }
    if (leases.tryAcquire(quota, 1) !== null) return null
    return leases.acquire(quota, 1).then((outcome) => {
      if (isPermit(outcome)) return
      const waitMs = outcome === NO_ANSWER ? 0 : outcome.resetInMs
      throw new Fault('rate-limited', { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) })
    })
  }
}
