/** A limit of calls by client address, over all processes together. */
import { isIPv6 } from 'node:net'
import { Fault } from '../base/fault.js'
import { isPermit, NO_ANSWER, type QuotaLeases } from './quota-leases.js'

interface AddressRate {
  /** Calls per minute in the long run. */
  readonly perMinute: number
  /** Calls that may come at once after a silence. */
  readonly burst: number
}

const MINUTE_MS = 60_000
/** Of an IPv6 address, 16 bits each. */
const GROUPS = 8

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

/**
 * The bucket that a client address draws from: the address itself; of IPv6 the first 64 bits, because every subscriber
 * has at least that many addresses and could otherwise use each of them once.
 */
export function addressBucket(address: string): string {
  if (!isIPv6(address)) return address
  // A URL has one way to write an address: without an IPv4 address at its end, and without leading zeros.
  const { hostname } = new URL(`http://[${address.split('%')[0]}]`)
  const [front, back = []] = hostname.slice(1, -1).split('::').map(splitGroups) as [string[], string[]?]
  const zeros = Array<string>(GROUPS - front.length - back.length).fill('0')
  return `${[...front, ...zeros, ...back].slice(0, GROUPS / 2).join(':')}::/64`
}

function splitGroups(text: string): string[] {
  return text === '' ? [] : text.split(':')
}
