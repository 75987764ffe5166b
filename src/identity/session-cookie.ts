/**
 * The cookies of a sign-in, and when one counts. `__Host-` binds a cookie to this host, to https and to no path, so that
 * neither a neighbouring host nor a page in the clear can set one (RFC 6265bis section 4.1.3.2).
 */
import { isLoopbackHost } from '../base/host-port.js'
import type { SessionCall } from '../base/principal.js'

const SESSION_COOKIE = '__Host-sluice-session'
const ATTEMPT_COOKIE = '__Host-sluice-sign-in'

/** What a page has to send with a call that changes something: no form and no link can. */
export const REQUEST_HEADER = 'X-Sluice-Request'

const SHARED_ATTRIBUTES = 'Path=/; Secure; HttpOnly'

/** A `Set-Cookie` for a session. No request that another site has caused brings it along. */
export function sessionCookie(secret: string, maxAgeS: number): string {
  return `${SESSION_COOKIE}=${secret}; ${SHARED_ATTRIBUTES}; SameSite=Strict; Max-Age=${maxAgeS}`
}

/** A `Set-Cookie` for an attempt to sign in: the provider's redirect back has to bring it along. */
export function attemptCookie(sealed: string, maxAgeS: number): string {
  return `${ATTEMPT_COOKIE}=${sealed}; ${SHARED_ATTRIBUTES}; SameSite=Lax; Max-Age=${maxAgeS}`
}

export const NO_SESSION_COOKIE = sessionCookie('', 0)
export const NO_ATTEMPT_COOKIE = attemptCookie('', 0)

/** The secret of a session in a `Cookie` header; null when there is none. */
export function sessionSecretIn(cookies: string): string | null {
  const value = cookieIn(cookies, SESSION_COOKIE)
  return value !== null && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : null
}

export function sealedAttemptIn(cookies: string): string | null {
  return cookieIn(cookies, ATTEMPT_COOKIE)
}

/**
 * Null as well for two with one name, of which one is not from here: a browser keeps a single `__Host-` cookie of a name.
 * Only blanks and tabs around a name go. `trim` would take other white space as well, and with it in front a name has no
 * prefix to a browser: a neighbouring host could set that cookie.
 */
function cookieIn(cookies: string, name: string): string | null {
  if (!cookies.includes(name)) return null
  let found: string | null = null
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=')
    if (equals < 0 || withoutBlanks(pair.slice(0, equals)) !== name) continue
    if (found !== null) return null
    found = withoutBlanks(pair.slice(equals + 1))
  }
  return found
}

/** In one pass, whatever the text: an expression would go back over it at each blank. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && BLANKS.includes(text[start]!)) start++
  while (end > start && BLANKS.includes(text[end - 1]!)) end--
  return text.slice(start, end)
}

const BLANKS = ' \t'

/**
 * Whether a page of ours has caused a call, by what browsers say of it and no page can change: `Sec-Fetch-Site`, or
 * where an old one lacks it, an `Origin` that is ours. `none` is what somebody has typed or chosen, which reads only.
 */
export function isFromOurPages(call: SessionCall, baseUrl: string): boolean {
  const site = call.header('sec-fetch-site')
  if (site !== '') return site === 'same-origin' || (site === 'none' && call.method === 'GET')
  const origin = call.header('origin')
  return origin !== '' && isOurOrigin(origin, call.header('host'), baseUrl)
}

/** Under the base URL, or under the name by which the caller has just called us. */
function isOurOrigin(origin: string, host: string, baseUrl: string): boolean {
  if (origin === new URL(baseUrl).origin || origin === `https://${host}`) return true
  return origin === `http://${host}` && isLoopbackHost(host)
}

/**
 * Whether the browser takes a cookie that is for https alone. It does on its own machine as well; elsewhere this server
 * speaks TLS, or a proxy says so, or the base URL. Who lies here gets a cookie that its own browser drops.
 */
export function isSecurePlace(
  { host, forwardedProto }: { readonly host: string; readonly forwardedProto: string },
  { baseUrl, hasTls }: { readonly baseUrl: string; readonly hasTls: boolean },
): boolean {
  if (hasTls || isLoopbackHost(host)) return true
  const base = new URL(baseUrl)
  const told = forwardedProto.split(',').at(-1)!.trim().toLowerCase()
  return told === 'https' || (base.protocol === 'https:' && base.host === host)
}
