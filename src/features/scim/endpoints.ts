import { throwFault } from '../../base/fault.js'
import { MappingService, type ScimPorts } from '../../directory/mapping-service.js'
import { scim } from '../../http/dialects/scim.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { flagParam, idParam, isUuid } from '../../http/params.js'
import { deletedReply, jsonReply, resourceReply } from '../../http/reply.js'
import {
  AuditList,
  Deleted,
  encodeAuditEntry,
  encodeGroup,
  encodeGroupWithMembers,
  encodeMapping,
  GroupAnswer,
  GroupIn,
  GroupList,
  MappingAnswer,
  MappingChange,
  MappingIn,
  MappingList,
} from './schema.js'

const operation = endpointGroup({ tag: 'scim', dialect: scim, access: 'management' })

export type { ScimPorts }

const MAPPINGS = '/api/v1/scim/group-mappings'
const GROUPS = '/api/v1/scim/groups'
const MappingId = { id: idParam('Id of the mapping.') }
const GroupId = { id: idParam('Id of the group: a UUID that the directory chooses.') }
/** A group with all its members. */
const GROUP_BYTES = 2 * 1024 * 1024
/** Has no default: whoever deletes a mapping says what becomes of its members. */
const KeepMembers = flagParam('Whether the members of the group keep their role in the workspace.', true)

/** Roles that a directory's groups have in workspaces (contract/gateway 9, contract/decisions 4 and 32). */
export const scimEndpoints = (ports: ScimPorts): Endpoint[] => {
  const own = new MappingService(ports)
  return [...mappingEndpoints(ports, own), ...groupEndpoints(ports, own), auditEndpoint(ports)]
}

const mappingEndpoints = (ports: ScimPorts, own: MappingService): Endpoint[] => [
  operation('list_scim_group_mappings', `GET ${MAPPINGS}`, {
    summary: 'List the mappings of the organization, oldest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of mappings', schema: MappingList } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(ports.scim.mappingsOf(caller.organizationId), query, encodeMapping)),
  }),
  operation('create_scim_group_mapping', `POST ${MAPPINGS}`, {
    summary: 'Give a group a role in a workspace',
    readsAddress: true,
    body: MappingIn,
    replies: { 201: { description: 'The mapping, on disk', schema: MappingAnswer } },
    faults: ['conflict', 'unavailable'],
    handle: async ({ caller, body }, call) =>
      resourceReply(await own.createMapping(caller, body, call), encodeMapping, 201),
  }),
  operation('read_scim_group_mapping', `GET ${MAPPINGS}/{id}`, {
    summary: 'Read one mapping',
    params: MappingId,
    replies: { 200: { description: 'The mapping', schema: MappingAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(own.findMapping(caller, params.id), encodeMapping),
  }),
  operation('update_scim_group_mapping', `PATCH ${MAPPINGS}/{id}`, {
    summary: 'Change the role of a group, from the next call of its members on',
    readsAddress: true,
    params: MappingId,
    body: MappingChange,
    replies: { 200: { description: 'The mapping as it is now, on disk', schema: MappingAnswer } },
    faults: ['item-not-found', 'unavailable', 'internal'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(await own.changeRole(caller, params.id, body.role, call), encodeMapping),
  }),
  operation('delete_scim_group_mapping', `DELETE ${MAPPINGS}/{id}`, {
    summary: 'Take the role of a group away, or leave it with its present members',
    readsAddress: true,
    params: MappingId,
    query: { keep_members: KeepMembers },
    replies: { 200: { description: 'It is gone, on disk', schema: Deleted } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }, call) =>
      deletedReply(await own.removeMapping(caller, params.id, query.keep_members, call)),
  }),
]

const groupEndpoints = (ports: ScimPorts, own: MappingService): Endpoint[] => [
  operation('list_scim_groups', `GET ${GROUPS}`, {
    summary: 'List the groups that the directory has delivered, oldest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of groups', schema: GroupList } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(ports.scim.groupsOf(caller.organizationId), query, encodeGroup)),
  }),
  operation('read_scim_group', `GET ${GROUPS}/{id}`, {
    summary: 'Read one group with its members',
    params: GroupId,
    replies: { 200: { description: 'The group', schema: GroupAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(own.findGroup(caller, params.id), encodeGroupWithMembers),
  }),
  operation('put_scim_group', `PUT ${GROUPS}/{id}`, {
    summary: 'Deliver a group: what the directory says of it replaces what was known',
    readsAddress: true,
    params: GroupId,
    body: GroupIn,
    bodyLimit: GROUP_BYTES,
    replies: { 200: { description: 'The group, on disk', schema: GroupAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      if (!isUuid(params.id)) throwFault('item-not-found')
      return resourceReply(await own.putGroup(caller, params.id, body, call), encodeGroupWithMembers)
    },
  }),
  operation('delete_scim_group', `DELETE ${GROUPS}/{id}`, {
    summary: 'Forget a group; its mappings stay and give nobody a role',
    readsAddress: true,
    params: GroupId,
    replies: { 200: { description: 'It is gone, on disk', schema: Deleted } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => deletedReply(await own.removeGroup(caller, params.id, call)),
  }),
]

const auditEndpoint = (ports: ScimPorts): Endpoint =>
  operation('list_scim_audit', 'GET /api/v1/scim/audit', {
    summary: 'List changes of groups and mappings, newest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of the audit', schema: AuditList } },
    handle: ({ caller, query: { offset, limit } }) => {
      const { rows, total } = ports.scim.auditPage(caller.organizationId, offset, limit)
      return jsonReply(200, { data: rows.map(encodeAuditEntry), total_count: total })
    },
  })
