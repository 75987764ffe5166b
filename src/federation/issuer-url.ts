/** Which URLs an issuer may have (OpenID Connect Discovery section 3; contract/decisions 16, 35 and 56). */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { isLoopback, isPublic } from '../upstream/address-guard.js'

const LONGEST_URL = 2048
/** Scheme, authority, the rest. Anything a URL parser would repair, drop or read in its own way is refused. */
const PLAIN_URL = /^(https?):\/\/([^/?#\\@]+)(\/[^?#\\]*)?(\?[^#\\]*)?(#.*)?$/

/** Host and port of an authority without a user. */
const HOST_AND_PORT = /^(\[[^[\]]*\]|[^[\]:]+)(?::([1-9][0-9]{0,4}))?$/
const LONGEST_HOST = 253
/** RFC 1123 section 2.1. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
/** What a URL parser takes for a part of an IPv4 address, and then the whole host for one: `1.2.3` is 1.2.0.3. */
const NUMBER = /^(?:[0-9]+|0x[0-9a-f]*)$/i

/** Why a text cannot be an issuer's URL, as the end of a sentence ("must …"); null when it can. */
export function issuerUrlDefect(text: string, allowLoopback: boolean): string | null {
  return jwksUrlDefect(text, allowLoopback) ?? (text.includes('?') ? 'must have no query' : null)
}

/** As `issuerUrlDefect`, for the URL of a key set, which may have a query. */
export function jwksUrlDefect(text: string, allowLoopback: boolean): string | null {
  if (text.length > LONGEST_URL) return `must have at most ${LONGEST_URL} characters`
  if (!/^[\x21-\x7e]+$/.test(text)) return 'must be printable ASCII without spaces'
  const [, scheme, authority = ''] = PLAIN_URL.exec(text) ?? []
  if (scheme === undefined) {
    return /^https?:\/\/[^/?#]*@/.test(text) ? 'must name no user' : 'must be an absolute https URL'
  }
  if (text.includes('#')) return 'must have no fragment'
  const defect = authorityDefect(authority)
  if (defect !== null) return defect
  return URL.canParse(text) ? hostDefect(new URL(text), allowLoopback) : 'must be an absolute https URL'
}

/** What passes is read by every URL parser as it stands there. */
function authorityDefect(authority: string): string | null {
  const [, host = '', port = '443'] = HOST_AND_PORT.exec(authority) ?? []
  if (host === '' || Number(port) > 65_535) return 'must name a host, and a port from 1 to 65535 if any'
  if (host.startsWith('[')) {
    // Of an interface no host on the network knows anything.
    const isAddress = isIPv6(host.slice(1, -1)) && !host.includes('%')
    return isAddress ? null : 'must name an IPv6 address in its brackets'
  }
  const labels = host.split('.')
  if (NUMBER.test(labels.at(-1)!))
    return isIPv4(host) ? null : 'must write an IPv4 address in four decimal parts'
  const isName = host.length <= LONGEST_HOST && labels.every((label) => LABEL.test(label))
  return isName ? null : 'must name a host in labels of letters, digits and inner hyphens'
}

function hostDefect({ protocol, hostname }: URL, allowLoopback: boolean): string | null {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const here = isIP(host) === 0 ? host === 'localhost' : isLoopback(host)
  if (here && allowLoopback) return null
  if (protocol !== 'https:') return 'must use https'
  if (here) return 'must not name a host of this machine'
  return isIP(host) !== 0 && !isPublic(host) ? 'must not name a private or special address' : null
}

/** Where an issuer's discovery document lies: one trailing slash goes, then the well-known path comes (section 4). */
export function discoveryUrl(issuerUrl: string): string {
  const base = issuerUrl.endsWith('/') ? issuerUrl.slice(0, -1) : issuerUrl
  return `${base}/.well-known/openid-configuration`
}
