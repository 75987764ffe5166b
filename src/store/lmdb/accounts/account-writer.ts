import type { ApiKey, NewOrganization, Organization, Workspace } from '../../account-store.js'
import type { ByteTable, Environment } from '../environment.js'
import {
  type AccountTables,
  decoded,
  EVERYTHING,
  encoded,
  HashKey,
  idKey,
  keyBelonging,
  workspaceBelonging,
} from './account-layout.js'

/** Changes of accounts. They are rare, so each is a transaction of its own. */
export class AccountWriter {
  readonly #env: Environment
  readonly #tables: AccountTables
  readonly #hashKey = new HashKey()
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(env: Environment, tables: AccountTables) {
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
      const current = this.#read<ApiKey>(this.#tables.keys, this.#hashKey.of(hash))
      if (current === null || current.hash !== hash || current.deletedAt !== null) return null
      const changed = change(current)
      if (changed === current) return current
      const { organizationId, createdAt } = current
      const next = Object.freeze({ ...changed, hash, organizationId, createdAt })
      this.#tables.keys.put(Buffer.from(hash, 'hex'), encoded(next))
      if (next.deletedAt !== null) this.#tables.belongings.remove(keyBelonging(next))
      return next
    })
  }

  addOrganization(added: NewOrganization): Promise<void> {
    return this.#durably(() => this.#addOrganization(added))
  }

  found(first: NewOrganization): Promise<boolean> {
    return this.#durably(() => {
      if (this.#env.range(this.#tables.organizations, EVERYTHING).length > 0) return false
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
      this.#tables.organizations.put(Buffer.from(id), encoded(next))
      return next
    })
  }

  addWorkspace(workspace: Workspace): Promise<void> {
    return this.#durably(() => this.#addWorkspace(workspace))
  }

  #addOrganization({ organization, workspaces, keys }: NewOrganization): void {
    this.#tables.organizations.put(Buffer.from(organization.id), encoded(organization))
    for (const workspace of workspaces) this.#addWorkspace(workspace)
    for (const key of keys) this.#addKey(key)
  }

  #addWorkspace(workspace: Workspace): void {
    const id = Buffer.from(workspace.id)
    this.#tables.workspaces.put(id, encoded(workspace))
    this.#tables.belongings.put(workspaceBelonging(workspace), id)
  }

  #addKey(key: ApiKey): boolean {
    const hash = Buffer.from(key.hash, 'hex')
    if (this.#env.get(this.#tables.keys, hash) !== undefined) return false
    this.#tables.keys.put(hash, encoded(key))
    if (key.deletedAt === null) this.#tables.belongings.put(keyBelonging(key), hash)
    return true
  }

  #read<T extends object>(table: ByteTable, at: Uint8Array | null): T | null {
    const bytes = at === null ? undefined : this.#env.get(table, at)
    return bytes === undefined ? null : decoded<T>(bytes)
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
