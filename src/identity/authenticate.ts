/**
 * Who calls: from the credential in a request's headers to a principal (contract/gateway 1.2, contract/decisions 3
 * to 6).
 */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { LONGEST_KEY } from '../base/fixed-key.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import {
  type AccessLevel,
  ANONYMOUS,
  type CallerAuthority,
  type KeyLimits,
  type Principal,
} from '../base/principal.js'
import type { AccountStore, ApiKey } from '../store/account-store.js'
import type { ScimStore } from '../store/scim-store.js'
import { hashKey, keyRefusal } from './api-keys.js'
import { LONGEST_TOKEN } from './compact-jws.js'

/** Tells which key an access token acts for. */
export interface AccessTokenVerifier {
  /** Hash of that key; null when the token is no good. The key's own state is checked here, on every request. */
  keyHashOf(token: string): MaybePromise<string | null>
}

/** Rows of the configuration that say otherwise than an operation itself (contract/decisions 3). */
export type PermissionOverrides = ReadonlyMap<string, 'key' | 'management'>

const MISSING = new Fault('unauthenticated', { note: 'Missing Authentication header' })
/** The caller gets one sentence for every cause; the detail is for the log. */
const REFUSED = {
  malformed: new Fault('unauthenticated', { detail: 'the credential is malformed' }),
  unknown: new Fault('unauthenticated', { detail: 'the credential is unknown' }),
  deleted: new Fault('unauthenticated', { detail: 'the key is deleted' }),
  disabled: new Fault('unauthenticated', { detail: 'the key is disabled' }),
  expired: new Fault('unauthenticated', { detail: 'the key has expired' }),
}
const NOT_BY_TOKEN = new Fault('forbidden', { note: 'Access tokens cannot perform this operation' })
const NOT_MANAGEMENT = new Fault('forbidden', { note: 'Only management keys can perform this operation' })

/**
 * Reads the state of the key from the store on every call, and remembers nothing about it: a key that was
 * disabled is refused by the next call on every worker. Unknown, disabled, expired and deleted keys are told
 * apart nowhere but in the log. Keys are looked up by their hash, so how long it takes says nothing about them.
 */
export function createAuthority(
  accounts: AccountStore,
  clock: Clock,
  permissions: () => PermissionOverrides,
  accessTokens: AccessTokenVerifier | null = null,
  roles: Pick<ScimStore, 'roleOf'> | null = null,
): CallerAuthority {
  function admitToken(hash: string | null, needed: AccessLevel, access: AccessLevel): Principal {
    const principal = admitCaller(findTokenKey(hash), needed, access)
    if (needed === 'own-key') throw NOT_BY_TOKEN
    return principal
  }

  function findTokenKey(hash: string | null): ApiKey | null {
    const target = hash === null ? null : accounts.key(hash)
    // No policy can target another kind; should a signing key ever be stolen, its tokens open no management either.
    return target?.kind === 'workspace' ? target : null
  }

  function admitCaller(key: ApiKey | null, needed: AccessLevel, access: AccessLevel): Principal {
    if (key === null) throw REFUSED.unknown
    const refusal = keyRefusal(key, clock.unixSeconds() * 1000)
    if (refusal !== null) throw REFUSED[refusal]
    // A row of the configuration says `management` of an operation; whether admins count is the operation's own.
    if (
      needed !== 'key' &&
      needed !== 'own-key' &&
      key.kind !== 'management' &&
      !(access === 'admin' && isWorkspaceAdmin(key, roles))
    ) {
      throw NOT_MANAGEMENT
    }
    return principalOf(key)
  }

  return {
    authorize(authorization, apiKey, operation, access) {
      const needed = permissions().get(operation) ?? access
      if (needed === 'anyone') return ANONYMOUS
      const credential = readCredential(authorization, apiKey)
      const key = credential.length > LONGEST_KEY ? null : accounts.key(hashKey(credential))
      if (key !== null || accessTokens === null || !looksLikeJws(credential)) {
        return admitCaller(key, needed, access)
      }
      const hash = accessTokens.keyHashOf(credential)
      // A token that is remembered is known at once, as a key is, and costs no closure.
      if (hash instanceof Promise) return hash.then((late) => admitToken(late, needed, access))
      return admitToken(hash, needed, access)
    },
  }
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

export function callerRenewal(accounts: Pick<AccountStore, 'key'>, clock: Clock): RenewCaller {
  return ({ keyHash }) => {
    const key = accounts.key(keyHash)
    const refusal = key === null ? 'unknown' : keyRefusal(key, clock.unixSeconds() * 1000)
    return refusal === null ? principalOf(key!) : REFUSED[refusal]
  }
}

/** Asked anew on every call, as the state of the key is: a role that was changed counts at once. */
function isWorkspaceAdmin(
  { kind, workspaceId, creatorUserId }: ApiKey,
  roles: Pick<ScimStore, 'roleOf'> | null,
): boolean {
  if (roles === null || kind !== 'personal' || workspaceId === null || creatorUserId === null) return false
  return roles.roleOf(workspaceId, creatorUserId) === 'admin'
}

function createPrincipal(key: ApiKey): Principal {
  const { hash: keyHash, kind, organizationId, workspaceId, operator } = key
  const limits = keyLimitsOf(key)
  return Object.freeze({
    keyHash,
    kind,
    organizationId,
    workspaceId,
    operator,
    ...(limits !== null && { limits }),
  })
}

/** Null for a key without limits, which is what most have. */
function keyLimitsOf({ limit, limitReset, rateLimit = null }: ApiKey): KeyLimits | null {
  if (limit === null && rateLimit === null) return null
  return Object.freeze({
    spending: limit === null ? null : { limit, reset: limitReset },
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
