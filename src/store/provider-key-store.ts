/**
 * The port of provider keys: credentials that organizations have with providers themselves, so that calls of theirs go
 * on their own account there. Records are JSON; times are Unix milliseconds.
 */

/** `first`: tried before the operator's credential; `fallback`: behind it. */
export const PROVIDER_KEY_PRIORITIES = ['first', 'fallback'] as const
export type ProviderKeyPriority = (typeof PROVIDER_KEY_PRIORITIES)[number]

export interface ProviderKey {
  /** UUID v7. */
  readonly id: string
  readonly organizationId: string
  /** Null where the whole organization may use it. */
  readonly workspaceId: string | null
  /** Short name of a provider in the configuration. */
  readonly provider: string
  readonly name: string
  /** First and last characters, so that people recognise it. */
  readonly label: string
  /** The credential under the sealing key, for the purpose that `providerKeyPurpose` tells. */
  readonly sealed: string
  readonly priority: ProviderKeyPriority
  /** Whether the operator's credential may be used where this one fails. */
  readonly allowFallback: boolean
  /** Ids of the only models it is for; null for all. */
  readonly models: readonly string[] | null
  readonly disabled: boolean
  readonly createdAt: number
  readonly updatedAt: number | null
}

/** Of one organization; its records are read on every call. */
export const MOST_PROVIDER_KEYS = 100

/** What a sealed credential is bound to: under the id of another key it cannot be opened. */
export function providerKeyPurpose({
  id,
  organizationId,
}: Pick<ProviderKey, 'id' | 'organizationId'>): string {
  return `provider key\n${organizationId}\n${id}`
}

/**
 * Reads see every change that was acknowledged before the read began, by any process; records are frozen. Changes
 * resolve when they are on disk, and fail with `unavailable` when the store cannot take them. `change` functions run
 * inside the transaction and must not throw; returning the current record changes nothing; id, organization and
 * creation stay.
 */
export interface ProviderKeyStore {
  /**
   * All keys of an organization, oldest first. Costs about a microsecond. The same list as last time for as long as none
   * of them has changed, so what is derived from it may be kept beside it (in a WeakMap, say).
   */
  keysOf(organizationId: string): readonly ProviderKey[]
  /** False when the organization has `MOST_PROVIDER_KEYS` already. */
  add(key: ProviderKey): Promise<boolean>
  /** The record after the change, or null when there is none. */
  change(
    organizationId: string,
    id: string,
    change: (current: ProviderKey) => ProviderKey,
  ): Promise<ProviderKey | null>
  /** False when there is none. */
  remove(organizationId: string, id: string): Promise<boolean>
}
