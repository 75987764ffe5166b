/** Which URLs an issuer may have (OpenID Connect Discovery section 3; contract/decisions 16 and 35). */
import { isIP } from 'node:net'
import { isLoopback, isPublic } from '../upstream/address-guard.js'

const LONGEST_URL = 2048
/** Scheme, authority, the rest. Anything a URL parser would repair, drop or read in its own way is refused. */
const PLAIN_URL = /^(https?):\/\/([^/?#\\@]+)(\/[^?#\\]*)?(\?[^#\\]*)?(#.*)?$/

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
  if (authority.endsWith(':') || !URL.canParse(text)) return 'must be an absolute https URL'
  return hostDefect(new URL(text), allowLoopback)
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
