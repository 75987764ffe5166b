/**
 * The sign-in of members: the code flow from its begin to a session. A member is found by the subject of its directory
 * and never by a mail address. What an attempt has to remember lies sealed in a cookie of the browser that made it, so
 * that nobody who is not signed in makes this server write; that it was redeemed is kept with the session.
 */
import { hash, randomBytes } from 'node:crypto'
import { type Clock, unixMs } from '../../base/clock.js'
import type { DirectoryMembers, Member } from '../../store/directory-store.js'
import type { SessionStore, SignInProvider } from '../../store/session-store.js'
import type { Sealer } from '../sealing-key.js'
import { attemptCookie, sealedAttemptIn } from '../session-cookie.js'
import type { NewSession, Sessions } from '../sessions.js'
import type { OpenIdProviders, SignInSecrets } from './openid-provider.js'

const ATTEMPT_SECONDS = 600
const SECRET_BYTES = 32
const PURPOSE = 'sign-in'
/** Members that are looked at for a subject: more than one is too many already. */
const MOST_LOOKED_AT = 50
/** Of a subject claim; longer ones are nobody's. */
const LONGEST_SUBJECT = 512

/** Why a sign-in has failed, as far as the person may know. */
export type SignInRefusal = 'not-begun' | 'declined' | 'unverified' | 'unreachable' | 'no-member'

type Refused = { readonly ok: false; readonly refusal: SignInRefusal }

/** Where to send the browser, and the cookie it needs to come back. */
type SignInBegin = { readonly ok: true; readonly location: string; readonly cookie: string } | Refused

type SignInOutcome = { readonly ok: true; readonly session: NewSession; readonly returnTo: string } | Refused

interface SignInCaller {
  readonly requestId: string
  readonly address: string
}

/** What happened, for the audit. */
export interface SignInEvent extends SignInCaller {
  readonly provider: SignInProvider
  /** Id of the member, or the subject that is nobody's; null when the provider vouched for none. */
  readonly actor: string | null
  /** Null for a success. */
  readonly reason: string | null
}

interface SignInOptions {
  readonly store: SessionStore
  readonly members: Pick<DirectoryMembers, 'membersOf'>
  readonly sessions: Sessions
  readonly openid: Pick<OpenIdProviders, 'authorizationUrl' | 'redeem'>
  readonly sealer: Sealer
  readonly clock: Clock
  readonly record: (event: SignInEvent) => void
}

/** What is under the seal of the cookie. */
interface Attempt extends SignInSecrets {
  readonly providerId: string
  readonly returnTo: string
  readonly expiresAt: number
}

export class SignIn {
  constructor(private readonly options: SignInOptions) {}

  /** Null when there is no such provider. */
  issuerOf(providerId: string): string | null {
    return this.options.store.providers.get(providerId)?.issuer ?? null
  }

  /** Null when there is no such provider. */
  async begin(providerId: string, returnTo: string, caller: SignInCaller): Promise<SignInBegin | null> {
    const provider = this.options.store.providers.get(providerId)
    if (provider === null) return null
    const secrets = { state: newSecret(), nonce: newSecret(), verifier: newSecret() }
    const expiresAt = unixMs(this.options.clock) + ATTEMPT_SECONDS * 1000
    const attempt: Attempt = { ...secrets, providerId, returnTo, expiresAt }
    const asked = await this.options.openid.authorizationUrl(provider, secrets)
    if (!asked.ok) {
      this.tell(provider, caller, `unreachable: ${asked.detail}`, null)
      return refused('unreachable')
    }
    const sealed = this.options.sealer.seal(Buffer.from(JSON.stringify(attempt)), PURPOSE)
    return { ok: true, location: asked.url, cookie: attemptCookie(sealed, ATTEMPT_SECONDS) }
  }

  /**
   * Ends an attempt: a session of the one active member that has the provider's subject.
   * @param providerId whose redirect it is
   * @param query that of the redirect
   */
  async finish(
    providerId: string,
    cookies: string,
    query: string,
    caller: SignInCaller,
  ): Promise<SignInOutcome> {
    const { store, openid, sessions } = this.options
    const attempt = this.attemptIn(cookies)
    const provider = store.providers.get(providerId)
    if (attempt?.providerId !== providerId || provider === null) return refused('not-begun')
    const redeemed = { hash: hash('sha256', attempt.state, 'hex'), expiresAt: attempt.expiresAt }
    if (store.isRedeemed(redeemed.hash)) return refused('not-begun')
    const answer = await openid.redeem(provider, query, attempt)
    if (!answer.ok) {
      this.tell(provider, caller, `${answer.reason}: ${answer.detail}`, null)
      return refused(answer.reason)
    }
    const subject = subjectOf(answer.claims, provider.subjectClaim)
    const members = subject === null ? [] : this.membersWith(subject, provider)
    const [member] = members
    if (member === undefined || members.length > 1) {
      const reason = member === undefined ? 'no active member has the subject' : 'several members have it'
      this.tell(provider, caller, reason, subject)
      return refused('no-member')
    }
    const { organizationId } = provider
    const owner = { organizationId, keyHash: null, memberId: member.id, providerId }
    const session = await sessions.begin(owner, caller.address, redeemed)
    if (session === null) return refused('not-begun')
    this.tell(provider, caller, null, member.id)
    return { ok: true, session, returnTo: attempt.returnTo }
  }

  private tell(
    provider: SignInProvider,
    { requestId, address }: SignInCaller,
    reason: string | null,
    actor: string | null,
  ): void {
    this.options.record({ provider, actor, reason, requestId, address })
  }

  private attemptIn(cookies: string): Attempt | null {
    const sealed = sealedAttemptIn(cookies)
    const bytes = sealed === null ? null : this.options.sealer.open(sealed, PURPOSE)
    if (bytes === null) return null
    const attempt = JSON.parse(bytes.toString()) as Attempt
    return unixMs(this.options.clock) < attempt.expiresAt ? attempt : null
  }

  private membersWith(subject: string, { organizationId, connectionId }: SignInProvider): readonly Member[] {
    const lookup = { by: 'externalId', value: subject } as const
    const { entries } = this.options.members.membersOf(
      { organizationId, connectionId },
      lookup,
      0,
      MOST_LOOKED_AT,
    )
    return entries.filter(
      ({ active, deletedAt, externalId }) => active && deletedAt === null && externalId === subject,
    )
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

function refused(refusal: SignInRefusal): Refused {
  return { ok: false, refusal }
}

function subjectOf(claims: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = Object.hasOwn(claims, name) ? claims[name] : null
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_SUBJECT ? value : null
}
