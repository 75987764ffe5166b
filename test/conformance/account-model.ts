import type {
  AccountStore,
  ApiKey,
  NewOrganization,
  Organization,
  Workspace,
  WorkspaceRemoval,
} from '../../src/store/account-store.js'

/** What a store of accounts means, said as plainly as possible: three maps. */
export class AccountModel implements AccountStore {
  readonly #keys = new Map<string, ApiKey>()
  readonly #organizations = new Map<string, Organization>()
  readonly #workspaces = new Map<string, Workspace>()

  key(hash: string): ApiKey | null {
    return this.#keys.get(hash) ?? null
  }

  keysOf(organizationId: string): ApiKey[] {
    return this.keys().filter((key) => key.organizationId === organizationId)
  }

  keysPageOf(organizationId: string, after: ApiKey | null, limit: number): ApiKey[] {
    const left = this.keysOf(organizationId)
    return left.filter((key) => after === null || inOrderOfAge(after, key) < 0).slice(0, limit)
  }

  keys(): ApiKey[] {
    return [...this.#keys.values()].filter(({ deletedAt }) => deletedAt === null).sort(inOrderOfAge)
  }

  async addKey(key: ApiKey): Promise<boolean> {
    if (this.#keys.has(key.hash)) return false
    this.#keys.set(key.hash, Object.freeze({ ...key }))
    return true
  }

  async changeKey(hash: string, change: (current: ApiKey) => ApiKey): Promise<ApiKey | null> {
    const current = this.#keys.get(hash)
    if (current === undefined || current.deletedAt !== null) return null
    const changed = change(current)
    if (changed === current) return current
    const { organizationId, createdAt } = current
    const next = Object.freeze({ ...changed, hash, organizationId, createdAt })
    this.#keys.set(hash, next)
    return next
  }

  organization(id: string): Organization | null {
    return this.#organizations.get(id) ?? null
  }

  organizations(): Organization[] {
    return [...this.#organizations.values()].sort(byId)
  }

  async addOrganization({ organization, workspaces, keys }: NewOrganization): Promise<void> {
    this.#organizations.set(organization.id, Object.freeze({ ...organization }))
    for (const workspace of workspaces) await this.addWorkspace(workspace)
    for (const key of keys) await this.addKey(key)
  }

  async changeOrganization(
    id: string,
    change: (current: Organization) => Organization,
  ): Promise<Organization | null> {
    const current = this.#organizations.get(id)
    if (current === undefined) return null
    const next = Object.freeze({ ...change(current), id, createdAt: current.createdAt })
    this.#organizations.set(id, next)
    return next
  }

  workspace(id: string): Workspace | null {
    return this.#workspaces.get(id) ?? null
  }

  workspacesOf(organizationId: string): Workspace[] {
    return [...this.#workspaces.values()].filter((each) => each.organizationId === organizationId).sort(byId)
  }

  async addWorkspace(workspace: Workspace): Promise<void> {
    this.#workspaces.set(workspace.id, Object.freeze({ ...workspace }))
  }

  async changeWorkspace(id: string, change: (current: Workspace) => Workspace): Promise<Workspace | null> {
    const current = this.#workspaces.get(id)
    if (current === undefined) return null
    const { organizationId, createdAt } = current
    const next = Object.freeze({ ...change(current), id, organizationId, createdAt })
    this.#workspaces.set(id, next)
    return next
  }

  async removeWorkspace(id: string): Promise<WorkspaceRemoval> {
    const current = this.#workspaces.get(id)
    if (current === undefined) return 'absent'
    const { organizationId } = current
    if (this.workspacesOf(organizationId).length === 1) return 'only-one'
    if (this.keysOf(organizationId).some(({ workspaceId }) => workspaceId === id)) return 'has-keys'
    this.#workspaces.delete(id)
    return 'removed'
  }

  async bootstrap(first: NewOrganization): Promise<boolean> {
    if (this.#organizations.size > 0) return false
    await this.addOrganization(first)
    return true
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1
}

/** As keys are listed: two of one millisecond by their hashes. */
function inOrderOfAge(a: ApiKey, b: ApiKey): number {
  return a.createdAt - b.createdAt || (a.hash === b.hash ? 0 : a.hash < b.hash ? -1 : 1)
}
