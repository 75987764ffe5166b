/**
 * Accounts in a space of records. A record is the JSON of its type, under its own id. Beside the records there is an index, so that
 * what belongs to an organization is found without visiting what others have:
 *
 *     'k' organization, creation time, hash   ->  hash         keys that are not deleted
 *     'w' organization, id                    ->  id           workspaces
 *
 * The order of its keys is the order of lists: oldest first.
 */
import type {
  AccountStore,
  ApiKey,
  NewOrganization,
  Organization,
  Workspace,
  WorkspaceContents,
} from '../account-store.js'
import type { RecordSpace } from './record-space.js'
import { idKey, ownerPrefix, RecordTable } from './record-table.js'
import { WorkspaceBelongings, WorkspaceTable } from './workspaces.js'

const KEY = 'k'
const WORKSPACE = 'w'
const ALL = Buffer.alloc(0)
const ALL_API_KEYS = Buffer.from(KEY)

/** Bytes of a SHA-256. */
const HASH_BYTES = 32

export const ORGANIZATIONS_TABLE = 'account-organizations'

/** Where the database itself looks after what is no record. */
const NO_CONTENTS: WorkspaceContents = { hasFiles: () => false, removeTexts: () => {} }

/** Changes of accounts are rare, so each is a transaction of its own. */
export function createAccountStore(space: RecordSpace, contents = NO_CONTENTS): AccountStore {
  const keys = new RecordTable(space, 'account-keys')
  const organizations = new RecordTable(space, ORGANIZATIONS_TABLE)
  const workspaces = new WorkspaceTable(space)
  const ownerIndex = space.byteTable('account-belongings')
  const belongings = new WorkspaceBelongings(space)
  const hashBytes = Buffer.alloc(HASH_BYTES)

  const unprefixedKey = (id: string): Uint8Array | null => idKey(id)

  /** The bytes a key's record lies under, good until the next call; null for what is no hash in hex. */
  const hashKey = (hash: string): Uint8Array | null => {
    if (hash.length !== 2 * HASH_BYTES) return null
    return hashBytes.write(hash, 'hex') === HASH_BYTES ? hashBytes : null
  }

  const addWorkspace = (workspace: Workspace): void => {
    const id = Buffer.from(workspace.id)
    workspaces.put(id, workspace)
    ownerIndex.put(Buffer.concat([ownerPrefix(WORKSPACE, workspace.organizationId)!, id]), id)
  }

  const addKey = (key: ApiKey): boolean => {
    const hash = Buffer.from(key.hash, 'hex')
    if (keys.has(hash)) return false
    if (key.workspaceId !== null) workspaces.requireKept(key.workspaceId)
    keys.put(hash, key)
    if (key.deletedAt === null) ownerIndex.put(apiKeyIndexKey(key), hash)
    return true
  }

  const addOrganization = (added: NewOrganization): void => {
    organizations.put(Buffer.from(added.organization.id), added.organization)
    for (const workspace of added.workspaces) addWorkspace(workspace)
    for (const key of added.keys) addKey(key)
  }

  return {
    key: (hash) => {
      const key = keys.readParsed<ApiKey>(hash, hashKey)
      // Hex in capitals names the same bytes, but no key of ours.
      return key?.hash === hash ? key : null
    },
    keysOf: (organizationId) =>
      space.inSnapshot(() => keys.listIndexed(ownerIndex, ownerPrefix(KEY, organizationId))),
    keysPageOf: (organizationId, after, limit) => {
      const prefix = ownerPrefix(KEY, organizationId)
      if (prefix === null) return []
      // Nothing can stand between a key of the index and itself with a zero behind it.
      const from = after === null ? prefix : Buffer.concat([apiKeyIndexKey(after), Buffer.alloc(1)])
      return space.inSnapshot(() =>
        space
          .valuesOfPage(ownerIndex, prefix, { offset: 0, limit, from })
          .map((hash) => keys.get<ApiKey>(hash)!),
      )
    },
    keys: () =>
      space
        .inSnapshot(() => keys.listIndexed<ApiKey>(ownerIndex, ALL_API_KEYS))
        .sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1)),
    addKey: (key) => space.writeDurably(() => addKey(key)),
    changeKey: (hash, change) =>
      space.writeDurably(() => {
        const current = keys.get<ApiKey>(hashKey(hash))
        if (current === null || current.hash !== hash || current.deletedAt !== null) return null
        const { organizationId, createdAt } = current
        const identity = { hash, organizationId, createdAt }
        const next = keys.change(Buffer.from(hash, 'hex'), current, change, identity)
        if (next.deletedAt !== null) ownerIndex.remove(apiKeyIndexKey(next))
        return next
      }),
    organization: (id) => organizations.readParsed(id, unprefixedKey),
    organizations: () => space.inSnapshot(() => organizations.list(ALL)),
    addOrganization: (added) => space.writeDurably(() => addOrganization(added)),
    bootstrap: (first) =>
      space.writeDurably(() => {
        if (organizations.list(ALL).length > 0) return false
        addOrganization(first)
        return true
      }),
    changeOrganization: (id, change) =>
      space.writeDurably(() => {
        const key = idKey(id)
        const current = organizations.get<Organization>(key)
        if (current === null) return null
        return organizations.change(key!, current, change, { id, createdAt: current.createdAt })
      }),
    workspace: (id) => {
      const workspace = workspaces.readParsed<Workspace>(id, unprefixedKey)
      return workspace?.deletedAt === undefined ? workspace : null
    },
    workspacesOf: (organizationId) =>
      space.inSnapshot(() => workspaces.listIndexed(ownerIndex, ownerPrefix(WORKSPACE, organizationId))),
    addWorkspace: (workspace) => space.writeDurably(() => addWorkspace(workspace)),
    changeWorkspace: (id, change) =>
      space.writeDurably(() => {
        const key = idKey(id)
        const current = workspaces.get<Workspace>(key)
        if (current === null || current.deletedAt !== undefined) return null
        const { organizationId, createdAt } = current
        return workspaces.change(key!, current, change, { id, organizationId, createdAt })
      }),
    removeWorkspace: (id, at) =>
      space.writeDurably(() => {
        const key = idKey(id)
        const current = workspaces.get<Workspace>(key)
        if (current === null || current.deletedAt !== undefined) return 'absent'
        const owner = ownerPrefix(WORKSPACE, current.organizationId)!
        if (space.valuesWithPrefix(ownerIndex, owner).length === 1) return 'only-one'
        const ofOrganization = keys.listIndexed<ApiKey>(ownerIndex, ownerPrefix(KEY, current.organizationId))
        if (ofOrganization.some(({ workspaceId }) => workspaceId === id)) return 'has-keys'
        const kept = belongings.keeping(current) ?? (contents.hasFiles(id) ? 'has-files' : null)
        if (kept !== null) return kept
        contents.removeTexts(id)
        workspaces.put(key!, { ...current, deletedAt: at })
        ownerIndex.remove(Buffer.concat([owner, key!]))
        return 'removed'
      }),
  }
}

function apiKeyIndexKey({ organizationId, createdAt, hash }: ApiKey): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(createdAt))
  return Buffer.concat([ownerPrefix(KEY, organizationId)!, time, Buffer.from(hash, 'hex')])
}
