/** Management of connections to identity providers (contract/directory 1 and 6). */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import { throwFault } from '../../base/fault.js'
import { type ConnectionPorts, ConnectionService } from '../../directory/connection-service.js'
import { QUIRKS } from '../../directory/scim/quirks.js'
import { DeletedAnswer, dataAnswer, pageAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { PAGING_QUERY, pageOfList } from '../../http/paging.js'
import { idParam } from '../../http/params.js'
import { deletedReply, jsonReply, NO_STORE, resourceReply } from '../../http/reply.js'
import type { DirectoryRequest, HeldRemoval } from '../../store/directory-store.js'
import {
  Approval,
  Approved,
  AuditEntry,
  Connection,
  ConnectionChanges,
  ConnectionIn,
  ConnectionRequest,
  CreatedToken,
  encodeAuditEntry,
  encodeConnection,
  encodeToken,
  HeldRemovalOut,
  Quirk,
  Token,
  TokenIn,
} from './schema.js'

export type { ConnectionPorts }

const operation = endpointGroup({ tag: 'Directory connections', dialect: gateway, access: 'management' })

const CONNECTIONS = '/api/v1/scim-connections'
const Id = { id: idParam('Id of the connection.') }

/** Connections, their tokens, and what came over them. */
export function scimConnectionEndpoints(ports: ConnectionPorts): Endpoint[] {
  const service = new ConnectionService(ports)
  return [
    ...connectionEndpoints(service),
    ...tokenEndpoints(service),
    ...trafficEndpoints(service, ports),
    ...heldEndpoints(service),
  ]
}

const connectionEndpoints = (service: ConnectionService): Endpoint[] => [
  operation('list_scim_connections', `GET ${CONNECTIONS}`, {
    summary: 'List the connections of the organization, oldest first',
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of connections', schema: pageAnswer(Connection) } },
    handle: ({ caller, query }) => jsonReply(200, pageOfList(service.list(caller), query, encodeConnection)),
  }),
  operation('create_scim_connection', `POST ${CONNECTIONS}`, {
    summary: 'Connect an identity provider; its token is made apart',
    readsAddress: true,
    body: ConnectionIn,
    examples: { entra: { name: 'Entra ID' }, careful: { name: 'Okta', held_share: 0.1 } },
    replies: { 201: { description: 'The connection, on disk', schema: dataAnswer(Connection) } },
    faults: ['conflict', 'unavailable'],
    handle: async ({ caller, body }, call) =>
      resourceReply(await service.create(caller, body, call), encodeConnection, 201),
  }),
  operation('read_scim_connection', `GET ${CONNECTIONS}/{id}`, {
    summary: 'Read one connection',
    params: Id,
    replies: { 200: { description: 'The connection', schema: dataAnswer(Connection) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => resourceReply(service.find(caller, params.id), encodeConnection),
  }),
  operation('update_scim_connection', `PATCH ${CONNECTIONS}/{id}`, {
    summary: 'Rename a connection, or change from when on removals are held',
    readsAddress: true,
    params: Id,
    body: ConnectionChanges,
    examples: { half: { held_share: 0.5 } },
    replies: {
      200: { description: 'The connection as it is now, on disk', schema: dataAnswer(Connection) },
    },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) =>
      resourceReply(await service.change(caller, params.id, body, call), encodeConnection),
  }),
  operation('delete_scim_connection', `DELETE ${CONNECTIONS}/{id}`, {
    summary: 'Disconnect: its tokens end, its people lose access for good, its groups go',
    readsAddress: true,
    params: Id,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => deletedReply(await service.remove(caller, params.id, call)),
  }),
]

const tokenEndpoints = (service: ConnectionService): Endpoint[] => [
  operation('list_scim_connection_tokens', `GET ${CONNECTIONS}/{id}/tokens`, {
    summary: 'List the tokens of a connection with their last use, oldest first',
    params: Id,
    replies: { 200: { description: 'The tokens', schema: dataAnswer(z.array(Token)) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }) => {
      const tokens = (await service.tokensOf(caller, params.id)) ?? throwFault('item-not-found')
      return jsonReply(200, { data: tokens.map(encodeToken) })
    },
  }),
  operation('create_scim_connection_token', `POST ${CONNECTIONS}/{id}/tokens`, {
    summary: 'Make a token; two may be valid at a time, so that one can be replaced without an outage',
    readsAddress: true,
    params: Id,
    body: TokenIn,
    examples: { lasting: {}, ending: { expires_at: '2030-01-31T12:00:00Z' } },
    replies: { 201: { description: 'The token, on disk; its text is shown once', schema: CreatedToken } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const expiresAt = body.expires_at == null ? null : Date.parse(body.expires_at)
      const made = await service.addToken(caller, params.id, expiresAt, call)
      const { token, record } = made ?? throwFault('item-not-found')
      return jsonReply(201, { data: encodeToken(record), token }, NO_STORE)
    },
  }),
  operation('delete_scim_connection_token', `DELETE ${CONNECTIONS}/{id}/tokens/{token_id}`, {
    summary: 'Revoke a token, from the next call on',
    readsAddress: true,
    params: { ...Id, token_id: idParam('Id of the token.') },
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) =>
      deletedReply(await service.removeToken(caller, params.id, params.token_id, call)),
  }),
]

const trafficEndpoints = (service: ConnectionService, { connections }: ConnectionPorts): Endpoint[] => [
  operation('list_scim_connection_requests', `GET ${CONNECTIONS}/{id}/requests`, {
    summary: 'List what the identity provider has asked, newest first',
    params: Id,
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of requests', schema: pageAnswer(ConnectionRequest) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }) => {
      const { id } = service.find(caller, params.id) ?? throwFault('item-not-found')
      const { entries, total } = await connections.requestsOf(id, query.offset, query.limit)
      return jsonReply(200, { data: entries.map(encodeRequest), total_count: total })
    },
  }),
  operation('list_scim_connection_audit', `GET ${CONNECTIONS}/{id}/audit`, {
    summary: 'List what the identity provider has changed, newest first',
    params: Id,
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of the audit', schema: pageAnswer(AuditEntry) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }) => {
      const { id } = service.find(caller, params.id) ?? throwFault('item-not-found')
      const { rows, total } = await connections.auditOf(caller.organizationId, id, query.offset, query.limit)
      return jsonReply(200, { data: rows.map(encodeAuditEntry), total_count: total })
    },
  }),
  operation('list_scim_connection_quirks', `GET ${CONNECTIONS}/{id}/quirks`, {
    summary: 'List how often the identity provider was understood although the standard has it otherwise',
    params: Id,
    replies: { 200: { description: 'Each leniency that was used', schema: dataAnswer(z.array(Quirk)) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }) => {
      const { id } = service.find(caller, params.id) ?? throwFault('item-not-found')
      const counts = Object.entries(await connections.quirksOf(id))
      return jsonReply(200, { data: counts.map(encodeQuirk) })
    },
  }),
]

const heldEndpoints = (service: ConnectionService): Endpoint[] => [
  operation('list_scim_held_removals', `GET ${CONNECTIONS}/{id}/held`, {
    summary: 'List removals from groups that take no role away until they are approved, oldest first',
    params: Id,
    query: PAGING_QUERY,
    replies: { 200: { description: 'A page of removals', schema: pageAnswer(HeldRemovalOut) } },
    faults: ['item-not-found'],
    handle: ({ caller, params, query }) => {
      const held = service.heldOf(caller, params.id) ?? throwFault('item-not-found')
      return jsonReply(200, pageOfList(held, query, encodeHeld))
    },
  }),
  operation('approve_scim_held_removals', `POST ${CONNECTIONS}/{id}/held/approve`, {
    summary: 'Let held removals take effect, of one group or of all',
    readsAddress: true,
    params: Id,
    body: Approval,
    examples: { all: {}, group: { scim_group_id: '3f0d9f6e-7f0e-4c3b-9a51-0b8f6f9a1c22' } },
    replies: { 200: { description: 'How many took effect, on disk', schema: Approved } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const groupId = body.scim_group_id?.toLowerCase() ?? null
      const approved = await service.approveHeld(caller, params.id, groupId, call)
      return jsonReply(200, { data: { approved: approved ?? throwFault('item-not-found') } })
    },
  }),
]

function encodeRequest(row: DirectoryRequest): z.infer<typeof ConnectionRequest> {
  const { id, at, tokenId, method, target, status, scimType, quirks, requestId } = row
  return {
    ...{ id, at: isoTime(at), token_id: tokenId, method, target, status },
    ...{ scim_type: scimType, quirks: [...quirks], request_id: requestId },
  }
}

function encodeQuirk([name, count]: [string, number]): z.infer<typeof Quirk> {
  // A release may have known leniencies that this one does not.
  const known = Object.hasOwn(QUIRKS, name) ? QUIRKS[name as keyof typeof QUIRKS] : null
  return { name, count, sent_by: known?.sentBy ?? null, done: known?.done ?? null }
}

function encodeHeld({ groupId, memberId, removedAt }: HeldRemoval): z.infer<typeof HeldRemovalOut> {
  return { scim_group_id: groupId, member_id: memberId, removed_at: isoTime(removedAt) }
}
