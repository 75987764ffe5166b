/** The caller, once the credential of a request has been checked. */
import type { AccessLevel } from './access.js'
import type { MaybePromise } from './maybe-promise.js'
import type { CalendarPeriod } from './utc-period.js'

export type KeyKind = 'workspace' | 'personal' | 'management'

/** Beside the holders of keys: a `member` by its session, and a directory by the token of its `connection`. */
type CallerKind = KeyKind | 'member' | 'connection'

/** The holder of a checked credential. Frozen and shared by all calls of the same key: nothing may be added to it. */
export interface Principal {
  /** SHA-256 of the key, lower-case hex: the key's public id. The key itself is never kept. `''` where there is no key. */
  readonly keyHash: string
  readonly kind: CallerKind
  readonly organizationId: string
  /** Workspace of the key; null for what belongs to the organization as a whole. */
  readonly workspaceId: string | null
  /** Who calls by a personal key or as a member: the id of a member, or any name a key was given. Absent otherwise. */
  readonly userId?: string
  /** The connection whose token this is, and which one of its tokens; absent otherwise. */
  readonly connectionId?: string
  readonly tokenId?: string
  /** True for the credential of the server's operator (contract/decisions 39). */
  readonly operator: boolean
  /** What the key may use; absent when it has no limits. */
  readonly limits?: KeyLimits
}

interface SpendingLimit {
  /** Nano-dollars that may be spent in a period. */
  readonly limit: number
  readonly reset: CalendarPeriod | null
  /** What goes on the caller's own accounts at providers counts as well; absent where it does not. */
  readonly includesByok?: true
}

/** Limits of one key, over all workers; null where there is none. */
export interface KeyLimits {
  readonly spending: SpendingLimit | null
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  /** Calls at a time. */
  readonly concurrent: number | null
}

/** How the tokens of directory connections begin. */
export const CONNECTION_TOKEN_PREFIX = 'sk-sluice-scim-'

/** Stands in where an operation is open to anyone. */
export const ANONYMOUS: Principal = Object.freeze({
  keyHash: '',
  kind: 'workspace',
  organizationId: '',
  workspaceId: null,
  operator: false,
})

/** Request headers that decide on a session, in lower case; declared by the endpoints that take sessions. */
export const SESSION_HEADERS = ['cookie', 'host', 'origin', 'sec-fetch-site', 'x-sluice-request'] as const

/** A call that may bring a session, as far as it decides on that. */
export interface SessionCall {
  readonly method: string
  /** One of `SESSION_HEADERS`; `''` when absent. */
  header(name: (typeof SESSION_HEADERS)[number]): string
}

/** Checks credentials. */
export interface CallerAuthority {
  /**
   * The caller of an operation. Throws `unauthenticated` or `forbidden`, or rejects with them when it had to wait.
   * @param authorization value of the Authorization header, `''` when absent
   * @param apiKey value of x-api-key, which counts where there is no Authorization (contract/decisions 5)
   * @param session where the operation takes sessions; one counts where there is neither of the two
   */
  authorize(
    authorization: string,
    apiKey: string,
    operation: string,
    access: AccessLevel,
    session?: SessionCall | null,
  ): MaybePromise<Principal>
}

/** Who did something, for the audit: the hash of a key, or the id of a member or of a connection. */
export function actorOf({ keyHash, userId, connectionId }: Principal): string {
  return keyHash || userId || connectionId || ''
}
