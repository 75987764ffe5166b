/**
 * The token a workload brings: from text to checked claims, in the order that is cheapest for us (RFC 7515, 7519,
 * 8725; contract/gateway 10.1, contract/decisions 14, 15 and 19). Nothing here trusts anything the token says about
 * keys: `jwk`, `jku`, `x5u` and their like are not even read.
 */

import type { MaybePromise } from '../base/maybe-promise.js'
import { ownMember, parseStrictJsonObject } from '../base/strict-json.js'
import { decodeCompactJws, isCompactJws, isJwsSignedWith, LONGEST_TOKEN } from '../identity/compact-jws.js'
import type { ExchangeRefusal } from './refusal.js'
import { type ImportedKey, isSubjectTokenAlgorithm, type SubjectTokenAlgorithm } from './verification-key.js'

export interface SubjectClaims {
  readonly issuer: string
  readonly subject: string
  /** Not empty. */
  readonly audiences: readonly string[]
  /** Unix time in seconds, possibly with a fraction. */
  readonly expiresAt: number
  readonly notBefore: number | null
  readonly issuedAt: number | null
  /** Of the list `scopes`; without one, the words of the text `scope` (RFC 8693 section 4.2). Null without both. */
  readonly scopes: readonly string[] | null
  /** Whether they come from the list. */
  readonly areScopesListed: boolean
  /** Null when the claim is absent or no text; then no check on it can pass. */
  readonly tokenType: string | null
}

export interface SubjectToken {
  readonly alg: SubjectTokenAlgorithm
  readonly kid: string | null
  readonly claims: SubjectClaims
  readonly text: string
}

/** The token of a text. Its signature and its times have not been looked at. */
export function parseSubjectToken(text: string): SubjectToken | ExchangeRefusal {
  if (text.length > LONGEST_TOKEN) return 'token-too-long'
  if (!isCompactJws(text)) return 'token-malformed'
  const parts = decodeCompactJws(text)
  if (parts === null) return 'token-encoding'
  const header = readJoseHeader(parts.header)
  if (typeof header === 'string') return header
  const claims = readSubjectClaims(parts.payload)
  if (typeof claims === 'string') return claims
  // Members by name: a spread would cost the engine a shape of its own for every token.
  const { alg, kid } = header
  return { alg, kid, claims, text }
}

function readJoseHeader(bytes: Buffer): Pick<SubjectToken, 'alg' | 'kid'> | ExchangeRefusal {
  const header = parseStrictJsonObject(bytes)
  if (header === null) return 'header-malformed'
  const alg = ownMember(header, 'alg')
  const kid = ownMember(header, 'kid')
  if (typeof alg !== 'string') return 'alg-missing'
  if (!isSubjectTokenAlgorithm(alg)) return 'alg-unsupported'
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return 'crit-present'
  if (kid !== undefined && typeof kid !== 'string') return 'kid-invalid'
  return checkTypHeader(ownMember(header, 'typ')) ?? { alg, kid: kid ?? null }
}

/** A media type (RFC 7515 section 4.1.9): in any case, and with what is usually left out. */
const SUBJECT_TOKEN_TYPE = /^(?:application\/)?(?:jwt|at\+jwt)$/i

/** Any other word names another purpose: logout, security event, proof … (RFC 8725 section 3.11). */
function checkTypHeader(typ: unknown): ExchangeRefusal | null {
  if (typ === undefined) return null
  if (typeof typ !== 'string') return 'typ-invalid'
  return SUBJECT_TOKEN_TYPE.test(typ) ? null : 'typ-other-purpose'
}

function readSubjectClaims(bytes: Buffer): SubjectClaims | ExchangeRefusal {
  const object = parseStrictJsonObject(bytes)
  if (object === null) return 'claims-malformed'
  const issuer = ownMember(object, 'iss')
  const subject = ownMember(object, 'sub')
  const audience = ownMember(object, 'aud')
  const audiences = typeof audience === 'string' ? [audience] : audience
  const expiresAt = ownMember(object, 'exp')
  const notBefore = ownMember(object, 'nbf')
  const issuedAt = ownMember(object, 'iat')
  const scopes = ownMember(object, 'scopes')
  const tokenType = ownMember(object, 'token_type')
  if (!isWellFormedText(issuer)) return 'iss-invalid'
  if (!isWellFormedText(subject) || subject === '') return 'sub-invalid'
  if (!isTextList(audiences) || audiences.length === 0) return 'aud-invalid'
  if (!isNumericDate(expiresAt)) return 'exp-invalid'
  if (notBefore !== undefined && !isNumericDate(notBefore)) return 'nbf-invalid'
  if (issuedAt !== undefined && !isNumericDate(issuedAt)) return 'iat-invalid'
  if (scopes !== undefined && !isTextList(scopes)) return 'scopes-invalid'
  return {
    issuer,
    subject,
    audiences,
    expiresAt,
    notBefore: notBefore ?? null,
    issuedAt: issuedAt ?? null,
    scopes: scopes ?? wordsOf(ownMember(object, 'scope')),
    areScopesListed: scopes !== undefined,
    tokenType: isWellFormedText(tokenType) ? tokenType : null,
  }
}

/** Null for what is no text: the claim `scope` is the issuer's own affair as long as no policy looks at it. */
function wordsOf(scope: unknown): readonly string[] | null {
  return isWellFormedText(scope) ? scope.split(' ').filter((word) => word !== '') : null
}

function isWellFormedText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed()
}

/** JSON can write numbers that are too large for one. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isWellFormedText)
}

/** Whether the token is signed by this key. The key decides on the algorithm; the token's must be the same. */
export function isTokenSignedBy({ alg, text }: SubjectToken, signer: ImportedKey): MaybePromise<boolean> {
  return alg === signer.alg && isJwsSignedWith(text, signer.key)
}

/** Seconds by which clocks of issuers may be ahead of ours (contract/decisions 14). There is no leeway on `exp`. */
const CLOCK_LEEWAY = 60

/**
 * `now` in Unix seconds. On or after `exp` a token has expired (RFC 7519 section 4.1.4). One that expires within the
 * second could only buy a token of no length: ours expire at whole seconds and never later than theirs.
 */
export function checkExpiry({ expiresAt }: SubjectClaims, now: number): ExchangeRefusal | null {
  if (now >= expiresAt) return 'expired'
  return Math.floor(expiresAt) > Math.floor(now) ? null : 'token-too-short-lived'
}

/** `now` in Unix seconds. */
export function checkNotBeforeAndIssuedAt(
  { notBefore, issuedAt }: SubjectClaims,
  now: number,
): ExchangeRefusal | null {
  if (notBefore !== null && notBefore > now + CLOCK_LEEWAY) return 'not-yet-valid'
  return issuedAt !== null && issuedAt > now + CLOCK_LEEWAY ? 'issued-in-future' : null
}

/** Most code points of `sub`, of each `aud` and of each entry of `scopes`. */
export const MAX_CLAIM_CHARS = 512
const MAX_SCOPES = 16

/**
 * Sizes, before any rule is applied to what is in the claims. Providers write long `scope` texts: how long they are
 * concerns only policies that look at scopes.
 */
export function checkClaimSizes(
  { subject, audiences, scopes, areScopesListed }: SubjectClaims,
  looksAtScopes: boolean,
): ExchangeRefusal | null {
  if (!fitsClaimLength(subject)) return 'sub-too-long'
  if (!audiences.every(fitsClaimLength)) return 'aud-too-long'
  if (scopes === null || !(areScopesListed || looksAtScopes)) return null
  if (scopes.length > MAX_SCOPES) return 'scopes-too-many'
  return scopes.every(fitsClaimLength) ? null : 'scopes-too-long'
}

/** Whether a text has at most 512 code points. */
export function fitsClaimLength(text: string): boolean {
  if (text.length <= MAX_CLAIM_CHARS) return true
  return text.length <= 2 * MAX_CLAIM_CHARS && [...text].length <= MAX_CLAIM_CHARS
}
