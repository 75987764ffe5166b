/** How groups, mappings and what was changed in them look on the wire. */
import type { z } from 'zod'
import type { ScimAuditRow, ScimGroup, ScimMapping } from '../../store/scim-store.js'
import type { AuditEntry, Group, GroupWithMembers, Mapping } from './schema.js'

export function mappingView(mapping: ScimMapping): z.infer<typeof Mapping> {
  return {
    id: mapping.id,
    organization_id: mapping.organizationId,
    scim_group_id: mapping.scimGroupId,
    workspace_id: mapping.workspaceId,
    role: mapping.role,
    created_at: iso(mapping.createdAt),
    updated_at: iso(mapping.updatedAt),
  }
}

export function groupView(group: ScimGroup): z.infer<typeof Group> {
  return {
    id: group.id,
    organization_id: group.organizationId,
    display_name: group.displayName,
    external_id: group.externalId,
    created_at: iso(group.createdAt),
    updated_at: iso(group.updatedAt),
  }
}

export function groupWithMembersView(group: ScimGroup): z.infer<typeof GroupWithMembers> {
  return { ...groupView(group), members: [...group.members] }
}

export function auditView(row: ScimAuditRow): z.infer<typeof AuditEntry> {
  return {
    id: row.id,
    created_at: iso(row.at),
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

function iso(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
