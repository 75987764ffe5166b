import { Fault } from '../../base/fault.js'
import { actorOfCaller } from '../../federation/admin/actor.js'
import type { IssuerService } from '../../federation/admin/issuer-service.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import { PAGING_PARAMS, pageView } from './paging.js'
import { Deleted, IssuerAnswer, IssuerChanges, IssuerIn, IssuerList } from './schema.js'
import { issuerView } from './views.js'

const operation = endpointGroup({ tag: 'federation', dialect: gateway, access: 'management' })

const PATH = '/api/v1/federation/issuers'
const IssuerId = { id: idParam('Id of the issuer.') }
const NOT_FOUND = new Fault('item-not-found')

export const issuerEndpoints = (issuers: () => IssuerService): Endpoint[] => [
  operation('list_federation_issuers', `GET ${PATH}`, {
    summary: 'List the issuers that the organization trusts, oldest first',
    query: PAGING_PARAMS,
    replies: { 200: { description: 'A page of issuers', schema: IssuerList } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageView(issuers().list(caller.organizationId), query, issuerView)),
  }),
  operation('create_federation_issuer', `POST ${PATH}`, {
    summary: 'Trust an issuer',
    readsAddress: true,
    body: IssuerIn,
    replies: { 201: { description: 'The issuer, on disk', schema: IssuerAnswer } },
    faults: ['unavailable'],
    handle: async ({ caller, body }, call) =>
      jsonReply(201, { data: issuerView(await issuers().create(actorOfCaller(caller, call), body)) }),
  }),
  operation('read_federation_issuer', `GET ${PATH}/{id}`, {
    summary: 'Read one issuer',
    params: IssuerId,
    replies: { 200: { description: 'The issuer', schema: IssuerAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) =>
      jsonReply(200, {
        data: issuerView(issuers().find(caller.organizationId, params.id) ?? failNotFound()),
      }),
  }),
  operation('update_federation_issuer', `PATCH ${PATH}/{id}`, {
    summary: 'Change an issuer, from the next exchange on',
    readsAddress: true,
    params: IssuerId,
    body: IssuerChanges,
    replies: { 200: { description: 'The issuer as it is now, on disk', schema: IssuerAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const changed = await issuers().change(actorOfCaller(caller, call), params.id, body)
      return jsonReply(200, { data: issuerView(changed ?? failNotFound()) })
    },
  }),
  operation('delete_federation_issuer', `DELETE ${PATH}/{id}`, {
    summary: 'Trust an issuer no longer; its policies refuse from then on',
    readsAddress: true,
    params: IssuerId,
    replies: { 200: { description: 'It is gone, on disk', schema: Deleted } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      if (!(await issuers().remove(actorOfCaller(caller, call), params.id))) failNotFound()
      return jsonReply(200, { deleted: true })
    },
  }),
]

function failNotFound(): never {
  throw NOT_FOUND
}
