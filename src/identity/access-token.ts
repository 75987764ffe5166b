/**
 * Access tokens: made for workloads, and taken as bearer (RFC 9068; contract/gateway 10.2, contract/decisions 18, 19
 * and 35).
 */
import { hash } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { newUuidV7 } from '../base/ids.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { ownMember, parseStrictJsonObject } from '../base/strict-json.js'
import type { AccessTokenVerifier } from './authenticate.js'
import { decodeCompactJws, isCompactJws } from './compact-jws.js'
import type { SigningKeys } from './signing-keys.js'
import { MAX_ACCESS_TOKEN_SECONDS } from './signing-ring.js'

/** What an exchange has found out. */
export interface AccessTokenGrant {
  /** `sub` of the subject token. */
  readonly subject: string
  readonly policyId: string
  readonly issuerId: string
  /** Hash of the key the token acts for. */
  readonly keyHash: string
  /** Unix time in seconds at which the subject token expires. */
  readonly subjectExpiresAt: number
}

export interface MintedAccessToken {
  readonly token: string
  readonly id: string
  /** Seconds; whole and at least 1. */
  readonly expiresIn: number
}

export const ACCESS_TOKEN_SCOPE = 'inference'

/**
 * The private claim that names the key a token acts for. The hash is the key's public id: it opens nothing, and
 * what the token may do is decided by the record it leads to, every time.
 */
const KEY_CLAIM = 'key_hash'
const KEY_HASH = /^[0-9a-f]{64}$/

/** Verified tokens remembered at a time; beyond it the oldest goes. About 250 bytes each. */
const MAX_REMEMBERED = 10_000

/**
 * Seconds between two looks at whether the signing keys have changed. A change clears the memory, so tokens of a key
 * that was dropped are refused this much later at most.
 */
const KEY_CHECK_SECONDS = 0.1

interface VerifiedAccessToken {
  readonly keyHash: string
  /** Unix time in seconds. */
  readonly expiresAt: number
}

interface AccessTokenOptions {
  readonly signingKeys: Pick<SigningKeys, 'sign' | 'isSignedByKey' | 'publishes' | 'edition'>
  readonly clock: Clock
  /** Public base URL, without a slash at its end. */
  readonly baseUrl: string
}

export class AccessTokenAuthority implements AccessTokenVerifier {
  private readonly audience: string
  private readonly remembered = new Map<string, VerifiedAccessToken>()
  /** Tokens that are being verified; calls that bring the same one meanwhile wait for the same outcome. */
  private readonly pending = new Map<string, Promise<string | null>>()
  private edition: object | null = null
  private lookedAt = Number.NEGATIVE_INFINITY

  constructor(private readonly options: AccessTokenOptions) {
    this.audience = `${options.baseUrl}/api/v1`
  }

  /**
   * A token of at most 900 seconds that does not outlive the subject token. Null when that has less than a whole
   * second left.
   */
  async mint(grant: AccessTokenGrant): Promise<MintedAccessToken | null> {
    const now = this.options.clock.unixSeconds()
    const issuedAt = Math.floor(now)
    const expiresAt = Math.min(issuedAt + MAX_ACCESS_TOKEN_SECONDS, Math.floor(grant.subjectExpiresAt))
    if (expiresAt <= issuedAt) return null
    const id = newUuidV7(Math.floor(now * 1000))
    const token = await this.options.signingKeys.sign({
      iss: this.options.baseUrl,
      aud: this.audience,
      scope: ACCESS_TOKEN_SCOPE,
      sub: grant.subject,
      client_id: grant.policyId,
      iat: issuedAt,
      exp: expiresAt,
      jti: id,
      federation_policy_id: grant.policyId,
      federation_issuer_id: grant.issuerId,
      [KEY_CLAIM]: grant.keyHash,
    })
    return { token, id, expiresIn: expiresAt - issuedAt }
  }

  /** Whether a token with this `iss` and `kid` can only be one of ours, or wants to look so. */
  seemsIssuedHere(issuer: string, kid: string | null): boolean {
    if (issuer === this.options.baseUrl) return true
    // The name of a key is made from the key, so nobody else has one of that name.
    return kid !== null && this.options.signingKeys.publishes(kid)
  }

  /**
   * Hash of the key a token acts for; null when the token is no good. A token is verified once and then known by
   * the hash of all of it, until it expires; what the store says about the key is for the caller to ask. At once for
   * a token that is remembered, and for a text that does not even look like an access token.
   */
  keyHashOf(token: string): MaybePromise<string | null> {
    this.noticeKeyChange()
    const name = hash('sha256', token, 'base64')
    const known = this.remembered.get(name)
    if (known !== undefined) {
      if (this.isUnexpired(known)) return known.keyHash
      this.remembered.delete(name)
      return null
    }
    const waiting = this.pending.get(name)
    if (waiting !== undefined) return waiting
    const read = decodeAccessToken(token)
    if (read === null) return null
    const learning = this.verifyAndRemember(name, token, read).finally(() => this.pending.delete(name))
    this.pending.set(name, learning)
    return learning
  }

  /**
   * Keys that have changed while the signature was checked may have changed because of this one: it is checked
   * anew.
   */
  private async verifyAndRemember(
    name: string,
    token: string,
    read: DecodedAccessToken,
  ): Promise<string | null> {
    for (;;) {
      const { edition } = this
      const verified = await this.verify(token, read)
      this.noticeKeyChange()
      if (edition !== this.edition) continue
      if (verified === null || !this.isUnexpired(verified)) return null
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.delete(this.remembered.keys().next().value!)
      this.remembered.set(name, verified)
      return verified.keyHash
    }
  }

  private isUnexpired({ expiresAt }: VerifiedAccessToken): boolean {
    return this.options.clock.unixSeconds() < expiresAt
  }

  /** Forgets all when the signing keys have changed: those still good are verified anew. */
  private noticeKeyChange(): void {
    const now = this.options.clock.unixSeconds()
    // A clock that was put back counts as well.
    if (Math.abs(now - this.lookedAt) < KEY_CHECK_SECONDS) return
    this.lookedAt = now
    const edition = this.options.signingKeys.edition()
    if (edition !== this.edition) this.remembered.clear()
    this.edition = edition
  }

  /** The claims for the audit are not read: they say where a token comes from, not what it may do. */
  private async verify(
    token: string,
    { kid, payload }: DecodedAccessToken,
  ): Promise<VerifiedAccessToken | null> {
    if (!(await this.options.signingKeys.isSignedByKey(kid, token))) return null
    const claims = parseStrictJsonObject(payload)
    if (claims === null) return null
    const keyHash = ownMember(claims, KEY_CLAIM)
    const expiresAt = ownMember(claims, 'exp')
    if (ownMember(claims, 'iss') !== this.options.baseUrl) return null
    if (ownMember(claims, 'aud') !== this.audience) return null
    if (typeof keyHash !== 'string' || !KEY_HASH.test(keyHash)) return null
    return typeof expiresAt === 'number' && Number.isFinite(expiresAt) ? { keyHash, expiresAt } : null
  }
}

interface DecodedAccessToken {
  readonly kid: string
  readonly payload: Uint8Array
}

/** Null for a token whose header is not that of an access token (RFC 9068 section 4). */
function decodeAccessToken(token: string): DecodedAccessToken | null {
  const parts = isCompactJws(token) ? decodeCompactJws(token) : null
  const header = parts && parseStrictJsonObject(parts.header)
  if (parts === null || header === null || ownMember(header, 'alg') !== 'ES256') return null
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return null
  const typ = ownMember(header, 'typ')
  const kid = ownMember(header, 'kid')
  if (typeof typ !== 'string' || typeof kid !== 'string') return null
  const isAccessToken = typ.toLowerCase().replace(/^application\//, '') === 'at+jwt'
  return isAccessToken ? { kid, payload: parts.payload } : null
}
