/** Who calls, once the credential of a request has been checked. */

export type KeyKind = 'workspace' | 'personal' | 'management'

/** The holder of a checked credential. Frozen and shared by all calls of the same key: nothing may be added to it. */
export interface Principal {
  /** SHA-256 of the key, lower-case hex: the key's public id. The key itself is never kept. */
  readonly keyHash: string
  readonly kind: KeyKind
  readonly organizationId: string
  /** Workspace of the key; null for management keys, which belong to the organization. */
  readonly workspaceId: string | null
  /** True for the credential of whoever operates the server (contract/decisions 39). */
  readonly operator: boolean
}

/**
 * Who may call an operation (contract/decisions 3): `anyone` needs no credential, `key` any valid one,
 * `management` a management key.
 */
export type Access = 'anyone' | 'key' | 'management'

/** Stands in where an operation is open to anyone. */
export const NOBODY: Principal = Object.freeze({
  keyHash: '',
  kind: 'workspace',
  organizationId: '',
  workspaceId: null,
  operator: false,
})
