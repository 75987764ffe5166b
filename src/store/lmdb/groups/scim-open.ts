import type { ScimStore } from '../../scim-store.js'
import type { LmdbEnvironment } from '../environment.js'
import { SCIM_TABLE_NAMES } from './scim-layout.js'
import { ScimReader } from './scim-reader.js'
import { SCIM_AUDIT_ROWS, ScimWriter } from './scim-writer.js'

/** The groups and mappings of a store whose environment was opened with `SCIM_TABLE_NAMES`. */
export function openScim(
  env: LmdbEnvironment,
  rowsKept = SCIM_AUDIT_ROWS,
): { readonly store: ScimStore; readonly idle: () => Promise<void> } {
  const tables = {
    records: env.byteTable(SCIM_TABLE_NAMES.records),
    audit: env.byteTable(SCIM_TABLE_NAMES.audit),
  }
  const reader = new ScimReader(env, tables)
  const writer = new ScimWriter(env, tables, rowsKept)
  const store: ScimStore = {
    mapping: (id) => reader.mapping(id),
    mappingsOf: (organizationId) => reader.mappingsOf(organizationId),
    addMapping: (mapping, actor) => writer.addMapping(mapping, actor),
    changeRole: (id, role, at, actor) => writer.changeRole(id, role, at, actor),
    removeMapping: (id, keepMembers, at, actor) => writer.removeMapping(id, keepMembers, at, actor),
    group: (organizationId, id) => reader.group(organizationId, id),
    groupsOf: (organizationId) => reader.groupsOf(organizationId),
    putGroup: (group, actor) => writer.putGroup(group, actor),
    removeGroup: (organizationId, id, at, actor) => writer.removeGroup(organizationId, id, at, actor),
    roleOf: (workspaceId, userId) => reader.roleOf(workspaceId, userId),
    auditPage: (organizationId, offset, limit) => reader.auditPage(organizationId, offset, limit),
  }
  return { store, idle: () => writer.idle() }
}
