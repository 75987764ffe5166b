/**
 * The port of sign-in: sessions of browsers, and the OpenID providers that members sign in with. Records are JSON; times
 * are Unix milliseconds.
 */
import type { OwnedRecord, OwnedRecords } from './federation-store.js'

/** A session of a browser. It acts as a management key, or as a member; one of the two is not null. */
export interface Session {
  /** SHA-256 of the secret in the cookie, lower-case hex: the session's public id. The secret is kept nowhere. */
  readonly hash: string
  readonly organizationId: string
  /** Hash of the key it was made from. */
  readonly keyHash: string | null
  readonly memberId: string | null
  /** Where the member signed in. */
  readonly providerId: string | null
  /** Address of who signed in. */
  readonly address: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** An OpenID provider with which members of one organization sign in. */
export interface SignInProvider extends OwnedRecord {
  readonly name: string
  /** Whose members: those of this connection, or with null those who were added by hand. */
  readonly connectionId: string | null
  /** Equal to `iss`, character by character. */
  readonly issuer: string
  readonly clientId: string
  /** The client's secret under our seal, with the id of the record as its purpose; null for a public client. */
  readonly sealedSecret: string | null
  /** The claim of an ID token that is a member's `externalId`. */
  readonly subjectClaim: string
  /** What is asked for, `openid` among it. */
  readonly scopes: readonly string[]
}

/** Whose sessions: all of an organization, or those of one owner, which is a key's hash or a member's id. */
interface SessionScope {
  readonly organizationId: string
  readonly owner: string | null
}

/**
 * Reads see every change that was acknowledged before the read began, by any process. Changes resolve when they are kept
 * and every worker and machine of the fleet goes by them, and fail with `unavailable` when the store cannot take them.
 */
export interface SessionStore {
  /** One that has expired included, for a while; null for what is no hash. About a microsecond: ask on every call. */
  session(hash: string): Session | null
  /** Newest first, those that have expired included. */
  sessionsOf(scope: SessionScope): readonly Session[]
  /**
   * Keeps a session, and lets the oldest of its owner and of its organization go beyond what is kept.
   * @param attempt what was redeemed for it, which is so once: another session for it is refused with false
   */
  addSession(session: Session, attempt: RedeemedAttempt | null): Promise<boolean>
  isRedeemed(attemptHash: string): boolean
  /** True when this call removed it. */
  removeSession(hash: string): Promise<boolean>
  /** Members can sign in with a provider no more when it is removed, and its sessions are none. */
  readonly providers: OwnedRecords<SignInProvider>
}

/** An attempt to sign in that has succeeded. It has to be remembered as long as it could be tried again. */
export interface RedeemedAttempt {
  /** SHA-256, lower-case hex. */
  readonly hash: string
  readonly expiresAt: number
}
