/**
 * Which addresses may be dialled for callers who name a host (contract/decisions 16, 35 and 40). The decision is
 * taken on the address itself at the moment of dialling: names can change their mind, and URLs have many spellings.
 */
import { type LookupAddress, type LookupOptions, lookup, Resolver } from 'node:dns'
import { BlockList, isIP } from 'node:net'

/** Whether a socket may be opened to an IP address. `secure` when TLS will be spoken. */
export type AddressGuard = (address: string, secure: boolean) => boolean

type AddressRange = readonly [network: string, bits: number]

const LOOPBACK: readonly AddressRange[] = [
  ['127.0.0.0', 8],
  ['::1', 128],
]

const SPECIAL_4: readonly AddressRange[] = [
  ['0.0.0.0', 8], // this network, unspecified
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // carrier-grade NAT; one cloud's metadata
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // the host agent of one cloud, on a public address
  ['169.254.0.0', 16], // link-local; most clouds' metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments; one cloud's metadata
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarking
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
]

/**
 * Only this much of IPv6 is handed out as global unicast. What lies outside needs no row: unspecified, loopback,
 * mapped and compatible IPv4, NAT64, discard, unique local, link-local, site-local, multicast.
 */
const GLOBAL_6: AddressRange = ['2000::', 3]
const SPECIAL_6: readonly AddressRange[] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarking, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, an IPv4 address in disguise
  ['3fff::', 20], // documentation
]

const loopback = blockListOf(LOOPBACK)
const special4 = blockListOf(SPECIAL_4)
const global6 = blockListOf([GLOBAL_6])
const special6 = blockListOf(SPECIAL_6)

function blockListOf(ranges: readonly AddressRange[]): BlockList {
  const list = new BlockList()
  for (const [network, bits] of ranges) list.addSubnet(network, bits, isIP(network) === 6 ? 'ipv6' : 'ipv4')
  return list
}

/** 127.0.0.0/8 or ::1, in no disguise. */
export function isLoopback(address: string): boolean {
  const family = familyOf(address)
  if (family === null || (family === 'ipv6' && !/^[0:]+1$/.test(address))) return false
  return loopback.check(address, family)
}

/** Whether an address is that of an ordinary host of the public Internet. */
export function isPublic(address: string): boolean {
  const family = familyOf(address)
  if (family === null) return false
  if (family === 'ipv4') return !special4.check(address, family)
  return global6.check(address, family) && !special6.check(address, family)
}

/** Null for what is no address, and for one that is bound to an interface. */
function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const family = isIP(address)
  if (family === 0 || address.includes('%')) return null
  return family === 6 ? 'ipv6' : 'ipv4'
}

/**
 * Lets public addresses through over TLS. With `allowLoopback` (SLUICE_ALLOW_LOOPBACK_ISSUERS) loopback as well, also
 * without TLS; nothing else is ever dialled without.
 */
export function addressGuard(allowLoopback: boolean): AddressGuard {
  return (address, secure) => (secure && isPublic(address)) || (allowLoopback && isLoopback(address))
}

/**
 * For files that callers name: lets public addresses through, also without TLS, as the web has them. With
 * `allowLoopback` (SLUICE_ALLOW_LOOPBACK_FILES) loopback as well.
 */
export function fileAddressGuard(allowLoopback: boolean): AddressGuard {
  return (address) => isPublic(address) || (allowLoopback && isLoopback(address))
}

/** The error of a dial that was refused. Names the address, which is the resolver's word, not the caller's. */
export class AddressRefused extends Error {
  readonly code = 'SLUICE_ADDRESS_REFUSED'

  constructor(address: string) {
    super(`the address ${address} may not be dialled`)
  }
}

export type DnsLookup = typeof lookup

type LookupCallback = (error: Error | null, address: string | LookupAddress[], family?: number) => void

type AddressesCallback = (error: Error | null, addresses: LookupAddress[]) => void

/** Of a name server, for the first try; the second takes twice as long. */
const NAME_SERVER_MS = 1_000

/**
 * Asks the name servers itself. The system's resolver has two threads of a process for all names: of a name whose
 * servers are silent it holds one for many seconds, and the names of others, providers among them, would wait.
 * @param servers addresses with ports; by default those of the system
 */
export function nameResolver(servers: readonly string[] | null = null): DnsLookup {
  const resolve = (host: string, options: LookupOptions, callback: AddressesCallback): void => {
    if (host === 'localhost') {
      lookup(host, { ...options, all: true }, callback) // no name server knows it
      return
    }
    // One for each name: it reads what the system's name servers are now.
    const resolver = new Resolver({ timeout: NAME_SERVER_MS, tries: 2 })
    if (servers !== null) resolver.setServers(servers)
    const found: LookupAddress[] = []
    let pending = 2
    const takeOf =
      (family: 4 | 6) =>
      (error: Error | null, addresses: readonly string[] = []): void => {
        for (const address of addresses) found.push({ address, family })
        pending--
        if (pending === 0) callback(found.length === 0 ? error : null, found)
      }
    resolver.resolve4(host, takeOf(4))
    resolver.resolve6(host, takeOf(6))
  }
  return resolve as unknown as DnsLookup
}

/**
 * A resolver, in the shape that sockets take, which only tells addresses the guard lets through. When none is left
 * the dial fails before a packet is sent.
 */
export function guardedLookup(guard: AddressGuard, secure: boolean, resolve = nameResolver()): DnsLookup {
  const guarded = (host: string, options: LookupOptions, callback: LookupCallback): void => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const allowed = addresses.filter(({ address }) => guard(address, secure))
      const [first] = allowed
      if (first === undefined) return callback(new AddressRefused(addresses[0]?.address ?? 'of nothing'), [])
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
  }
  return guarded as unknown as DnsLookup
}
