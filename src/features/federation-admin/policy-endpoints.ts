import { Fault } from '../../base/fault.js'
import { actorOfCaller } from '../../federation/admin/actor.js'
import type { PolicyService } from '../../federation/admin/policy-service.js'
import type { DryRunExchange } from '../../federation/admin/ports.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import { PAGING_PARAMS, pageView } from './paging.js'
import {
  Deleted,
  PolicyAnswer,
  PolicyChanges,
  PolicyIn,
  PolicyList,
  PolicyTestAnswer,
  PolicyTestIn,
} from './schema.js'
import { policyTestView, policyView } from './views.js'

const operation = endpointGroup({ tag: 'federation', dialect: gateway, access: 'management' })

const PATH = '/api/v1/federation/policies'
const PolicyId = { id: idParam('Id of the policy.') }
const NOT_FOUND = new Fault('item-not-found')
/** What a token says about a workload is for nobody on the way. */
const UNSTORED = [['Cache-Control', 'no-store']] as const

export const policyEndpoints = (policies: () => PolicyService, examine: DryRunExchange): Endpoint[] => [
  ...recordEndpoints(policies),
  operation('test_federation_policy', `POST ${PATH}/{id}/test`, {
    summary: 'Show what each step of an exchange makes of a token, and issue nothing',
    readsAddress: true,
    params: PolicyId,
    body: PolicyTestIn,
    replies: { 200: { description: 'Every step with its outcome', schema: PolicyTestAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const { id } = policies().find(caller.organizationId, params.id) ?? failNotFound()
      const { address, requestId } = call
      const subjectToken = body.subject_token
      const report = await examine({ policyId: id, subjectToken, caller: call, address, requestId })
      return jsonReply(200, { data: policyTestView(report) }, UNSTORED)
    },
  }),
]

const recordEndpoints = (policies: () => PolicyService): Endpoint[] => [
  operation('list_federation_policies', `GET ${PATH}`, {
    summary: 'List the policies of the organization, oldest first',
    query: PAGING_PARAMS,
    replies: { 200: { description: 'A page of policies', schema: PolicyList } },
    handle: ({ caller, query }) =>
      jsonReply(200, pageView(policies().list(caller.organizationId), query, policyView)),
  }),
  operation('create_federation_policy', `POST ${PATH}`, {
    summary: 'Let tokens of an issuer act as a key',
    readsAddress: true,
    body: PolicyIn,
    replies: { 201: { description: 'The policy, on disk', schema: PolicyAnswer } },
    faults: ['unavailable'],
    handle: async ({ caller, body }, call) =>
      jsonReply(201, { data: policyView(await policies().create(actorOfCaller(caller, call), body, call)) }),
  }),
  operation('read_federation_policy', `GET ${PATH}/{id}`, {
    summary: 'Read one policy',
    params: PolicyId,
    replies: { 200: { description: 'The policy', schema: PolicyAnswer } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) =>
      jsonReply(200, {
        data: policyView(policies().find(caller.organizationId, params.id) ?? failNotFound()),
      }),
  }),
  operation('update_federation_policy', `PATCH ${PATH}/{id}`, {
    summary: 'Change, pause or enable a policy, from the next exchange on',
    readsAddress: true,
    params: PolicyId,
    body: PolicyChanges,
    replies: { 200: { description: 'The policy as it is now, on disk', schema: PolicyAnswer } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const changed = await policies().change(actorOfCaller(caller, call), params.id, body, call)
      return jsonReply(200, { data: policyView(changed ?? failNotFound()) })
    },
  }),
  operation('delete_federation_policy', `DELETE ${PATH}/{id}`, {
    summary: 'Delete a policy; tokens it has issued stay good until they expire',
    readsAddress: true,
    params: PolicyId,
    replies: { 200: { description: 'It is gone, on disk', schema: Deleted } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      if (!(await policies().remove(actorOfCaller(caller, call), params.id))) failNotFound()
      return jsonReply(200, { deleted: true })
    },
  }),
]

function failNotFound(): never {
  throw NOT_FOUND
}
