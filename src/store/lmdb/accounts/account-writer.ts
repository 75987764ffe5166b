import type { ApiKey, NewOrganization, Organization, Workspace } from '../../account-store.js'
import type { LmdbByteTable, LmdbEnvironment } from '../environment.js'
import {
  type AccountTables,
  apiKeyIndexKey,
  decodeRecord,
  EMPTY_PREFIX,
  encodeRecord,
  HashKeyEncoder,
  idKey,
  workspaceIndexKey,
} from './account-layout.js'

/** Changes of accounts. They are rare, so each is a transaction of its own. */
export class AccountWriter {
  readonly #env: LmdbEnvironment
  readonly #tables: AccountTables
  readonly #hashKey = new HashKeyEncoder()
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: LmdbEnvironment, tables: AccountTables) {
    this.#env = env
    this.#tables = tables
  }

  /** Resolves when everything is on disk, or refused. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  addKey(key: ApiKey): Promise<boolean> {
    return this.#durably(() => this.#addKey(key))
  }

  changeKey(hash: string, change: (current: ApiKey) => ApiKey): Promise<ApiKey | null> {
    return this.#durably(() => {
      const current = this.#read<ApiKey>(this.#tables.keys, this.#hashKey.encode(hash))
      if (current === null || current.hash !== hash || current.deletedAt !== null) return null
      const changed = change(current)
      if (changed === current) return current
      const { organizationId, createdAt } = current
      const next = Object.freeze({ ...changed, hash, organizationId, createdAt })
      this.#tables.keys.put(Buffer.from(hash, 'hex'), encodeRecord(next))
      if (next.deletedAt !== null) this.#tables.ownerIndex.remove(apiKeyIndexKey(next))
      return next
    })
  }

  addOrganization(added: NewOrganization): Promise<void> {
    return this.#durably(() => this.#addOrganization(added))
  }

  found(first: NewOrganization): Promise<boolean> {
    return this.#durably(() => {
      if (this.#env.valuesWithPrefix(this.#tables.organizations, EMPTY_PREFIX).length > 0) return false
      this.#addOrganization(first)
      return true
    })
  }

  changeOrganization(
    id: string,
    change: (current: Organization) => Organization,
  ): Promise<Organization | null> {
    return this.#durably(() => {
      const current = this.#read<Organization>(this.#tables.organizations, idKey(id))
      if (current === null) return null
      const changed = change(current)
      if (changed === current) return current
      const next = Object.freeze({ ...changed, id, createdAt: current.createdAt })
      this.#tables.organizations.put(Buffer.from(id), encodeRecord(next))
      return next
    })
  }

  addWorkspace(workspace: Workspace): Promise<void> {
    return this.#durably(() => this.#addWorkspace(workspace))
  }

  #addOrganization({ organization, workspaces, keys }: NewOrganization): void {
    this.#tables.organizations.put(Buffer.from(organization.id), encodeRecord(organization))
    for (const workspace of workspaces) this.#addWorkspace(workspace)
    for (const key of keys) this.#addKey(key)
  }

  #addWorkspace(workspace: Workspace): void {
    const id = Buffer.from(workspace.id)
    this.#tables.workspaces.put(id, encodeRecord(workspace))
    this.#tables.ownerIndex.put(workspaceIndexKey(workspace), id)
  }

  #addKey(key: ApiKey): boolean {
    const hash = Buffer.from(key.hash, 'hex')
    if (this.#env.get(this.#tables.keys, hash) !== undefined) return false
    this.#tables.keys.put(hash, encodeRecord(key))
    if (key.deletedAt === null) this.#tables.ownerIndex.put(apiKeyIndexKey(key), hash)
    return true
  }

  #read<T extends object>(table: LmdbByteTable, at: Uint8Array | null): T | null {
    const bytes = at === null ? undefined : this.#env.get(table, at)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  #durably<T>(change: () => T): Promise<T> {
    const { committed, durable } = this.#env.write(change)
    // Whoever asked hears of a failure through `durable`; nobody waits for the other.
    committed.catch(() => {})
    this.#underWay.add(durable)
    const settled = (): void => void this.#underWay.delete(durable)
    durable.then(settled, settled)
    return durable
  }
}
