/** From an issuer to its key set: discovery where it is needed, then the set itself (OpenID Connect Discovery, RFC 7517). */
import { type JsonObject, ownMember } from '../base/strict-json.js'
import type { FetchJson, JsonFetchFailure } from '../upstream/fetch-json.js'
import { discoveryUrl, issuerUrlDefect, jwksUrlDefect } from './issuer-url.js'
import { importVerificationKey, type VerificationKey } from './verification-key.js'

export interface IssuerKeySet {
  /** URL it came from. */
  readonly location: string
  /** Those of its keys that are of use. */
  readonly keys: readonly VerificationKey[]
}

type KeySetResult = { readonly ok: true; readonly set: IssuerKeySet } | JsonFetchFailure
type KeySetUrlResult = { readonly ok: true; readonly location: string } | JsonFetchFailure

interface KeySetFetchRules {
  /** Milliseconds until the deadline that discovery and key set share. */
  readonly timeLeft: () => number
  readonly allowLoopback: boolean
}

/** Most members of a set. */
const MAX_KEYS = 100

/** `known` is a location that discovery has told before. Never rejects. */
export async function fetchKeySet(
  fetch: FetchJson,
  source: { readonly issuerUrl: string; readonly jwksUrl: string | null },
  known: string | null,
  rules: KeySetFetchRules,
): Promise<KeySetResult> {
  const location = source.jwksUrl ?? known
  const located =
    location === null ? await discoverKeySetUrl(fetch, source.issuerUrl, rules) : foundKeySetUrl(location)
  if (!located.ok) return located
  const defect = jwksUrlDefect(located.location, rules.allowLoopback)
  if (defect !== null) return noDocument(`the URL of the key set ${defect}`)
  const fetched = await fetch(located.location, rules.timeLeft())
  return fetched.ok
    ? await readKeySet(located.location, fetched.value)
    : noDocument(`key set: ${fetched.reason}`)
}

async function discoverKeySetUrl(
  fetch: FetchJson,
  issuerUrl: string,
  rules: KeySetFetchRules,
): Promise<KeySetUrlResult> {
  const defect = issuerUrlDefect(issuerUrl, rules.allowLoopback)
  if (defect !== null) return noDocument(`the URL of the issuer ${defect}`)
  const fetched = await fetch(discoveryUrl(issuerUrl), rules.timeLeft())
  if (!fetched.ok) return noDocument(`discovery: ${fetched.reason}`)
  if (ownMember(fetched.value, 'issuer') !== issuerUrl)
    return noDocument('discovery: the document is of another issuer')
  const location = ownMember(fetched.value, 'jwks_uri')
  return typeof location === 'string'
    ? foundKeySetUrl(location)
    : noDocument('discovery: the document names no key set')
}

async function readKeySet(location: string, document: JsonObject): Promise<KeySetResult> {
  const members = ownMember(document, 'keys')
  if (!Array.isArray(members)) return noDocument('key set: the document has no list of keys')
  if (members.length > MAX_KEYS) return noDocument(`key set: more than ${MAX_KEYS} keys`)
  const keys = await Promise.all(members.map(importVerificationKey))
  return { ok: true, set: { location, keys: keys.filter((key) => key !== null) } }
}

function foundKeySetUrl(location: string): KeySetUrlResult {
  return { ok: true, location }
}

function noDocument(reason: string): JsonFetchFailure {
  return { ok: false, reason }
}
