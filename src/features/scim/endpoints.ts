import type { z } from 'zod'
import { type Clock, unixMs } from '../../base/clock.js'
import { Fault, invalidInput, throwFault } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import type { Principal } from '../../base/principal.js'
import { DeletedAnswer, dataAnswer, pageAnswer } from '../../http/answers.js'
import { scim } from '../../http/dialects/scim.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { flagParam, idParam, isUuid } from '../../http/params.js'
import { deletedReply, jsonReply, resourceReply } from '../../http/reply.js'
import type { AccountStore } from '../../store/account-store.js'
import type { ScimActor, ScimGroup, ScimMapping, ScimStore } from '../../store/scim-store.js'
import {
  AuditEntry,
  encodeAuditEntry,
  encodeGroup,
  encodeGroupWithMembers,
  encodeMapping,
  Group,
  GroupIn,
  GroupWithMembers,
  Mapping,
  MappingChange,
  MappingIn,
} from './schema.js'

export interface ScimPorts {
  readonly scim: ScimStore
  readonly accounts: AccountStore
  readonly clock: Clock
}

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
export const scimEndpoints = (ports: ScimPorts): Endpoint[] => [
  ...mappingEndpoints(ports),
  ...groupEndpoints(ports),
  auditEndpoint(ports),
]

const mappingEndpoints = (ports: ScimPorts): Endpoint[] => [
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
      resourceReply(await createMapping(ports, body, caller, actorOf(caller, call)), encodeMapping, 201),
  }),
  operation('read_scim_group_mapping', `GET ${MAPPINGS}/{id}`, {
    summary: 'Read one mapping',
    params: MappingId,
    replies: { 200: { description: 'The mapping', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(findMapping(ports, caller, params.id), encodeMapping),
  }),
  operation('update_scim_group_mapping', `PATCH ${MAPPINGS}/{id}`, {
    summary: 'Change the role of a group, from the next call of its members on',
    readsAddress: true,
    params: MappingId,
    body: MappingChange,
    replies: { 200: { description: 'The mapping as it is now, on disk', schema: dataAnswer(Mapping) } },
    faults: ['item-not-found', 'unavailable', 'internal'],
    handle: async ({ caller, params, body }, call) => {
      const { id } = findMapping(ports, caller, params.id) ?? throwFault('item-not-found')
      const now = unixMs(ports.clock)
      return resourceReply(
        await ports.scim.changeRole(id, body.role, now, actorOf(caller, call)),
        encodeMapping,
      )
    },
  }),
  operation('delete_scim_group_mapping', `DELETE ${MAPPINGS}/{id}`, {
    summary: 'Take the role of a group away, or leave it with its present members',
    readsAddress: true,
    params: MappingId,
    query: { keep_members: KeepMembers },
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }, call) => {
      const { id } = findMapping(ports, caller, params.id) ?? throwFault('item-not-found')
      const now = unixMs(ports.clock)
      return deletedReply(await ports.scim.removeMapping(id, query.keep_members, now, actorOf(caller, call)))
    },
  }),
]

const groupEndpoints = (ports: ScimPorts): Endpoint[] => [
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
    handle: ({ caller, params }) => {
      const found = ports.scim.group(caller.organizationId, params.id.toLowerCase())
      return resourceReply(found, encodeGroupWithMembers)
    },
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
      const group = groupOf(body, params.id, caller, unixMs(ports.clock))
      return resourceReply(await ports.scim.putGroup(group, actorOf(caller, call)), encodeGroupWithMembers)
    },
  }),
  operation('delete_scim_group', `DELETE ${GROUPS}/{id}`, {
    summary: 'Forget a group; its mappings stay and give nobody a role',
    readsAddress: true,
    params: GroupId,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      const id = params.id.toLowerCase()
      const now = unixMs(ports.clock)
      return deletedReply(await ports.scim.removeGroup(caller.organizationId, id, now, actorOf(caller, call)))
    },
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

function actorOf({ keyHash }: Principal, { requestId, address }: HttpCall): ScimActor {
  return { actor: keyHash, requestId, address }
}

/** Null when there is none or it belongs to another organization: callers cannot tell which. */
function findMapping({ scim }: ScimPorts, { organizationId }: Principal, id: string): ScimMapping | null {
  const mapping = scim.mapping(id.toLowerCase())
  return mapping?.organizationId === organizationId ? mapping : null
}

/** Fails with `conflict` when the group has a mapping to the workspace already. */
async function createMapping(
  { scim, accounts, clock }: ScimPorts,
  { scim_group_id: groupId, workspace_id: workspace, role }: z.infer<typeof MappingIn>,
  { organizationId }: Principal,
  actor: ScimActor,
): Promise<ScimMapping> {
  const workspaceId = workspace.toLowerCase()
  if (accounts.workspace(workspaceId)?.organizationId !== organizationId) {
    throw invalidInput(['body', 'workspace_id'], 'is no workspace of this organization')
  }
  const now = unixMs(clock)
  const ids = { id: newUuidV7(now), organizationId, scimGroupId: groupId.toLowerCase(), workspaceId }
  const mapping = { ...ids, role, createdAt: now, updatedAt: now }
  if (!(await scim.addMapping(mapping, actor))) throw new Fault('conflict')
  return mapping
}

/** A group as the directory delivers it. */
function groupOf(
  { display_name: displayName, external_id: externalId = null, members }: z.infer<typeof GroupIn>,
  id: string,
  { organizationId }: Principal,
  now: number,
): ScimGroup {
  const names = { id: id.toLowerCase(), organizationId, displayName, externalId }
  return { ...names, members: [...new Set(members)], createdAt: now, updatedAt: now }
}
