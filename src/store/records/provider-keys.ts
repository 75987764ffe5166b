/**
 * Provider keys in a space of records: all of an organization in one record under its id, because a call asks for all
 * of them. The organization's own record, which every call reads, says whether there is one: most have none.
 */
import type { Organization } from '../account-store.js'
import { MOST_PROVIDER_KEYS, type ProviderKey, type ProviderKeyStore } from '../provider-key-store.js'
import { ORGANIZATIONS_TABLE } from './accounts.js'
import { PROVIDER_KEYS_TABLE, type ProviderKeysRecord } from './provider-key-record.js'
import type { RecordSpace } from './record-space.js'
import { idKey, RecordTable } from './record-table.js'
import { WorkspaceTable } from './workspaces.js'

const NO_KEYS: readonly ProviderKey[] = Object.freeze([])

export function createProviderKeyStore(space: RecordSpace): ProviderKeyStore {
  const table = new RecordTable(space, PROVIDER_KEYS_TABLE)
  const organizations = new RecordTable(space, ORGANIZATIONS_TABLE)
  const workspaces = new WorkspaceTable(space)

  const keysIn = (organizationId: string): readonly ProviderKey[] =>
    table.get<ProviderKeysRecord>(idKey(organizationId))?.keys ?? NO_KEYS

  const put = (organizationId: string, keys: readonly ProviderKey[]): void => {
    const key = idKey(organizationId)!
    if (keys.length === 0) table.remove(key)
    else table.put(key, { keys })
    const organization = organizations.get<Organization>(key)
    const hasKeys = keys.length > 0
    if (organization === null || (organization.ownKeys === true) === hasKeys) return
    const { ownKeys: _, ...rest } = organization
    organizations.put(key, hasKeys ? { ...rest, ownKeys: true } : rest)
  }

  return {
    keysOf: (organizationId) =>
      table.readParsed<ProviderKeysRecord>(organizationId, (id) => idKey(id))?.keys ?? NO_KEYS,
    add: (added) =>
      space.writeDurably(() => {
        if (added.workspaceId !== null) workspaces.requireKept(added.workspaceId)
        const keys = keysIn(added.organizationId)
        if (keys.length >= MOST_PROVIDER_KEYS) return false
        put(added.organizationId, [...keys, added])
        return true
      }),
    change: (organizationId, id, change) =>
      space.writeDurably(() => {
        const keys = keysIn(organizationId)
        const current = keys.find((key) => key.id === id)
        if (current === undefined) return null
        const changed = change(current)
        if (changed === current) return current
        const next = Object.freeze({ ...changed, id, organizationId, createdAt: current.createdAt })
        put(
          organizationId,
          keys.map((key) => (key === current ? next : key)),
        )
        return next
      }),
    remove: (organizationId, id) =>
      space.writeDurably(() => {
        const keys = keysIn(organizationId)
        const left = keys.filter((key) => key.id !== id)
        if (left.length < keys.length) put(organizationId, left)
        return left.length < keys.length
      }),
  }
}
