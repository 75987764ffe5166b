/** Organizations, issuers and policies of tests. */
import type {
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
} from '../../../src/store/federation-store.js'
import { BEGAN, hashOf, idOf } from './accounts.js'
import { AUDIENCE, ISSUER, SUBJECT } from './subject-tokens.js'

export function issuerOf(n: number, more: Partial<FederationIssuer> = {}): FederationIssuer {
  return {
    id: idOf(1_000 + n),
    organizationId: idOf(1),
    name: `issuer ${n}`,
    issuerUrl: ISSUER,
    jwksUrl: `${ISSUER}/keys`,
    createdAt: BEGAN,
    updatedAt: null,
    ...more,
  }
}

export function policyOf(n: number, more: Partial<FederationPolicy> = {}): FederationPolicy {
  return {
    id: idOf(2_000 + n),
    organizationId: idOf(1),
    issuerId: idOf(1_001),
    subject: SUBJECT,
    audience: AUDIENCE,
    condition: null,
    apiKeyHash: hashOf(1),
    enabled: true,
    claimChecks: { scopes: null, tokenType: null },
    version: 1,
    createdAt: BEGAN,
    updatedAt: null,
    ...more,
  }
}

export function auditOf(n: number, more: Partial<FederationAuditRow> = {}): FederationAuditRow {
  return {
    id: idOf(3_000 + n),
    at: BEGAN + n,
    trail: 'changes',
    organizationId: idOf(1),
    action: 'policy.create',
    actor: hashOf('admin'),
    policyId: idOf(2_001),
    issuerId: idOf(1_001),
    keyHash: hashOf(1),
    outcome: 'done',
    reason: null,
    requestId: 'req-1',
    address: '192.0.2.1',
    ...more,
  }
}
