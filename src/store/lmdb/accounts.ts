/**
 * Accounts in LMDB. A record is the JSON of its type, under its own id. Beside the records there is an index, so that
 * what belongs to an organization is found without visiting what others have:
 *
 *     'k' organization, creation time, hash   ->  hash         keys that are not deleted
 *     'w' organization, id                    ->  id           workspaces
 *
 * The order of its keys is the order of lists: oldest first.
 */
import type { AccountStore, ApiKey, NewOrganization, Organization, Workspace } from '../account-store.js'
import type { LmdbByteTable, LmdbEnvironment } from './environment.js'
import { idKey, ownerPrefix, RecordTable } from './record-table.js'

export const ACCOUNT_TABLE_NAMES = {
  keys: 'account-keys',
  organizations: 'account-organizations',
  workspaces: 'account-workspaces',
  ownerIndex: 'account-belongings',
} as const

const KEY = 'k'
const WORKSPACE = 'w'
const ALL = Buffer.alloc(0)
const ALL_API_KEYS = Buffer.from(KEY)

/** Bytes of a SHA-256. */
const HASH_BYTES = 32

/** Changes of accounts are rare, so each is a transaction of its own. */
export class LmdbAccountStore implements AccountStore {
  readonly #env: LmdbEnvironment
  readonly #keys: RecordTable
  readonly #organizations: RecordTable
  readonly #workspaces: RecordTable
  readonly #ownerIndex: LmdbByteTable
  readonly #hashBytes = Buffer.alloc(HASH_BYTES)

  constructor(env: LmdbEnvironment) {
    this.#env = env
    this.#keys = new RecordTable(env, ACCOUNT_TABLE_NAMES.keys)
    this.#organizations = new RecordTable(env, ACCOUNT_TABLE_NAMES.organizations)
    this.#workspaces = new RecordTable(env, ACCOUNT_TABLE_NAMES.workspaces)
    this.#ownerIndex = env.byteTable(ACCOUNT_TABLE_NAMES.ownerIndex)
  }

  key(hash: string): ApiKey | null {
    const key = this.#keys.readParsed<ApiKey>(hash, this.#hashKey(hash))
    // Hex in capitals names the same bytes, but no key of ours.
    return key?.hash === hash ? key : null
  }

  keysOf(organizationId: string): ApiKey[] {
    return this.#listIndexed(this.#keys, ownerPrefix(KEY, organizationId))
  }

  keys(): ApiKey[] {
    const keys = this.#listIndexed<ApiKey>(this.#keys, ALL_API_KEYS)
    return keys.sort((a, b) => a.createdAt - b.createdAt || (a.hash < b.hash ? -1 : 1))
  }

  addKey(key: ApiKey): Promise<boolean> {
    return this.#env.writeDurably(() => this.#addKey(key))
  }

  changeKey(hash: string, change: (current: ApiKey) => ApiKey): Promise<ApiKey | null> {
    return this.#env.writeDurably(() => {
      const current = this.#keys.get<ApiKey>(this.#hashKey(hash))
      if (current === null || current.hash !== hash || current.deletedAt !== null) return null
      const { organizationId, createdAt } = current
      const identity = { hash, organizationId, createdAt }
      const next = this.#keys.change(Buffer.from(hash, 'hex'), current, change, identity)
      if (next.deletedAt !== null) this.#ownerIndex.remove(apiKeyIndexKey(next))
      return next
    })
  }

  organization(id: string): Organization | null {
    return this.#organizations.readParsed(id, idKey(id))
  }

  organizations(): Organization[] {
    return this.#env.inSnapshot(() => this.#organizations.list(ALL))
  }

  addOrganization(added: NewOrganization): Promise<void> {
    return this.#env.writeDurably(() => this.#addOrganization(added))
  }

  bootstrap(first: NewOrganization): Promise<boolean> {
    return this.#env.writeDurably(() => {
      if (this.#organizations.list(ALL).length > 0) return false
      this.#addOrganization(first)
      return true
    })
  }

  changeOrganization(
    id: string,
    change: (current: Organization) => Organization,
  ): Promise<Organization | null> {
    return this.#env.writeDurably(() => {
      const key = idKey(id)
      const current = this.#organizations.get<Organization>(key)
      if (current === null) return null
      return this.#organizations.change(key!, current, change, { id, createdAt: current.createdAt })
    })
  }

  workspace(id: string): Workspace | null {
    return this.#workspaces.readParsed(id, idKey(id))
  }

  workspacesOf(organizationId: string): Workspace[] {
    return this.#listIndexed(this.#workspaces, ownerPrefix(WORKSPACE, organizationId))
  }

  addWorkspace(workspace: Workspace): Promise<void> {
    return this.#env.writeDurably(() => this.#addWorkspace(workspace))
  }

  #addOrganization({ organization, workspaces, keys }: NewOrganization): void {
    this.#organizations.put(Buffer.from(organization.id), organization)
    for (const workspace of workspaces) this.#addWorkspace(workspace)
    for (const key of keys) this.#addKey(key)
  }

  #addWorkspace(workspace: Workspace): void {
    const id = Buffer.from(workspace.id)
    this.#workspaces.put(id, workspace)
    this.#ownerIndex.put(Buffer.concat([ownerPrefix(WORKSPACE, workspace.organizationId)!, id]), id)
  }

  #addKey(key: ApiKey): boolean {
    const hash = Buffer.from(key.hash, 'hex')
    if (this.#keys.has(hash)) return false
    this.#keys.put(hash, key)
    if (key.deletedAt === null) this.#ownerIndex.put(apiKeyIndexKey(key), hash)
    return true
  }

  /** The bytes a key's record lies under, good until the next call; null for what is no hash in hex. */
  #hashKey(hash: string): Uint8Array | null {
    if (hash.length !== 2 * HASH_BYTES) return null
    return this.#hashBytes.write(hash, 'hex') === HASH_BYTES ? this.#hashBytes : null
  }

  /** The records that the index leads to from the keys of a prefix, in their order. */
  #listIndexed<T extends object>(table: RecordTable, prefix: Buffer | null): T[] {
    if (prefix === null) return []
    return this.#env.inSnapshot(() =>
      this.#env.valuesWithPrefix(this.#ownerIndex, prefix).map((id) => table.get<T>(id)!),
    )
  }
}

function apiKeyIndexKey({ organizationId, createdAt, hash }: ApiKey): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(createdAt))
  return Buffer.concat([ownerPrefix(KEY, organizationId)!, time, Buffer.from(hash, 'hex')])
}
