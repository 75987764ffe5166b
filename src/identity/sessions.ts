/** Sessions of browsers: how they begin and end, and whose a call's session is. */
import { hash, randomBytes } from 'node:crypto'
import { type Clock, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Principal, SessionCall } from '../base/principal.js'
import type { RedeemedAttempt, Session, SessionStore } from '../store/session-store.js'
import type { SessionSubject, SessionVerifier } from './authenticate.js'
import { isFromOurPages, REQUEST_HEADER, sessionCookie, sessionSecretIn } from './session-cookie.js'

const SESSION_SECONDS = 8 * 60 * 60
const SECRET_BYTES = 32

const OVER = new Fault('unauthenticated', { detail: 'the session is unknown, has ended or has expired' })
const UNMARKED = new Fault('forbidden', {
  note: `A call by a session that changes something needs the header ${REQUEST_HEADER}: 1`,
})

/** Whose a new session is. */
type SessionOwner = Pick<Session, 'organizationId' | 'keyHash' | 'memberId' | 'providerId'>

export interface NewSession {
  readonly session: Session
  /** A `Set-Cookie`. It holds the secret, which is kept nowhere. */
  readonly cookie: string
}

export class Sessions implements SessionVerifier {
  constructor(
    private readonly store: SessionStore,
    private readonly clock: Clock,
    /** Public base URL, without a slash at its end. */
    private readonly baseUrl: string,
  ) {}

  /** A session that acts as the management key of its caller. */
  async beginForKey({ organizationId, keyHash }: Principal, address: string): Promise<NewSession> {
    return (await this.begin({ organizationId, keyHash, memberId: null, providerId: null }, address, null))!
  }

  /** Null when the attempt was redeemed before. */
  async begin(
    owner: SessionOwner,
    address: string,
    attempt: RedeemedAttempt | null,
  ): Promise<NewSession | null> {
    const secret = randomBytes(SECRET_BYTES).toString('base64url')
    const now = unixMs(this.clock)
    const session: Session = {
      hash: hashOf(secret),
      ...owner,
      address,
      createdAt: now,
      expiresAt: now + SESSION_SECONDS * 1000,
    }
    if (!(await this.store.addSession(session, attempt))) return null
    return { session, cookie: sessionCookie(secret, SESSION_SECONDS) }
  }

  /** A session that another site has brought along is none. What its key or its member is now, the caller asks. */
  subjectOf(call: SessionCall): SessionSubject | Fault | null {
    const cookies = call.header('cookie')
    if (cookies === '' || !isFromOurPages(call, this.baseUrl)) return null
    const secret = sessionSecretIn(cookies)
    if (secret === null) return null
    if (call.method !== 'GET' && call.header('x-sluice-request') !== '1') return UNMARKED
    const session = this.living(hashOf(secret))
    if (session === null) return OVER
    return session.keyHash === null ? { memberId: session.memberId! } : { keyHash: session.keyHash }
  }

  /** The session of a call's cookie, null without; for what has been admitted. */
  ofCookies(cookies: string): Session | null {
    const secret = sessionSecretIn(cookies)
    return secret === null ? null : this.living(hashOf(secret))
  }

  /**
   * Newest first: those of the caller's organization, or of who has signed in its own. A personal key has none: an admin
   * of one workspace can make one that names somebody.
   */
  list(caller: Principal): readonly Session[] {
    const { organizationId, kind, userId } = caller
    const owner = kind === 'management' ? null : kind === 'member' ? userId! : ''
    return this.store.sessionsOf({ organizationId, owner }).filter((session) => this.isLiving(session))
  }

  /** False when there is none, or it is out of the caller's reach: callers cannot tell which. */
  async end(caller: Principal, sessionHash: string): Promise<boolean> {
    const session = this.store.session(sessionHash)
    if (session === null || session.organizationId !== caller.organizationId) return false
    const isOwn = caller.kind === 'member' && session.memberId === caller.userId
    if (caller.kind !== 'management' && !isOwn) return false
    return await this.store.removeSession(sessionHash)
  }

  private living(sessionHash: string): Session | null {
    const session = this.store.session(sessionHash)
    return session !== null && this.isLiving(session) ? session : null
  }

  /** With a provider its sessions go. */
  private isLiving({ expiresAt, providerId }: Session): boolean {
    if (unixMs(this.clock) >= expiresAt) return false
    return providerId === null || this.store.providers.get(providerId) !== null
  }
}

function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}
