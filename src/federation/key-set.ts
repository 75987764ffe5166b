/**
 * From an issuer to its key set: discovery where it is needed, then the set itself (OpenID Connect Discovery, RFC
 * 7517).
 */
import { ownMember } from '../base/strict-json.js'
import type { FetchJson } from '../upstream/fetch-json.js'
import { discoveryUrl, issuerUrlDefect, jwksUrlDefect } from './issuer-url.js'
import { VerificationKey } from './verification-key.js'

export interface IssuerKeySet {
  /** URL it came from. */
  readonly location: string
  /** Those of its keys that may be of use. */
  readonly keys: readonly VerificationKey[]
  /** How many there are in it, of whatever use. */
  readonly total: number
}

/** An issuer's keys cannot be had; the message is the reason for whoever has saved the issuer. */
export class KeySetUnavailable extends Error {
  constructor(
    reason: string,
    /** For the log, which may know more. */
    readonly detail = reason,
  ) {
    super(reason)
  }
}

interface KeySetFetchRules {
  /** Milliseconds until the deadline that discovery and key set share. */
  readonly timeLeft: () => number
  readonly allowLoopback: boolean
}

/** Most members of a set. */
const MAX_KEYS = 100

/** `known` is a location that discovery has told before. Rejects with `KeySetUnavailable`. */
export async function fetchKeySet(
  fetch: FetchJson,
  source: { readonly issuerUrl: string; readonly jwksUrl: string | null },
  known: string | null,
  rules: KeySetFetchRules,
): Promise<IssuerKeySet> {
  const location = source.jwksUrl ?? known ?? (await discoverKeySetUrl(fetch, source.issuerUrl, rules))
  const defect = jwksUrlDefect(location, rules.allowLoopback)
  if (defect !== null) throw new KeySetUnavailable(`the URL of the key set ${defect}`)
  const fetched = await fetch(location, rules.timeLeft())
  if (!fetched.ok) throw unavailable('key set', fetched)
  const members = ownMember(fetched.value, 'keys')
  if (!Array.isArray(members)) throw new KeySetUnavailable('key set: the document has no list of keys')
  if (members.length > MAX_KEYS) throw new KeySetUnavailable(`key set: more than ${MAX_KEYS} keys`)
  const keys = members.map(VerificationKey.read).filter((key) => key !== null)
  return { location, keys, total: members.length }
}

async function discoverKeySetUrl(
  fetch: FetchJson,
  issuerUrl: string,
  rules: KeySetFetchRules,
): Promise<string> {
  const defect = issuerUrlDefect(issuerUrl, rules.allowLoopback)
  if (defect !== null) throw new KeySetUnavailable(`the URL of the issuer ${defect}`)
  const fetched = await fetch(discoveryUrl(issuerUrl), rules.timeLeft())
  if (!fetched.ok) throw unavailable('discovery', fetched)
  if (ownMember(fetched.value, 'issuer') !== issuerUrl) {
    throw new KeySetUnavailable('discovery: the document is of another issuer')
  }
  const location = ownMember(fetched.value, 'jwks_uri')
  if (typeof location === 'string') return location
  throw new KeySetUnavailable('discovery: the document names no key set')
}

function unavailable(
  document: 'discovery' | 'key set',
  { reason, detail = reason }: { readonly reason: string; readonly detail?: string },
): KeySetUnavailable {
  return new KeySetUnavailable(`${document}: ${reason}`, `${document}: ${detail}`)
}
