import { BlockList, isIP, isIPv6 } from 'node:net'

/** Of an IPv6 address, 16 bits each. */
const GROUPS = 8

/** Tells whether a peer is a proxy the operator declared. */
export type TrustedProxies = (address: string) => boolean

/**
 * Turns a list of addresses and CIDR ranges into a predicate.
 * Throws a TypeError that names the entry when one is neither.
 */
export function createTrustedProxies(entries: readonly string[]): TrustedProxies {
  if (entries.length === 0) return () => false
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix, ...more] = entry.split('/')
    const family = isIP(address)
    const bits = prefix === undefined ? undefined : /^[0-9]{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN
    const most = family === 6 ? 128 : 32
    if (family === 0 || more.length > 0 || (bits !== undefined && !(bits <= most))) {
      throw new TypeError(`"${entry}" is neither an address nor a CIDR range`)
    }
    const type = family === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, bits, type)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Writes an IPv4-mapped IPv6 address, as a dual-stack socket reports it, in its IPv4 form. */
export function unmapIpv4(address: string): string {
  const mapped = /^(?:::ffff:|0000:0000:0000:0000:0000:ffff:)(.+)$/i.exec(address)
  if (mapped === null) return address
  const tail = mapped[1]!
  if (isIP(tail) === 4) return tail
  const words = /^([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(tail)
  if (words === null) return address
  const high = Number.parseInt(words[1]!, 16)
  const low = Number.parseInt(words[2]!, 16)
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/**
 * The caller's address (contract/decisions 22): the socket's peer, unless that is a declared proxy; then the
 * right-most entry of X-Forwarded-For that is not one itself. An entry that is no address ends the search.
 */
export function callerAddress(peer: string, forwardedFor: string, trusted: TrustedProxies): string {
  let address = unmapIpv4(peer)
  const hops = forwardedFor === '' ? [] : forwardedFor.split(',')
  while (trusted(address)) {
    const hop = hops.pop()?.trim()
    if (hop === undefined || isIP(hop) === 0) break
    address = unmapIpv4(hop)
  }
  return address
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
