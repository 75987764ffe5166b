import { throwFault } from '../../base/fault.js'
import type { FederationAdmin } from '../../federation/admin/ports.js'
import { actorOfCaller, readAuditPage } from '../../federation/audit-log.js'
import type { Endpoint } from '../../http/endpoint.js'
import { PAGING_QUERY } from '../../http/paging.js'
import { choiceParam, idParam } from '../../http/params.js'
import { jsonReply, NO_STORE } from '../../http/reply.js'
import { AUDIT_TRAILS } from '../../store/federation-store.js'
import { operation, recordEndpoints } from './record-endpoints.js'
import {
  AuditList,
  encodeAuditRow,
  encodeIssuer,
  encodePolicy,
  Issuer,
  IssuerChanges,
  IssuerIn,
  Policy,
  PolicyChanges,
  PolicyIn,
  SigningKid,
} from './schema.js'
import {
  ConditionCheckAnswer,
  ConditionCheckIn,
  encodeIssuerCheck,
  encodePolicyTest,
  IssuerCheckAnswer,
  PolicyTestAnswer,
  PolicyTestIn,
} from './test-schema.js'

/**
 * Management of workload identity federation (contract/gateway 10.4, contract/decisions 26, 32, 37 and 38). Parts of
 * `admin` are looked at when a call comes: to describe the operations, none is needed.
 */
export const federationAdminEndpoints = (admin: FederationAdmin): Endpoint[] => [
  ...recordEndpoints({
    noun: ['issuer', 'issuers'],
    names: ['federation_issuer', 'federation_issuers'],
    path: '/api/v1/federation/issuers',
    summaries: {
      list: 'List the issuers that the organization trusts, oldest first',
      create: 'Trust an issuer',
      read: 'Read one issuer',
      update: 'Change an issuer, from the next exchange on',
      delete: 'Trust an issuer no longer; its policies refuse from then on',
    },
    schemas: { input: IssuerIn, changes: IssuerChanges, record: Issuer },
    examples: {
      input: {
        github: { name: 'GitHub Actions', issuer_url: 'https://token.actions.githubusercontent.com' },
        'with-jwks': {
          name: 'Our CI',
          issuer_url: 'https://ci.example.com',
          jwks_url: 'https://ci.example.com/.well-known/jwks.json',
        },
      },
      changes: { renamed: { name: 'GitHub' } },
    },
    encode: encodeIssuer,
    updateFaults: ['item-not-found', 'unavailable'],
    service: admin.issuers,
  }),
  ...recordEndpoints({
    noun: ['policy', 'policies'],
    names: ['federation_policy', 'federation_policies'],
    path: '/api/v1/federation/policies',
    summaries: {
      list: 'List the policies of the organization, oldest first',
      create: 'Let tokens of an issuer act as a key',
      read: 'Read one policy',
      update: 'Change, pause or enable a policy, from the next exchange on',
      delete: 'Delete a policy; tokens it has issued stay good until they expire',
    },
    schemas: { input: PolicyIn, changes: PolicyChanges, record: Policy },
    examples: {
      input: {
        subject: {
          issuer_id: '01a1f979-1e43-72a7-b412-56634c02ee45',
          audience: 'sluice',
          subject: 'repo:acme/app:ref:refs/heads/main',
          api_key_hash: '848b701f3fc237ecbd5d5ecce4c018f37be90d10fbcfae0ce6a996e3a2975eae',
        },
        condition: {
          issuer_id: '01a1f979-1e43-72a7-b412-56634c02ee45',
          audience: 'sluice',
          condition: 'subject.startsWith("repo:acme/") && "deploy" in scopes',
          api_key_hash: '848b701f3fc237ecbd5d5ecce4c018f37be90d10fbcfae0ce6a996e3a2975eae',
        },
      },
      changes: { paused: { enabled: false } },
    },
    encode: encodePolicy,
    updateFaults: ['item-not-found', 'conflict', 'unavailable'],
    service: admin.policies,
  }),
  issuerCheckEndpoint(admin),
  policyTestEndpoint(admin),
  conditionCheckEndpoint(admin),
  auditEndpoint(admin),
  ...signingKeyEndpoints(admin),
]

const issuerCheckEndpoint = (admin: FederationAdmin): Endpoint =>
  operation('check_federation_issuer', 'POST /api/v1/federation/issuers/{id}/check', {
    summary: 'Look for the keys of an issuer at once, as an exchange would, and tell which there are',
    keepsRecords: true,
    params: { id: idParam('Id of the issuer.') },
    replies: { 200: { description: 'What was found, or why nothing was', schema: IssuerCheckAnswer } },
    faults: ['item-not-found'],
    handle: async ({ caller, params }) => {
      const issuer = admin.issuers.find(caller.organizationId, params.id) ?? throwFault('item-not-found')
      return jsonReply(200, { data: encodeIssuerCheck(await admin.checkIssuer(issuer)) }, NO_STORE)
    },
  })

const policyTestEndpoint = (admin: FederationAdmin): Endpoint =>
  operation('test_federation_policy', 'POST /api/v1/federation/policies/{id}/test', {
    summary:
      'Show what each step of an exchange makes of a token and what would make the condition true, and issue nothing',
    keepsRecords: true,
    readsAddress: true,
    params: { id: idParam('Id of the policy.') },
    body: PolicyTestIn,
    examples: { token: { subject_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2ItMSJ9.c2lnbmF0dXJl' } },
    replies: { 200: { description: 'Every step with its outcome', schema: PolicyTestAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }, call) => {
      const policy = admin.policies.find(caller.organizationId, params.id) ?? throwFault('item-not-found')
      const { address, requestId } = call
      const token = { policyId: policy.id, subjectToken: body.subject_token }
      const report = await admin.dryRun({ ...token, caller: call, address, requestId })
      return jsonReply(200, { data: encodePolicyTest(report) }, NO_STORE)
    },
  })

const conditionCheckEndpoint = (admin: FederationAdmin): Endpoint =>
  operation('check_federation_condition', 'POST /api/v1/federation/conditions/check', {
    summary: 'Tell whether a text could be saved as a condition, and if not, why and where',
    keepsRecords: true,
    body: ConditionCheckIn,
    examples: { condition: { condition: 'subject.startsWith("repo:acme/") && "deploy" in scopes' } },
    replies: { 200: { description: 'Whether it could', schema: ConditionCheckAnswer } },
    faults: ['unavailable'],
    handle: async ({ caller, body }, call) => {
      const fault = await admin.policies.checkCondition(caller.organizationId, body.condition, call)
      return jsonReply(200, { data: { ok: fault === null, fault } }, NO_STORE)
    },
  })

const auditEndpoint = (admin: FederationAdmin): Endpoint =>
  operation('list_federation_audit', 'GET /api/v1/federation/audit', {
    summary: 'List changes and exchanges, newest first',
    query: { ...PAGING_QUERY, trail: choiceParam(AUDIT_TRAILS, null, 'Only this trail; all without it.') },
    replies: { 200: { description: 'A page of the audit', schema: AuditList } },
    faults: ['unavailable'],
    handle: async ({ caller, query: { trail, offset, limit } }) => {
      await admin.flushAudit()
      const { rows, total } = await readAuditPage(
        admin.federation,
        caller.organizationId,
        trail,
        offset,
        limit,
      )
      return jsonReply(200, { data: rows.map(encodeAuditRow), total_count: total })
    },
  })

const signingKeyEndpoints = (admin: FederationAdmin): Endpoint[] => [
  operation('rotate_signing_keys', 'POST /api/v1/federation/signing-keys/rotate', {
    summary: 'Let the next key sign access tokens',
    access: 'operator',
    readsAddress: true,
    replies: { 200: { description: 'It does, in every worker', schema: SigningKid } },
    faults: ['unavailable'],
    handle: async ({ caller }, call) => {
      const kid = await admin.signingKeys.rotate(actorOfCaller(caller, call))
      return jsonReply(200, { data: { kid } })
    },
  }),
  operation('drop_signing_key', 'DELETE /api/v1/federation/signing-keys/{kid}', {
    summary: 'Take a signing key out of use, with every token it has signed',
    access: 'operator',
    readsAddress: true,
    params: { kid: idParam('`kid` of a published key.') },
    replies: { 200: { description: 'It is gone; another key signs, in every worker', schema: SigningKid } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }, call) => {
      const kid = await admin.signingKeys.drop(actorOfCaller(caller, call), params.kid)
      return jsonReply(200, { data: { kid: kid ?? throwFault('item-not-found') } })
    },
  }),
]
