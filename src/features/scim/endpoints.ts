/** Directory groups and their roles on the wire (contract/gateway 9). Times are ISO 8601 with milliseconds. */
import { z } from 'zod'
import { throwFault } from '../../base/fault.js'
import { MappingService, type ScimPorts } from '../../directory/mapping-service.js'
import { DeletedAnswer, dataAnswer, pageAnswer, recordEncoder } from '../../http/answers.js'
import { scim } from '../../http/dialects/scim.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { boundedString, stringWithRule } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { flagParam, idParam, isUuid } from '../../http/params.js'
import { deletedReply, jsonReply, resourceReply } from '../../http/reply.js'
import { SCIM_ROLES, type ScimAuditEntry } from '../../store/scim-store.js'

const Role = z.enum(SCIM_ROLES, { error: 'must be admin or member' })
const uuidField = (): z.ZodType<string, string> =>
  stringWithRule((value) => (isUuid(value) ? null : 'must be a UUID')).meta({ format: 'uuid' })

/** Most members of one group. */
const MOST_MEMBERS = 5_000

const MappingIn = nameSchema(
  'ScimGroupMappingIn',
  z.object({ scim_group_id: uuidField(), workspace_id: uuidField(), role: Role }),
)
const MappingChange = nameSchema('ScimGroupMappingChange', z.object({ role: Role }))

const GroupIn = nameSchema(
  'ScimGroupIn',
  z.object({
    display_name: boundedString(1, 256),
    external_id: boundedString(1, 256).nullable().optional(),
    members: z
      .array(boundedString(1, 256))
      .max(MOST_MEMBERS, { error: `must have at most ${MOST_MEMBERS} entries` })
      .meta({ description: 'Ids of users, as personal keys name their creator.' }),
  }),
)

const Mapping = nameSchema(
  'ScimGroupMapping',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    scim_group_id: z.string(),
    workspace_id: z.string(),
    role: z.enum(SCIM_ROLES),
    created_at: z.string(),
    updated_at: z.string(),
  }),
)

const group = {
  id: z.string(),
  organization_id: z.string(),
  display_name: z.string(),
  external_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
}
const Group = nameSchema('ScimGroup', z.object(group))
const GroupWithMembers = nameSchema('ScimGroupMembers', z.object({ ...group, members: z.array(z.string()) }))

const AuditEntry = nameSchema(
  'ScimAuditEntry',
  z.object({
    id: z.string(),
    created_at: z.string(),
    action: z.string(),
    actor: z.string().meta({ description: 'Hash of the management key.' }),
    mapping_id: z.string().nullable(),
    scim_group_id: z.string(),
    workspace_id: z.string().nullable(),
    role_before: z.enum(SCIM_ROLES).nullable(),
    role_after: z.enum(SCIM_ROLES).nullable(),
    request_id: z.string(),
    address: z.string(),
  }),
)

// ── Records as answers ──────────────────────────────────────────────────────

const encodeMapping = recordEncoder(Mapping)
const encodeGroup = recordEncoder(Group)
const encodeGroupWithMembers = recordEncoder(GroupWithMembers)
const encodeEntry = recordEncoder(AuditEntry)

function encodeAuditEntry(entry: ScimAuditEntry): z.infer<typeof AuditEntry> {
  return encodeEntry({ ...entry, createdAt: entry.at, scimGroupId: entry.groupId })
}

export type { ScimPorts }

// ── Operations ──────────────────────────────────────────────────────────────

const operation = endpointGroup({ tag: 'scim', dialect: scim, access: 'management' })

const MAPPINGS = '/api/v1/scim/group-mappings'
const GROUPS = '/api/v1/scim/groups'
const MappingId = { id: idParam('Id of the mapping.') }
const GroupId = { id: idParam('Id of the group: a UUID that the directory chooses.') }
/** A group with all its members. */
const GROUP_BYTES = 2 * 1024 * 1024
/** Has no default: the caller who deletes a mapping says what becomes of its members. */
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
    replies: { 200: { description: 'A page of mappings', schema: pageAnswer(Mapping) } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(ports.scim.mappingsOf(caller.organizationId), query, encodeMapping)),
  }),
  operation('create_scim_group_mapping', `POST ${MAPPINGS}`, {
    summary: 'Give a group a role in a workspace',
    readsAddress: true,
    body: MappingIn,
    replies: { 201: { description: 'The mapping, on disk', schema: dataAnswer(Mapping) } },
    faults: ['conflict', 'unavailable'],
    handle: async ({ caller, body }, call) =>
      resourceReply(await own.createMapping(caller, body, call), encodeMapping, 201),
  }),
  operation('read_scim_group_mapping', `GET ${MAPPINGS}/{id}`, {
    summary: 'Read one mapping',
    params: MappingId,
    replies: { 200: { description: 'The mapping', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(own.findMapping(caller, params.id), encodeMapping),
  }),
  operation('update_scim_group_mapping', `PATCH ${MAPPINGS}/{id}`, {
    summary: 'Change the role of a group, from the next call of its members on',
    readsAddress: true,
    params: MappingId,
    body: MappingChange,
    replies: { 200: { description: 'The mapping as it is now, on disk', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found', 'unavailable', 'internal'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(await own.changeRole(caller, params.id, body.role, call), encodeMapping),
  }),
  operation('delete_scim_group_mapping', `DELETE ${MAPPINGS}/{id}`, {
    summary: 'Take the role of a group away, or leave it with its present members',
    readsAddress: true,
    params: MappingId,
    query: { keep_members: KeepMembers },
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }, call) =>
      deletedReply(await own.removeMapping(caller, params.id, query.keep_members, call)),
  }),
]

const groupEndpoints = (ports: ScimPorts, own: MappingService): Endpoint[] => [
  operation('list_scim_groups', `GET ${GROUPS}`, {
    summary: 'List the groups that the directory has delivered, oldest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of groups', schema: pageAnswer(Group) } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageOfList(ports.scim.groupsOf(caller.organizationId), query, encodeGroup)),
  }),
  operation('read_scim_group', `GET ${GROUPS}/{id}`, {
    summary: 'Read one group with its members',
    params: GroupId,
    replies: { 200: { description: 'The group', schema: dataAnswer(GroupWithMembers) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(own.findGroup(caller, params.id), encodeGroupWithMembers),
  }),
  operation('put_scim_group', `PUT ${GROUPS}/{id}`, {
    summary: 'Deliver a group: what the directory says of it replaces what was known',
    readsAddress: true,
    params: GroupId,
    body: GroupIn,
    bodyLimit: GROUP_BYTES,
    replies: { 200: { description: 'The group, on disk', schema: dataAnswer(GroupWithMembers) } },
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
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => deletedReply(await own.removeGroup(caller, params.id, call)),
  }),
]

const auditEndpoint = (ports: ScimPorts): Endpoint =>
  operation('list_scim_audit', 'GET /api/v1/scim/audit', {
    summary: 'List changes of groups and mappings, newest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of the audit', schema: pageAnswer(AuditEntry) } },
    handle: ({ caller, query: { offset, limit } }) => {
      const { rows, total } = ports.scim.auditPage(caller.organizationId, offset, limit)
      return jsonReply(200, { data: rows.map(encodeAuditEntry), total_count: total })
    },
  })
