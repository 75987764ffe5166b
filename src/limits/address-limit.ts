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
  const [head = '', tail] = address.split('%')[0]!.split('::')
  const front = splitAddressGroups(head)
  const back = tail === undefined ? [] : splitAddressGroups(tail)
  const missing =
    tail === undefined ? 0 : Math.max(0, 8 - countAddressGroups(front) - countAddressGroups(back))
  const groups = [...front, ...Array<string>(missing).fill('0'), ...back].slice(0, 4)
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}

function splitAddressGroups(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

/** An IPv4 address at the end stands for two groups. */
function countAddressGroups(groups: readonly string[]): number {
  return groups.length + (groups.at(-1)?.includes('.') === true ? 1 : 0)
}
