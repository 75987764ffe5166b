/** How the records of federation look on the wire. */
import type { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import type { DryRunReport } from '../../federation/exchange.js'
import type { FederationAuditRow, FederationIssuer, FederationPolicy } from '../../store/federation-store.js'
import type { AuditEntry, Issuer, Policy, PolicyTest } from './schema.js'

export function issuerView(issuer: FederationIssuer): z.infer<typeof Issuer> {
  return {
    id: issuer.id,
    organization_id: issuer.organizationId,
    name: issuer.name,
    issuer_url: issuer.issuerUrl,
    jwks_url: issuer.jwksUrl,
    ...timestampsView(issuer),
  }
}

export function policyView(policy: FederationPolicy): z.infer<typeof Policy> {
  const { scopes, tokenType } = policy.claimChecks
  return {
    id: policy.id,
    organization_id: policy.organizationId,
    issuer_id: policy.issuerId,
    subject: policy.subject,
    audience: policy.audience,
    condition: policy.condition,
    api_key_hash: policy.apiKeyHash,
    enabled: policy.enabled,
    claim_checks: {
      ...(scopes !== null && { scopes }),
      ...(tokenType !== null && { token_type: tokenType }),
    },
    ...timestampsView(policy),
  }
}

export function policyTestView({ passed, steps, claims }: DryRunReport): z.infer<typeof PolicyTest> {
  return {
    passed,
    steps: [...steps],
    claims: claims && {
      iss: claims.issuer,
      sub: claims.subject,
      aud: [...claims.audiences],
      exp: claims.expiresAt,
      nbf: claims.notBefore,
      iat: claims.issuedAt,
      scopes: claims.scopes && [...claims.scopes],
      token_type: claims.tokenType,
    },
  }
}

export function auditView(row: FederationAuditRow): z.infer<typeof AuditEntry> {
  return {
    id: row.id,
    created_at: isoTime(row.at),
    trail: row.trail,
    action: row.action,
    actor: row.actor,
    policy_id: row.policyId,
    issuer_id: row.issuerId,
    api_key_hash: row.keyHash,
    outcome: row.outcome,
    reason: row.reason,
    request_id: row.requestId,
    address: row.address,
  }
}

function timestampsView({
  createdAt,
  updatedAt,
}: {
  readonly createdAt: number
  readonly updatedAt: number | null
}) {
  return { created_at: isoTime(createdAt), updated_at: updatedAt === null ? null : isoTime(updatedAt) }
}
