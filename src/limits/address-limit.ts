/** A limit of calls by client address, over all processes together. */
import { addressBucket } from '../base/caller-address.js'
import { type BucketLimit, limitByBucket } from './bucket-limit.js'
import type { QuotaLeases } from './quota-leases.js'

interface AddressRate {
  /** Calls per minute in the long run. */
  readonly perMinute: number
  /** Calls that may come at once after a silence. */
  readonly burst: number
}

/** Lets one call of an address through. */
export function limitByAddress(leases: QuotaLeases, { perMinute, burst }: AddressRate): BucketLimit {
  const limit = limitByBucket(leases, 'a', { perSecond: perMinute / 60, burst })
  return (address) => limit(addressBucket(address))
}
