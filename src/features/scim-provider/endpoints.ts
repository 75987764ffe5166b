/** SCIM 2.0 for identity providers: users and groups of a connection (contract/directory 1 to 3, RFC 7643 and 7644). */
import type { z } from 'zod'
import { groupsKind } from '../../directory/provisioning/groups.js'
import { type ProvisioningPorts, usersKind } from '../../directory/provisioning/users.js'
import type { ResourceKind } from '../../directory/provisioning/visit.js'
import { SCIM_TYPE } from '../../http/dialects/scim-v2.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { JsonSchema } from '../../http/json-schema.js'
import { idParam } from '../../http/params.js'
import type { DirectoryConnections } from '../../store/directory-store.js'
import { aliasEndpoints } from './aliases.js'
import { Discovery, discoveryEndpoints } from './discovery.js'
import { BASE_PATH, type ConnectionLimit, type FaceOperation, faceOperation } from './face.js'
import { ResourceHandlers } from './handlers.js'
import { RequestLog } from './request-log.js'
import {
  GROUP,
  GROUP_EXAMPLES,
  GroupIn,
  LIST_QUERY,
  listOf,
  PATCH_GROUP_EXAMPLES,
  PATCH_USER_EXAMPLES,
  PatchIn,
  REPLACE_USER_EXAMPLES,
  SearchIn,
  SHOWN_QUERY,
  searchExamples,
  USER,
  USER_EXAMPLES,
  UserIn,
  wishOf,
} from './schema.js'

export interface ScimProviderPorts extends Omit<ProvisioningPorts, 'baseUrl'> {
  readonly connections: Pick<DirectoryConnections, 'logRequest'>
  /** Public base URL of the server, without a slash at the end. */
  readonly publicUrl: string
  readonly limit: ConnectionLimit
}

/** All operations; those of other spellings are left out of the document. */
export function scimProviderEndpoints(ports: ScimProviderPorts): Endpoint[] {
  const { directory, clock, connections, limit } = ports
  const baseUrl = `${ports.publicUrl}${BASE_PATH}`
  const log = new RequestLog(connections, clock)
  const operation = faceOperation(log, limit)
  const kinds = {
    Users: usersKind({ directory, clock, baseUrl }),
    Groups: groupsKind({ directory, clock, baseUrl }),
  }
  const handlers = new ResourceHandlers(log, baseUrl)
  const discovery = new Discovery(baseUrl)
  return [
    ...resourceEndpoints(operation, handlers, kinds.Users, USERS),
    ...resourceEndpoints(operation, handlers, kinds.Groups, GROUPS),
    ...discoveryEndpoints(operation, discovery),
    ...aliasEndpoints(operation, { handlers, kinds, discovery, log }),
  ]
}

/** How the operations of a kind are described. */
interface KindDoc {
  readonly path: '/Users' | '/Groups'
  readonly one: string
  readonly schema: JsonSchema
  readonly body: z.ZodType<Record<string, unknown>>
  readonly examples: Readonly<Record<string, object>>
  readonly replaceExamples: Readonly<Record<string, object>>
  readonly patchExamples: Readonly<Record<string, object>>
  readonly filter: string
}

const USERS: KindDoc = {
  path: '/Users',
  one: 'user',
  schema: USER,
  body: UserIn,
  examples: USER_EXAMPLES,
  replaceExamples: REPLACE_USER_EXAMPLES,
  patchExamples: PATCH_USER_EXAMPLES,
  filter: 'userName eq "ada@example.com"',
}
const GROUPS: KindDoc = {
  path: '/Groups',
  one: 'group',
  schema: GROUP,
  body: GroupIn,
  examples: GROUP_EXAMPLES,
  replaceExamples: GROUP_EXAMPLES,
  patchExamples: PATCH_GROUP_EXAMPLES,
  filter: 'displayName eq "Engineering"',
}

const VERSIONED = { ETag: 'The version of the resource.' }

function resourceEndpoints(
  operation: FaceOperation,
  handlers: ResourceHandlers,
  kind: ResourceKind,
  { path, one, schema, body, examples, replaceExamples, patchExamples, filter }: KindDoc,
): Endpoint[] {
  const id = { id: idParam(`Id of the ${one}.`) }
  const shown = (description: string) => ({ description, schema, mediaType: SCIM_TYPE, headers: VERSIONED })
  const page = { description: `A page of ${one}s`, schema: listOf(schema), mediaType: SCIM_TYPE }
  return [
    operation(`list_provisioned_${one}s`, `GET ${path}`, {
      summary: `List ${one}s of the connection, or find some`,
      query: LIST_QUERY,
      replies: { 200: page },
      handle: ({ caller, query }, call) => handlers.list({ kind, caller, call }, query),
    }),
    operation(`search_provisioned_${one}s`, `POST ${path}/.search`, {
      summary: `Find ${one}s, with what is asked in the body`,
      body: SearchIn,
      examples: searchExamples(filter),
      replies: { 200: page },
      keepsRecords: true,
      handle: ({ caller, body }, call) => handlers.list({ kind, caller, call }, wishOf(body)),
    }),
    operation(`create_provisioned_${one}`, `POST ${path}`, {
      summary: `Deliver a ${one}`,
      query: SHOWN_QUERY,
      body,
      examples,
      replies: { 201: shown(`The ${one}, on disk`) },
      faults: ['conflict', 'unavailable'],
      handle: ({ caller, query, body }, call) => handlers.create({ kind, caller, call }, body, query),
    }),
    operation(`read_provisioned_${one}`, `GET ${path}/{id}`, {
      summary: `Read one ${one}`,
      params: id,
      query: SHOWN_QUERY,
      replies: { 200: shown(`The ${one}`), 304: { description: 'It is of the version that was named' } },
      faults: ['item-not-found'],
      handle: ({ caller, params, query }, call) => handlers.read({ kind, caller, call }, params.id, query),
    }),
    operation(`replace_provisioned_${one}`, `PUT ${path}/{id}`, {
      summary: `Replace what is known of a ${one}`,
      params: id,
      query: SHOWN_QUERY,
      body,
      examples: replaceExamples,
      replies: { 200: shown(`The ${one} as it is now, on disk`) },
      faults: ['item-not-found', 'conflict', 'precondition-failed', 'unavailable'],
      handle: ({ caller, params, query, body }, call) =>
        handlers.replace({ kind, caller, call }, params.id, body, query),
    }),
    operation(`update_provisioned_${one}`, `PATCH ${path}/{id}`, {
      summary: `Change a ${one}`,
      params: id,
      query: SHOWN_QUERY,
      body: PatchIn,
      examples: patchExamples,
      replies: {
        200: shown(`The ${one} as it is now, on disk, where the call says what to show of it`),
        204: { description: 'It is changed, on disk', headers: VERSIONED },
      },
      faults: ['item-not-found', 'conflict', 'precondition-failed', 'unavailable'],
      handle: ({ caller, params, query, body }, call) =>
        handlers.patch({ kind, caller, call }, params.id, body, query),
    }),
    operation(`delete_provisioned_${one}`, `DELETE ${path}/{id}`, {
      summary: `Remove a ${one}`,
      params: id,
      replies: { 204: { description: 'It is gone, on disk' } },
      faults: ['item-not-found', 'precondition-failed', 'unavailable'],
      handle: ({ caller, params }, call) => handlers.remove({ kind, caller, call }, params.id),
    }),
  ]
}
