/**
 * Who calls: from the credential in a request's headers to a principal (contract/gateway 1.2, contract/decisions 3
 * to 6).
 */
import {
  type AccessLevel,
  ADMITTED,
  type CallerClass,
  isConfigurable,
  isForAnyKey,
  sessionsAdmitted,
} from '../base/access.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { LONGEST_KEY } from '../base/fixed-key.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import {
  ANONYMOUS,
  type CallerAuthority,
  CONNECTION_TOKEN_PREFIX,
  type KeyLimits,
  type Principal,
  type SessionCall,
} from '../base/principal.js'
import type { AccountStore, ApiKey } from '../store/account-store.js'
import type { ConnectionToken, DirectoryConnection, DirectoryConnections } from '../store/directory-store.js'
import { hashKey, keyRefusal } from './api-keys.js'
import { LONGEST_TOKEN } from './compact-jws.js'
import { type People, personLetsCount, roleByKey } from './people.js'

/** Tells which key an access token acts for. */
export interface AccessTokenVerifier {
  /** Hash of that key; null when the token is no good. The key's own state is checked here, on every request. */
  keyHashOf(token: string): MaybePromise<string | null>
}

/** Whose a session is: that of a key, which it acts as, or of a member. Their own state is checked here. */
export type SessionSubject = { readonly keyHash: string } | { readonly memberId: string }

export interface SessionVerifier {
  /** Null when the call brings no session; otherwise whose it is, or why it does not count. */
  subjectOf(call: SessionCall): MaybePromise<SessionSubject | Fault | null>
}

/** Rows of the configuration that say otherwise than an operation itself (contract/decisions 3). */
export type PermissionOverrides = ReadonlyMap<string, 'key' | 'management'>

/** What callers are known by beside keys; what is absent is not there. */
interface CallerSources {
  readonly accessTokens?: AccessTokenVerifier
  readonly sessions?: SessionVerifier
  readonly people?: People
  readonly connections?: Pick<DirectoryConnections, 'byToken'>
}

const MISSING = new Fault('unauthenticated', { note: 'Missing Authentication header' })
/** The caller gets one sentence for every cause; the detail is for the log. */
const REFUSED = {
  malformed: new Fault('unauthenticated', { detail: 'the credential is malformed' }),
  unknown: new Fault('unauthenticated', { detail: 'the credential is unknown' }),
  deleted: new Fault('unauthenticated', { detail: 'the key is deleted' }),
  disabled: new Fault('unauthenticated', { detail: 'the key is disabled' }),
  expired: new Fault('unauthenticated', { detail: 'the key has expired' }),
  departed: new Fault('unauthenticated', {
    detail: 'the member is not active or has no role in the workspace of the key',
  }),
}
const NOT_BY_TOKEN = new Fault('forbidden', { note: 'Access tokens cannot perform this operation' })
const NOT_BY_SESSION = new Fault('forbidden', {
  note: 'A member performs this operation with a key of its own, not by a session',
})
const NOT_MANAGEMENT = new Fault('forbidden', { note: 'Only management keys can perform this operation' })
const NOT_OPERATOR = new Fault('forbidden', { note: 'Only the operator can perform this operation' })
const NOT_CONNECTION = new Fault('forbidden', {
  note: 'Only the token of a directory connection can perform this operation',
})
const NOT_BY_CONNECTION = new Fault('forbidden', {
  note: 'The token of a directory connection opens the operations of its directory only',
})

/**
 * Reads the state of the key from the store on every call, and remembers nothing about it: a key that was
 * disabled is refused by the next call on every worker. Unknown, disabled, expired and deleted keys are told
 * apart nowhere but in the log. Keys are looked up by their hash, so how long it takes says nothing about them.
 */
export function createAuthority(
  accounts: Pick<AccountStore, 'key'>,
  clock: Clock,
  permissions: () => PermissionOverrides,
  { accessTokens, sessions, people, connections }: CallerSources = {},
): CallerAuthority {
  function admitKey(key: ApiKey | null, needed: NeededAccess, isByToken: boolean): Principal {
    if (key === null) throw REFUSED.unknown
    const refusal = refusalOfKey(key, clock, people)
    if (refusal !== null) throw REFUSED[refusal]
    const caller = principalOf(key)
    // Whatever key it is: its class, for which roles may have to be read, does not matter.
    if (isForAnyKey(needed) || (needed === 'own-key' && !isByToken)) return caller
    admitClass(isByToken ? 'access-token' : classOfKey(key, people), needed)
    return caller
  }

  function admitToken(hash: string | null, needed: NeededAccess): Principal {
    const target = hash === null ? null : accounts.key(hash)
    // No policy can target another kind; should a signing key ever be stolen, its tokens open no management either.
    return admitKey(target?.kind === 'workspace' ? target : null, needed, true)
  }

  function admitMember(userId: string, needed: NeededAccess): Principal {
    const facts = people?.members.factsOf(userId) ?? null
    if (people === undefined || facts === null || !facts.active || facts.deleted) throw REFUSED.departed
    if (ADMITTED[needed].includes('member') && !sessionsAdmitted(needed).includes('member')) {
      throw refusalOfKind(needed, NOT_BY_SESSION)
    }
    const { organizationId } = facts
    const roles = needed === 'admin' ? people.roles.workspacesOf(organizationId, userId) : null
    admitClass(roles !== null && [...roles.values()].includes('admin') ? 'admin' : 'member', needed)
    return Object.freeze({ ...KEYLESS, kind: 'member', organizationId, userId })
  }

  function admitSubject(subject: SessionSubject | Fault | null, needed: NeededAccess): Principal {
    if (subject === null) throw MISSING
    if (subject instanceof Fault) throw refusalOfKind(needed, subject)
    if ('keyHash' in subject) return admitKey(accounts.key(subject.keyHash), needed, false)
    return admitMember(subject.memberId, needed)
  }

  /** A directory by its token; null when the credential is none, or has expired. */
  function findConnectionCaller(credential: string): Principal | null {
    if (connections === undefined || !credential.startsWith(CONNECTION_TOKEN_PREFIX)) return null
    const hash = hashKey(credential)
    const connection = connections.byToken(hash)
    const token = connection?.tokens.find((each) => each.hash === hash)
    if (connection == null || token === undefined) return null
    const isOver = token.expiresAt !== null && clock.unixSeconds() * 1000 >= token.expiresAt
    return isOver ? null : principalOfToken(connection, token)
  }

  function admitWithoutKey(credential: string, needed: NeededAccess): MaybePromise<Principal> {
    const directory = findConnectionCaller(credential)
    if (directory !== null) {
      if (needed === 'connection') return directory
      throw refusalOfKind(needed, NOT_BY_CONNECTION)
    }
    if (accessTokens === undefined || !looksLikeJws(credential)) throw REFUSED.unknown
    const hash = accessTokens.keyHashOf(credential)
    // A token that is remembered is known at once, as a key is, and costs no closure.
    if (hash instanceof Promise) return hash.then((late) => admitToken(late, needed))
    return admitToken(hash, needed)
  }

  return {
    authorize(authorization, apiKey, operation, access, session = null) {
      const needed = isConfigurable(access) ? (permissions().get(operation) ?? access) : access
      if (needed === 'anyone') return ANONYMOUS
      if (session !== null && sessions !== undefined && authorization === '' && apiKey === '') {
        const subject = sessions.subjectOf(session)
        // A row that opens an operation to keys takes nothing from the sessions that may call it without.
        const asked = needed === 'key' && access !== 'anyone' ? access : needed
        if (subject instanceof Promise) return subject.then((late) => admitSubject(late, asked))
        return admitSubject(subject, asked)
      }
      const credential = readCredential(authorization, apiKey)
      const key = credential.length > LONGEST_KEY ? null : accounts.key(hashKey(credential))
      return key === null ? admitWithoutKey(credential, needed) : admitKey(key, needed, false)
    },
  }
}

type NeededAccess = Exclude<AccessLevel, 'anyone'>

function admitClass(caller: CallerClass, needed: NeededAccess): void {
  if (ADMITTED[needed].includes(caller)) return
  if (needed === 'connection') throw NOT_CONNECTION
  if (needed === 'own-key') throw NOT_BY_TOKEN
  throw needed === 'operator' && caller === 'management' ? NOT_OPERATOR : NOT_MANAGEMENT
}

/** Operations that any key opens have no 403 of their own: what is no key is no credential there. */
function refusalOfKind(needed: NeededAccess, told: Fault): Fault {
  if (!isForAnyKey(needed) || told.kind !== 'forbidden') return told
  return new Fault('unauthenticated', { note: told.note, detail: 'the credential is no key' })
}

/** What a key is to the table of access. Its role is asked anew on every call: one that was changed counts at once. */
function classOfKey(key: ApiKey, people: People | undefined): CallerClass {
  if (key.kind === 'management') return key.operator ? 'operator' : 'management'
  if (key.kind === 'workspace') return 'workspace-key'
  return (people === undefined ? null : roleByKey(key, people)) ?? 'personal-key'
}

/** Why a key does not count now, whoever it belongs to included; null when it does. */
function refusalOfKey(
  key: ApiKey,
  clock: Clock,
  people: People | undefined,
): Exclude<keyof typeof REFUSED, 'malformed'> | null {
  const refusal = keyRefusal(key, clock.unixSeconds() * 1000)
  if (refusal !== null) return refusal
  return people === undefined || personLetsCount(key, people) ? null : 'departed'
}

/** One per record of a key: another state is another record. */
const PRINCIPALS = new WeakMap<ApiKey, Principal>()

function principalOf(key: ApiKey): Principal {
  let principal = PRINCIPALS.get(key)
  if (principal === undefined) {
    principal = createPrincipal(key)
    PRINCIPALS.set(key, principal)
  }
  return principal
}

/**
 * Reads the key of a caller anew in the middle of its call: the caller with the limits of this moment, or what refuses
 * a key that has been disabled or deleted or has expired meanwhile.
 */
type RenewCaller = (caller: Principal) => Principal | Fault

export function callerRenewal(
  accounts: Pick<AccountStore, 'key'>,
  clock: Clock,
  people: People,
): RenewCaller {
  return ({ keyHash }) => {
    const key = accounts.key(keyHash)
    const refusal = key === null ? 'unknown' : refusalOfKey(key, clock, people)
    return refusal === null ? principalOf(key!) : REFUSED[refusal]
  }
}

const TOKENS = new WeakMap<ConnectionToken, Principal>()

function principalOfToken(connection: DirectoryConnection, token: ConnectionToken): Principal {
  let principal = TOKENS.get(token)
  if (principal === undefined) {
    const { id: connectionId, organizationId } = connection
    principal = Object.freeze({
      ...KEYLESS,
      kind: 'connection',
      organizationId,
      connectionId,
      tokenId: token.id,
    })
    TOKENS.set(token, principal)
  }
  return principal
}

const KEYLESS = { keyHash: '', workspaceId: null, operator: false } as const

function createPrincipal(key: ApiKey): Principal {
  const { hash: keyHash, kind, organizationId, workspaceId, operator, creatorUserId: userId } = key
  const limits = keyLimitsOf(key)
  return Object.freeze({
    keyHash,
    kind,
    organizationId,
    workspaceId,
    operator,
    ...(kind === 'personal' && userId !== null && { userId }),
    ...(limits !== null && { limits }),
  })
}

/** Null for a key without limits, which is what most have. */
function keyLimitsOf({ limit, limitReset, includeByokInLimit, rateLimit = null }: ApiKey): KeyLimits | null {
  if (limit === null && rateLimit === null) return null
  return Object.freeze({
    spending:
      limit === null
        ? null
        : { limit, reset: limitReset, ...(includeByokInLimit && { includesByok: true as const }) },
    requestsPerMinute: rateLimit?.requestsPerMinute ?? null,
    tokensPerMinute: rateLimit?.tokensPerMinute ?? null,
    concurrent: rateLimit?.concurrent ?? null,
  })
}

/** The credential of a request. An empty Authorization counts as none (contract/decisions 5 and 33). */
function readCredential(authorization: string, apiKey: string): string {
  if (authorization === '' && apiKey === '') throw MISSING
  const token = authorization === '' ? readPlainToken(apiKey) : readBearerToken(authorization)
  if (token === null) throw REFUSED.malformed
  return token
}

const TOKEN = /^[\x21-\x7e]+$/

/** The text itself, when it may be a credential: printable ASCII without spaces. */
function readPlainToken(text: string): string | null {
  return text.length <= LONGEST_TOKEN && TOKEN.test(text) ? text : null
}

const SCHEME = 'Bearer '
const SPACE = 0x20

/**
 * What follows the scheme of an Authorization header; null when it is no bearer. The scheme is case-insensitive
 * and one or more spaces, nothing else, follow it (RFC 9110 section 11.4, RFC 6750 section 2.1).
 */
export function readBearerToken(authorization: string): string | null {
  if (!authorization.startsWith(SCHEME)) {
    if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME.toLowerCase()) return null
  }
  let start = SCHEME.length
  while (authorization.charCodeAt(start) === SPACE) start++
  return readPlainToken(authorization.slice(start))
}

/** A signed token has three parts (RFC 7515 section 7.1). */
function looksLikeJws(token: string): boolean {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  return first > 0 && second > first && token.indexOf('.', second + 1) < 0
}
