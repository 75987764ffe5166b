/** The caller, once the credential of a request has been checked. */
import { Fault } from './fault.js'
import type { MaybePromise } from './maybe-promise.js'
import type { CalendarPeriod } from './utc-period.js'

export type KeyKind = 'workspace' | 'personal' | 'management'

/** The holder of a checked credential. Frozen and shared by all calls of the same key: nothing may be added to it. */
export interface Principal {
  /** SHA-256 of the key, lower-case hex: the key's public id. The key itself is never kept. */
  readonly keyHash: string
  readonly kind: KeyKind
  readonly organizationId: string
  /** Workspace of the key; null for management keys, which belong to the organization. */
  readonly workspaceId: string | null
  /** True for the credential of the server's operator (contract/decisions 39). */
  readonly operator: boolean
  /** What the key may use; absent when it has no limits. */
  readonly limits?: KeyLimits
}

/** Limits of one key, over all workers; null where there is none. */
export interface KeyLimits {
  /** Nano-dollars that may be spent in a period. */
  readonly spending: { readonly limit: number; readonly reset: CalendarPeriod | null } | null
  readonly requestsPerMinute: number | null
  readonly tokensPerMinute: number | null
  /** Calls at a time. */
  readonly concurrent: number | null
}

/**
 * Access to an operation (contract/decisions 3): `anyone` needs no credential, `key` any valid one, `own-key` a key
 * and no access token that acts for one, `management` a management key. `admin` is for what concerns one workspace: a management key, or the personal key
 * of a user whom the directory has made an admin of the key's workspace.
 */
export type AccessLevel = 'anyone' | 'key' | 'own-key' | 'admin' | 'management'

/** Refuses everybody but the operator: an organization's own management key is not enough. */
export function requireOperator(caller: Principal): void {
  if (!caller.operator) throw NOT_OPERATOR
}

const NOT_OPERATOR = new Fault('forbidden', { note: 'Only the operator can perform this operation' })

/** Stands in where an operation is open to anyone. */
export const ANONYMOUS: Principal = Object.freeze({
  keyHash: '',
  kind: 'workspace',
  organizationId: '',
  workspaceId: null,
  operator: false,
})

/** Checks credentials. */
export interface CallerAuthority {
  /**
   * The caller of an operation. Throws `unauthenticated` or `forbidden`, or rejects with them when it had to wait.
   * @param authorization value of the Authorization header, `''` when absent
   * @param apiKey value of x-api-key, which counts where there is no Authorization (contract/decisions 5)
   */
  authorize(
    authorization: string,
    apiKey: string,
    operation: string,
    access: AccessLevel,
  ): MaybePromise<Principal>
}
