/** The port of the accounts: organizations, workspaces and API keys. Records are JSON; times are Unix milliseconds. */
import type { KeyKind, KeyLimits } from '../base/principal.js'

/** Federation needs `business` or `enterprise` (contract/decisions 17). */
export const ORGANIZATION_PLANS = ['free', 'team', 'business', 'enterprise'] as const
export type OrganizationPlan = (typeof ORGANIZATION_PLANS)[number]

export interface Organization {
  /** UUID v7, as all ids here. */
  readonly id: string
  readonly name: string
  readonly plan: OrganizationPlan
  /** Nano-dollars that its calls may cost in all; absent or null when there is no end to them. */
  readonly credits?: number | null
  /** The last changes of its credits, the latest last; absent where there was none since they are kept. */
  readonly creditsHistory?: readonly CreditsChange[]
  /** It has keys with providers, so that they are looked for. The store of them keeps this; absent where it has none. */
  readonly ownKeys?: true
  readonly createdAt: number
  readonly updatedAt: number | null
}

export interface CreditsChange {
  /** Unix milliseconds. */
  readonly at: number
  /** What the credits are since then. */
  readonly credits: number | null
  /** Hash of the management key that changed them. */
  readonly by: string
}

export interface Workspace {
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly createdAt: number
  /** Only in the record that stays of one that was deleted, by which whatever is still on its way to it is refused. */
  readonly deletedAt?: number
}

/** What has become of the wish to delete a workspace: done, or what keeps it. */
export type WorkspaceRemoval =
  | 'removed'
  | 'absent'
  | 'only-one'
  | 'has-keys'
  | 'has-mappings'
  | 'has-direct-roles'
  | 'has-provider-keys'
  | 'has-files'

/** What a workspace owns that is kept elsewhere than records are. For the inside of a change. */
export interface WorkspaceContents {
  hasFiles(workspaceId: string): boolean
  /** Removes the texts that models keep. */
  removeTexts(workspaceId: string): void
}

/** How often a key may be used, over all workers; null where there is no limit (contract/decisions 31). */
export type KeyRateLimit = Pick<KeyLimits, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrent'>

/** Settings with which the operator chooses a key. */
export type KeySettingName = 'SLUICE_API_KEY' | 'SLUICE_MANAGEMENT_KEY'

/** How a setting stands to a key. */
interface ChosenKey {
  readonly setting: KeySettingName
  readonly withdrawn: boolean
  /** The key was made here before a setting named it; it outlives the setting, but not another key in its place. */
  readonly madeHere?: true
}

export interface ApiKey {
  /** SHA-256 of the key, lower-case hex. */
  readonly hash: string
  readonly kind: KeyKind
  readonly name: string
  /** First and last characters of the key, so that people recognise it. */
  readonly label: string
  readonly organizationId: string
  /** Null for management keys. */
  readonly workspaceId: string | null
  /** Set for personal keys. */
  readonly creatorUserId: string | null
  readonly disabled: boolean
  /** A deleted key never comes back; its record stays for the ledger. */
  readonly deletedAt: number | null
  readonly expiresAt: number | null
  /** Credential of the server's operator (contract/decisions 39). */
  readonly operator: boolean
  /** Spending limit in nano-dollars and its period; kept and shown here, enforced by the limits. */
  readonly limit: number | null
  readonly limitReset: 'daily' | 'weekly' | 'monthly' | null
  readonly includeByokInLimit: boolean
  /** Absent or null when there is none. */
  readonly rateLimit?: KeyRateLimit | null
  readonly externalUser: string | null
  /**
   * The setting that brought the key here, and whether the key was disabled because the setting named it no more.
   * Absent for keys that were made here and never named by a setting, and in records of versions that did not keep it.
   */
  readonly chosen?: ChosenKey
  readonly createdAt: number
  readonly updatedAt: number | null
}

/** What comes into being together with an organization. */
export interface NewOrganization {
  readonly organization: Organization
  readonly workspaces: readonly Workspace[]
  readonly keys: readonly ApiKey[]
}

/**
 * Reads see every change that was acknowledged before the read began, by any process; records are frozen. Changes
 * resolve when they are on disk, and fail with `unavailable` when the store cannot take them. `change` functions
 * run inside the transaction and see the current record; returning that very record leaves it is. They
 * must not throw, and what they say about a record's identity (hash or id, organization, creation) is not taken.
 */
export interface AccountStore {
  /**
   * The record of a key, deleted ones included; null for what is no SHA-256 in lower-case hex. Costs about a
   * microsecond: read it on every request, keep it never. The same object as last time for as long as the record
   * has not changed, so what is derived from it may be kept beside it (in a WeakMap, say).
   */
  key(hash: string): ApiKey | null
  /** All keys of an organization that are not deleted, oldest first. */
  keysOf(organizationId: string): readonly ApiKey[]
  /** A page of them: those behind one of its keys, or from the first on. Costs the page. */
  keysPageOf(organizationId: string, after: ApiKey | null, limit: number): readonly ApiKey[]
  /** All keys of all organizations that are not deleted, oldest first. */
  keys(): readonly ApiKey[]
  /** False when there is one of this hash already, deleted or not. Fails with `unavailable` in a workspace that was deleted. */
  addKey(key: ApiKey): Promise<boolean>
  /** The record after the change, or null when there is none or it is deleted. */
  changeKey(hash: string, change: (current: ApiKey) => ApiKey): Promise<ApiKey | null>

  organization(id: string): Organization | null
  /** Oldest first. */
  organizations(): readonly Organization[]
  /** Adds all of it in one transaction. */
  addOrganization(added: NewOrganization): Promise<void>
  changeOrganization(
    id: string,
    change: (current: Organization) => Organization,
  ): Promise<Organization | null>

  /** Null also for one that was deleted. */
  workspace(id: string): Workspace | null
  /** Oldest first. */
  workspacesOf(organizationId: string): readonly Workspace[]
  addWorkspace(workspace: Workspace): Promise<void>
  changeWorkspace(id: string, change: (current: Workspace) => Workspace): Promise<Workspace | null>
  /**
   * Deletes a workspace that nothing belongs to, with the texts that models keep in it. Whatever would belong to it is
   * refused from then on, in the transaction that would bring it. An organization keeps one.
   */
  removeWorkspace(id: string, at: number): Promise<WorkspaceRemoval>

  /**
   * As `addOrganization`, but only when there is no organization yet: of several processes that start at once,
   * one wins. False when another was first.
   */
  bootstrap(first: NewOrganization): Promise<boolean>
}
