import type { ScimAuditEntry, ScimAuditPage, ScimGroup, ScimMapping, ScimRole } from '../../scim-store.js'
import { decodeRecord } from '../accounts/account-layout.js'
import type { LmdbEnvironment } from '../environment.js'
import {
  EMPTY_SCIM_AUDIT,
  type ScimAuditExtent,
  type ScimTables,
  scimAuditKey,
  scimKey,
  scimUserKey,
} from './scim-layout.js'

/** Reads of groups and mappings, each from a snapshot of its own. */
export class ScimReader {
  readonly #env: LmdbEnvironment
  readonly #tables: ScimTables

  constructor(env: LmdbEnvironment, tables: ScimTables) {
    this.#env = env
    this.#tables = tables
  }

  mapping(id: string): ScimMapping | null {
    return this.#inSnapshot(() => this.#read<ScimMapping>(scimKey('m', id)))
  }

  mappingsOf(organizationId: string): ScimMapping[] {
    return this.#inSnapshot(() => this.#mappingsUnder(scimKey('o', organizationId)))
  }

  group(organizationId: string, id: string): ScimGroup | null {
    return this.#inSnapshot(() => this.#read<ScimGroup>(scimKey('g', organizationId, id)))
  }

  groupsOf(organizationId: string): ScimGroup[] {
    const prefix = scimKey('g', organizationId)
    if (prefix === null) return []
    const groups = this.#inSnapshot(() =>
      this.#env.valuesWithPrefix(this.#tables.records, prefix).map((bytes) => decodeRecord<ScimGroup>(bytes)),
    )
    return groups.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  }

  roleOf(workspaceId: string, userId: string): ScimRole | null {
    return this.#inSnapshot(() => {
      const kept = this.#read<{ role: ScimRole }>(scimUserKey('k', userId, workspaceId))
      const roles = this.#mappingsUnder(scimKey('w', workspaceId))
        .filter(({ organizationId, scimGroupId }) => this.#isMember(organizationId, scimGroupId, userId))
        .map(({ role }) => role)
      return strongestRole(kept === null ? roles : [...roles, kept.role])
    })
  }

  auditPage(organizationId: string, offset: number, limit: number): ScimAuditPage {
    return this.#inSnapshot(() => {
      const bytes = this.#env.get(this.#tables.audit, scimAuditKey(organizationId))
      const [first, next] = bytes === undefined ? EMPTY_SCIM_AUDIT : (decodeRecord(bytes) as ScimAuditExtent)
      const rows: ScimAuditEntry[] = []
      for (let number = next - 1 - offset; number >= first && rows.length < limit; number--) {
        rows.push(
          decodeRecord<ScimAuditEntry>(
            this.#env.get(this.#tables.audit, scimAuditKey(organizationId, number))!,
          ),
        )
      }
      return { rows, total: next - first }
    })
  }

  #isMember(organizationId: string, groupId: string, userId: string): boolean {
    const key = scimUserKey('u', userId, organizationId, groupId)
    return key !== null && this.#env.get(this.#tables.records, key) !== undefined
  }

  #mappingsUnder(prefix: Buffer | null): ScimMapping[] {
    if (prefix === null) return []
    return this.#env
      .valuesWithPrefix(this.#tables.records, prefix)
      .map((id) => this.#read<ScimMapping>(scimKey('m', id.toString()))!)
  }

  #read<T extends object>(key: Buffer | null): T | null {
    const bytes = key === null ? undefined : this.#env.get(this.#tables.records, key)
    return bytes === undefined ? null : decodeRecord<T>(bytes)
  }

  /** All reads of one answer see the same snapshot. */
  #inSnapshot<T>(read: () => T): T {
    try {
      return read()
    } finally {
      this.#env.releaseSnapshot()
    }
  }
}

function strongestRole(roles: readonly ScimRole[]): ScimRole | null {
  return roles.includes('admin') ? 'admin' : (roles[0] ?? null)
}
