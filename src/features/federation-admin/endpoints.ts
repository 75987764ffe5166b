import { Fault } from '../../base/fault.js'
import { actorOfCaller, signingKeyAuditRow } from '../../federation/admin/actor.js'
import { readAuditPage } from '../../federation/admin/audit-log.js'
import { IssuerService } from '../../federation/admin/issuer-service.js'
import { PolicyService } from '../../federation/admin/policy-service.js'
import type { FederationAdminPorts } from '../../federation/admin/ports.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import { issuerEndpoints } from './issuer-endpoints.js'
import { PAGING_PARAMS, TRAIL_PARAM } from './paging.js'
import { policyEndpoints } from './policy-endpoints.js'
import { AuditList, SigningKid } from './schema.js'
import { auditView } from './views.js'

const operation = endpointGroup({ tag: 'federation', dialect: gateway, access: 'management' })
const NO_SUCH_KEY = new Fault('item-not-found')
const NOT_OPERATOR = new Fault('forbidden', { note: 'Only the operator can perform this operation' })

/** Management of workload identity federation (contract/gateway 10.4, contract/decisions 26, 32, 37 and 38). */
export const federationAdminEndpoints = (ports: FederationAdminPorts): Endpoint[] => {
  // Taken when a call comes: to describe the operations no port is needed.
  const issuers = lazily(() => new IssuerService(ports.federation, ports.clock, ports))
  const policies = lazily(() => new PolicyService(ports))
  return [
    ...issuerEndpoints(issuers),
    ...policyEndpoints(policies, (request) => ports.dryRun(request)),
    auditEndpoint(ports),
    ...keyEndpoints(ports),
  ]
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

const auditEndpoint = (ports: FederationAdminPorts): Endpoint =>
  operation('list_federation_audit', 'GET /api/v1/federation/audit', {
    summary: 'List changes and exchanges, newest first',
    query: { ...PAGING_PARAMS, trail: TRAIL_PARAM },
    replies: { 200: { description: 'A page of the audit', schema: AuditList } },
    faults: ['unavailable'],
    handle: async ({ caller, query: { trail, offset, limit } }) => {
      await ports.flushAudit()
      const { rows, total } = readAuditPage(ports.federation, caller.organizationId, trail, offset, limit)
      return jsonReply(200, { data: rows.map(auditView), total_count: total })
    },
  })

const keyEndpoints = (ports: FederationAdminPorts): Endpoint[] => [
  operation('rotate_signing_keys', 'POST /api/v1/federation/signing-keys/rotate', {
    summary: 'Let the next key sign access tokens; for the operator',
    readsAddress: true,
    replies: { 200: { description: 'It does, in every worker', schema: SigningKid } },
    faults: ['forbidden', 'unavailable'],
    handle: async ({ caller }, call) => {
      if (!caller.operator) throw NOT_OPERATOR
      const kid = await ports.rotateKeys()
      await ports.federation.appendAudit([
        signingKeyAuditRow(ports.clock, actorOfCaller(caller, call), 'signing-key.rotate', kid),
      ])
      return jsonReply(200, { data: { kid } })
    },
  }),
  operation('drop_signing_key', 'DELETE /api/v1/federation/signing-keys/{kid}', {
    summary: 'Take a signing key out of use, with every token it has signed; for the operator',
    readsAddress: true,
    params: { kid: idParam('`kid` of a published key.') },
    replies: { 200: { description: 'It is gone; another key signs, in every worker', schema: SigningKid } },
    faults: ['forbidden', 'item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      if (!caller.operator) throw NOT_OPERATOR
      const kid = await ports.dropKey(params.kid)
      if (kid === null) throw NO_SUCH_KEY
      const row = signingKeyAuditRow(ports.clock, actorOfCaller(caller, call), 'signing-key.drop', params.kid)
      await ports.federation.appendAudit([row])
      return jsonReply(200, { data: { kid } })
    },
  }),
]
