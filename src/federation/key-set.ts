/** From an issuer to its key set: discovery where it is needed, then the set itself (OpenID Connect Discovery, RFC 7517). */
import { type JsonObject, member } from '../base/strict-json.js'
import type { FetchJson, NoDocument } from '../upstream/fetch-json.js'
import { discoveryUrl, issuerUrlDefect, jwksUrlDefect } from './issuer-url.js'
import { type VerificationKey, verificationKey } from './verification-key.js'

export interface KeySet {
  /** URL it came from. */
  readonly location: string
  /** Those of its keys that are of use. */
  readonly keys: readonly VerificationKey[]
}

type FetchedKeySet = { readonly ok: true; readonly set: KeySet } | NoDocument
type Located = { readonly ok: true; readonly location: string } | NoDocument

interface FetchRules {
  /** Milliseconds until the deadline that discovery and key set share. */
  readonly timeLeft: () => number
  readonly allowLoopback: boolean
}

/** Most members of a set. */
const MOST_KEYS = 100

/** `known` is a location that discovery has told before. Never rejects. */
export async function fetchKeySet(
  fetch: FetchJson,
  source: { readonly issuerUrl: string; readonly jwksUrl: string | null },
  known: string | null,
  rules: FetchRules,
): Promise<FetchedKeySet> {
  const location = source.jwksUrl ?? known
  const located = location === null ? await discover(fetch, source.issuerUrl, rules) : ok(location)
  if (!located.ok) return located
  const defect = jwksUrlDefect(located.location, rules.allowLoopback)
  if (defect !== null) return no(`the URL of the key set ${defect}`)
  const fetched = await fetch(located.location, rules.timeLeft())
  return fetched.ok ? await readKeySet(located.location, fetched.value) : no(`key set: ${fetched.reason}`)
}

async function discover(fetch: FetchJson, issuerUrl: string, rules: FetchRules): Promise<Located> {
  const defect = issuerUrlDefect(issuerUrl, rules.allowLoopback)
  if (defect !== null) return no(`the URL of the issuer ${defect}`)
  const fetched = await fetch(discoveryUrl(issuerUrl), rules.timeLeft())
  if (!fetched.ok) return no(`discovery: ${fetched.reason}`)
  if (member(fetched.value, 'issuer') !== issuerUrl) return no('discovery: the document is of another issuer')
  const location = member(fetched.value, 'jwks_uri')
  return typeof location === 'string' ? ok(location) : no('discovery: the document names no key set')
}

async function readKeySet(location: string, document: JsonObject): Promise<FetchedKeySet> {
  const members = member(document, 'keys')
  if (!Array.isArray(members)) return no('key set: the document has no list of keys')
  if (members.length > MOST_KEYS) return no(`key set: more than ${MOST_KEYS} keys`)
  const keys = await Promise.all(members.map(verificationKey))
  return { ok: true, set: { location, keys: keys.filter((key) => key !== null) } }
}

function ok(location: string): Located {
  return { ok: true, location }
}

function no(reason: string): NoDocument {
  return { ok: false, reason }
}
