import type { ScimAuditPage, ScimAuditRow, ScimGroup, ScimMapping, ScimRole } from '../../scim-store.js'
import { decoded } from '../accounts/account-layout.js'
import type { Environment } from '../environment.js'
import { type AuditExtent, auditKey, NO_ROWS, type ScimTables, scimKey, userKey } from './scim-layout.js'

/** Reads of groups and mappings, each from a snapshot of its own. */
export class ScimReader {
  readonly #env: Environment
  readonly #tables: ScimTables

  constructor(env: Environment, tables: ScimTables) {
    this.#env = env
    this.#tables = tables
  }

  mapping(id: string): ScimMapping | null {
    return this.#together(() => this.#read<ScimMapping>(scimKey('m', id)))
  }

  mappingsOf(organizationId: string): ScimMapping[] {
    return this.#together(() => this.#mappingsUnder(scimKey('o', organizationId)))
  }

  group(organizationId: string, id: string): ScimGroup | null {
    return this.#together(() => this.#read<ScimGroup>(scimKey('g', organizationId, id)))
  }

  groupsOf(organizationId: string): ScimGroup[] {
    const prefix = scimKey('g', organizationId)
    if (prefix === null) return []
    const groups = this.#together(() =>
      this.#env.range(this.#tables.records, prefix).map((bytes) => decoded<ScimGroup>(bytes)),
    )
    return groups.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  roleOf(workspaceId: string, userId: string): ScimRole | null {
    return this.#together(() => {
      const kept = this.#read<{ role: ScimRole }>(userKey('k', userId, workspaceId))
      const roles = this.#mappingsUnder(scimKey('w', workspaceId))
        .filter(({ organizationId, scimGroupId }) => this.#isMember(organizationId, scimGroupId, userId))
        .map(({ role }) => role)
      return strongest(kept === null ? roles : [...roles, kept.role])
    })
  }

  auditPage(organizationId: string, offset: number, limit: number): ScimAuditPage {
    return this.#together(() => {
      const bytes = this.#env.get(this.#tables.audit, auditKey(organizationId))
      const [first, next] = bytes === undefined ? NO_ROWS : (decoded(bytes) as AuditExtent)
      const rows: ScimAuditRow[] = []
      for (let number = next - 1 - offset; number >= first && rows.length < limit; number--) {
        rows.push(decoded<ScimAuditRow>(this.#env.get(this.#tables.audit, auditKey(organizationId, number))!))
      }
      return { rows, total: next - first }
    })
  }

  #isMember(organizationId: string, groupId: string, userId: string): boolean {
    const key = userKey('u', userId, organizationId, groupId)
    return key !== null && this.#env.get(this.#tables.records, key) !== undefined
  }

  #mappingsUnder(prefix: Buffer | null): ScimMapping[] {
    if (prefix === null) return []
    return this.#env
      .range(this.#tables.records, prefix)
      .map((id) => this.#read<ScimMapping>(scimKey('m', id.toString()))!)
  }

  #read<T extends object>(key: Buffer | null): T | null {
    const bytes = key === null ? undefined : this.#env.get(this.#tables.records, key)
    return bytes === undefined ? null : decoded<T>(bytes)
  }

  /** All reads of one answer see the same snapshot. */
  #together<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.release()
    }
  }
}

function strongest(roles: readonly ScimRole[]): ScimRole | null {
  return roles.includes('admin') ? 'admin' : (roles[0] ?? null)
}
