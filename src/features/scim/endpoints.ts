import type { z } from 'zod'
import { throwFault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { TurnSlices } from '../../base/turn-slices.js'
import { MappingService, type ScimPorts } from '../../directory/mapping-service.js'
import { DeletedAnswer, dataAnswer, pageAnswer } from '../../http/answers.js'
import { scim } from '../../http/dialects/scim.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { flagParam, idParam, isUuid, optionalTextParam, optionalUuidParam } from '../../http/params.js'
import { deletedReply, jsonReply, resourceReply } from '../../http/reply.js'
import type { ScimAuditEntry, ScimMapping, ScimStore } from '../../store/scim-store.js'
import {
  AuditEntry,
  DirectRole,
  encodeAuditEntry,
  encodeDirectRole,
  encodeGroup,
  encodeGroupMember,
  encodeGroupWithMembers,
  encodeMapping,
  encodeTrial,
  Group,
  GroupIn,
  GroupMember,
  GroupWithMembers,
  Mapping,
  MappingChange,
  MappingIn,
  MappingTrialIn,
  MappingTrialOut,
} from './schema.js'

export type { ScimPorts }

const operation = endpointGroup({ tag: 'Directory groups', dialect: scim, access: 'management' })

const MAPPINGS = '/api/v1/scim/group-mappings'
const GROUPS = '/api/v1/scim/groups'
const DIRECT_ROLES = '/api/v1/scim/direct-roles'
const MappingId = { id: idParam('Id of the mapping.') }
const GroupId = { id: idParam('Id of the group: a UUID that the directory chooses.') }
/** A group with all its members. */
const GROUP_BYTES = 2 * 1024 * 1024
/** Has no default: the caller who deletes a mapping says what becomes of its members. */
const KeepMembers = flagParam('Whether the members of the group keep their role in the workspace.', true)

/** Roles that a directory's groups have in workspaces (contract/gateway 9, contract/decisions 4 and 32). */
export function scimEndpoints(ports: ScimPorts): Endpoint[] {
  const mappings = new MappingService(ports)
  return [
    ...mappingEndpoints(ports.scim, mappings),
    ...groupEndpoints(mappings),
    ...directRoleEndpoints(mappings),
    auditEndpoint(ports.scim),
  ]
}

/**
 * A mapping with the name of its group. For one answer: a group of many members is read whole for its name, and may have
 * a mapping to each workspace.
 */
function encoderFor(
  mappings: MappingService,
  caller: Principal,
): (mapping: ScimMapping) => z.infer<typeof Mapping> {
  const names = new Map<string, string | null>()
  const nameOf = (groupId: string): string | null => {
    const name = names.get(groupId) ?? mappings.groupName(caller, groupId)
    names.set(groupId, name)
    return name
  }
  return (mapping) => encodeMapping({ ...mapping, groupName: nameOf(mapping.scimGroupId) })
}

const mappingEndpoints = (scimStore: ScimStore, mappings: MappingService): Endpoint[] => [
  operation('list_scim_group_mappings', `GET ${MAPPINGS}`, {
    summary: 'List the mappings of the organization, oldest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of mappings', schema: pageAnswer(Mapping) } },
    handle: ({ caller, query }) =>
      jsonReply(
        200,
        pageOfList(scimStore.mappingsOf(caller.organizationId), query, encoderFor(mappings, caller)),
      ),
  }),
  operation('create_scim_group_mapping', `POST ${MAPPINGS}`, {
    summary: 'Give a group a role in a workspace',
    readsAddress: true,
    body: MappingIn,
    examples: {
      member: {
        scim_group_id: '3f0d9f6e-7f0e-4c3b-9a51-0b8f6f9a1c22',
        workspace_id: '01a1fa30-bdbf-7176-a60e-9c738e51c849',
        role: 'member',
      },
    },
    replies: { 201: { description: 'The mapping, on disk', schema: dataAnswer(Mapping) } },
    faults: ['conflict', 'unavailable'],
    handle: async ({ caller, body }, call) =>
      resourceReply(await mappings.createMapping(caller, body, call), encoderFor(mappings, caller), 201),
  }),
  operation('try_scim_group_mapping', `POST ${MAPPINGS}/dry-run`, {
    summary: 'See who would gain and who would lose a role by a change of a mapping; nothing is changed',
    keepsRecords: true,
    body: MappingTrialIn,
    query: PAGING_QUERY,
    examples: { change: { change: { id: '01a1fa30-c4da-7b0f-b302-bb9ccaa59df7', role: 'admin' } } },
    replies: { 200: { description: 'A page of changes, and how many there are', schema: MappingTrialOut } },
    faults: ['item-not-found', 'conflict'],
    handle: async ({ caller, body, query }) => {
      const changes = (await mappings.tryChange(caller, body)) ?? throwFault('item-not-found')
      return jsonReply(
        200,
        encodeTrial(changes, query, (id) => mappings.userName(caller, id)),
      )
    },
  }),
  operation('read_scim_group_mapping', `GET ${MAPPINGS}/{id}`, {
    summary: 'Read one mapping',
    params: MappingId,
    replies: { 200: { description: 'The mapping', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) =>
      resourceReply(mappings.findMapping(caller, params.id), encoderFor(mappings, caller)),
  }),
  operation('update_scim_group_mapping', `PATCH ${MAPPINGS}/{id}`, {
    summary: 'Change the role of a group, from the next call of its members on',
    readsAddress: true,
    params: MappingId,
    body: MappingChange,
    examples: { admin: { role: 'admin' } },
    replies: { 200: { description: 'The mapping as it is now, on disk', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found', 'unavailable', 'internal'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(
        await mappings.changeRole(caller, params.id, body.role, call),
        encoderFor(mappings, caller),
      ),
  }),
  operation('delete_scim_group_mapping', `DELETE ${MAPPINGS}/{id}`, {
    summary: 'Take the role of a group away, or leave it with its present members',
    readsAddress: true,
    params: MappingId,
    query: { keep_members: KeepMembers },
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }, call) =>
      deletedReply(await mappings.removeMapping(caller, params.id, query.keep_members, call)),
  }),
]

const groupEndpoints = (mappings: MappingService): Endpoint[] => [
  operation('list_scim_groups', `GET ${GROUPS}`, {
    summary: 'List the groups that the directory has delivered, oldest first',
    query: {
      ...PAGING_QUERY,
      name_contains: optionalTextParam('Only groups with this in their name, in whatever case.'),
      user_id: optionalTextParam('Only groups that this user is in.'),
    },
    replies: { 200: { description: 'A page of groups', schema: pageAnswer(Group) } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(mappings.listGroups(caller, query), query, encodeGroup)),
  }),
  operation('read_scim_group', `GET ${GROUPS}/{id}`, {
    summary: 'Read one group with its members',
    params: GroupId,
    replies: { 200: { description: 'The group', schema: dataAnswer(GroupWithMembers) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) =>
      resourceReply(mappings.findGroup(caller, params.id), encodeGroupWithMembers),
  }),
  operation('list_scim_group_members', `GET ${GROUPS}/{id}/members`, {
    summary: 'List whom a group names, and who they are',
    params: GroupId,
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of members', schema: pageAnswer(GroupMember) } },
    faults: ['item-not-found'],
    handle: ({ caller, params, query }) => {
      const { entries, total } = mappings.membersOf(caller, params.id, query) ?? throwFault('item-not-found')
      return jsonReply(200, { data: entries.map(encodeGroupMember), total_count: total })
    },
  }),
  operation('put_scim_group', `PUT ${GROUPS}/{id}`, {
    summary:
      'Deliver a group: what the directory says of it replaces what was known; not for groups of SCIM connections',
    readsAddress: true,
    params: GroupId,
    body: GroupIn,
    examples: { delivered: { display_name: 'Developers', members: ['user_1', 'user_2'] } },
    bodyLimit: GROUP_BYTES,
    replies: { 200: { description: 'The group, on disk', schema: dataAnswer(GroupWithMembers) } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      if (!isUuid(params.id)) throwFault('item-not-found')
      return resourceReply(await mappings.putGroup(caller, params.id, body, call), encodeGroupWithMembers)
    },
  }),
  operation('delete_scim_group', `DELETE ${GROUPS}/{id}`, {
    summary: 'Forget a group; its mappings stay and give nobody a role',
    readsAddress: true,
    params: GroupId,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params }, call) =>
      deletedReply(await mappings.removeGroup(caller, params.id, call)),
  }),
]

/** Roles that users kept for themselves when a mapping was deleted. */
const directRoleEndpoints = (mappings: MappingService): Endpoint[] => [
  operation('list_scim_direct_roles', `GET ${DIRECT_ROLES}`, {
    summary: 'List the roles that users have kept from deleted mappings',
    query: { ...PAGING_QUERY, workspace_id: optionalUuidParam('Of this workspace only.') },
    replies: { 200: { description: 'A page of direct roles', schema: pageAnswer(DirectRole) } },
    faults: ['item-not-found'],
    handle: ({ caller, query }) => {
      const roles = mappings.listDirectRoles(caller, query.workspace_id)
      return jsonReply(200, pageOfList(roles ?? throwFault('item-not-found'), query, encodeDirectRole))
    },
  }),
  operation('delete_scim_direct_role', `DELETE ${DIRECT_ROLES}/{workspace_id}/{user_id}`, {
    summary: 'Take a direct role away, from the next call on; what groups give the user stays',
    readsAddress: true,
    params: {
      workspace_id: idParam('Id of the workspace.'),
      user_id: idParam('Id of the user, percent-encoded.'),
    },
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) =>
      deletedReply(await mappings.removeDirectRole(caller, params.workspace_id, params.user_id, call)),
  }),
]

const auditEndpoint = (scimStore: ScimStore): Endpoint =>
  operation('list_scim_audit', 'GET /api/v1/scim/audit', {
    summary: 'List changes of groups and mappings, newest first',
    query: { ...PAGING_QUERY, mapping_id: optionalUuidParam('Of this mapping only.') },
    replies: { 200: { description: 'A page of the audit', schema: pageAnswer(AuditEntry) } },
    faults: ['unavailable'],
    handle: async ({ caller: { organizationId }, query }) => {
      const { offset, limit, mapping_id } = query
      if (mapping_id !== null) {
        const found = await auditOfMapping(scimStore, organizationId, mapping_id)
        return jsonReply(200, pageOfList(found, query, encodeAuditEntry))
      }
      const { rows, total } = await scimStore.auditPage(organizationId, offset, limit)
      return jsonReply(200, { data: rows.map(encodeAuditEntry), total_count: total })
    },
  })

const ROWS_AT_ONCE = 500

/** Rows of one mapping, newest first. The trail has no index; of what it keeps all is gone through, in turns. */
async function auditOfMapping(
  scimStore: ScimStore,
  organizationId: string,
  mappingId: string,
): Promise<ScimAuditEntry[]> {
  // By id: a change that is made meanwhile moves the others on, and some are read twice.
  const found = new Map<string, ScimAuditEntry>()
  const slices = new TurnSlices()
  for (let offset = 0; ; offset += ROWS_AT_ONCE) {
    const { rows } = await scimStore.auditPage(organizationId, offset, ROWS_AT_ONCE)
    for (const row of rows) if (row.mappingId === mappingId) found.set(row.id, row)
    if (rows.length < ROWS_AT_ONCE) return [...found.values()]
    if (slices.isOver) await slices.next()
  }
}
