/** How groups, mappings and what was changed in them look on the wire. */
import type { z } from 'zod'
import type { ScimAuditEntry, ScimGroup, ScimMapping } from '../../store/scim-store.js'
import type { AuditEntry, Group, GroupWithMembers, Mapping } from './schema.js'

export function encodeMapping(mapping: ScimMapping): z.infer<typeof Mapping> {
  return {
    id: mapping.id,
    organization_id: mapping.organizationId,
    scim_group_id: mapping.scimGroupId,
    workspace_id: mapping.workspaceId,
    role: mapping.role,
    created_at: isoTime(mapping.createdAt),
    updated_at: isoTime(mapping.updatedAt),
  }
}

export function encodeGroup(group: ScimGroup): z.infer<typeof Group> {
  return {
    id: group.id,
    organization_id: group.organizationId,
    display_name: group.displayName,
    external_id: group.externalId,
    created_at: isoTime(group.createdAt),
    updated_at: isoTime(group.updatedAt),
  }
}

export function encodeGroupWithMembers(group: ScimGroup): z.infer<typeof GroupWithMembers> {
  return { ...encodeGroup(group), members: [...group.members] }
}

export function encodeAuditEntry(row: ScimAuditEntry): z.infer<typeof AuditEntry> {
  return {
    id: row.id,
    created_at: isoTime(row.at),
    action: row.action,
    actor: row.actor,
    mapping_id: row.mappingId,
    scim_group_id: row.groupId,
    workspace_id: row.workspaceId,
    role_before: row.roleBefore,
    role_after: row.roleAfter,
    request_id: row.requestId,
    address: row.address,
  }
}

function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
