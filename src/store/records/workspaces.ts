/** The records of workspaces, and what keeps one from being deleted. For the inside of changes. */
import { Fault } from '../../base/fault.js'
import type { Workspace, WorkspaceRemoval } from '../account-store.js'
import { PROVIDER_KEYS_TABLE, type ProviderKeysRecord } from './provider-key-record.js'
import type { RecordSpace } from './record-space.js'
import { idKey, RecordTable } from './record-table.js'
import { SCIM_TABLE, scimKey } from './scim-tables.js'

/**
 * A workspace that was deleted leaves its record: who has looked before and writes now finds it in the transaction. An id
 * without a record says nothing; it was looked for before.
 */
export class WorkspaceTable extends RecordTable {
  constructor(space: RecordSpace) {
    super(space, 'account-workspaces')
  }

  isDeleted(id: string): boolean {
    return this.get<Workspace>(idKey(id))?.deletedAt !== undefined
  }

  /** Fails with `unavailable` for one that was deleted: who tries again hears that there is none. */
  requireKept(id: string): void {
    if (this.isDeleted(id)) throw workspaceGone()
  }
}

/** What is told to who came behind a deletion. */
export function workspaceGone(): Fault {
  return new Fault('unavailable', { retryAfter: 1, detail: 'the workspace was deleted meanwhile' })
}

/** Records of others that name a workspace. */
export class WorkspaceBelongings {
  readonly #space: RecordSpace
  readonly #scim: RecordTable
  readonly #providerKeys: RecordTable

  constructor(space: RecordSpace) {
    this.#space = space
    this.#scim = new RecordTable(space, SCIM_TABLE)
    this.#providerKeys = new RecordTable(space, PROVIDER_KEYS_TABLE)
  }

  keeping({ id, organizationId }: Workspace): WorkspaceRemoval | null {
    if (this.#hasAny(scimKey('w', id))) return 'has-mappings'
    if (this.#hasAny(scimKey('k', id))) return 'has-direct-roles'
    const ofProviders = this.#providerKeys.get<ProviderKeysRecord>(idKey(organizationId))?.keys ?? []
    return ofProviders.some(({ workspaceId }) => workspaceId === id) ? 'has-provider-keys' : null
  }

  #hasAny(prefix: Buffer | null): boolean {
    if (prefix === null) return false
    return this.#space.valuesOfPage(this.#scim.table, prefix, { offset: 0, limit: 1 }).length > 0
  }
}
