/** Issuers, policies, their test and the audit on the wire (contract/gateway 10.4). Times are ISO 8601. */
import { z } from 'zod'
import { dataAnswer, pageAnswer, recordEncoder } from '../../http/answers.js'
import { boundedString, noteOptions } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { AUDIT_TRAILS, type FederationAuditRow, type FederationPolicy } from '../../store/federation-store.js'

const Name = boundedString(1, 256)
const Url = boundedString(1, 2048)
/** Texts that are compared with claims, which are no longer either. */
const Claim = boundedString(1, 512)
export const Condition = boundedString(1, 2000)
const Id = boundedString(1, 256)

const Unknown = z
  .unknown()
  .refine(() => false, noteOptions('is no member of this object'))
  .meta({ not: {} })

/** An unknown member might be meant as a restriction, so it is refused rather than dropped. */
export const closedObject = <T extends z.ZodRawShape>(shape: T) => z.object(shape).catchall(Unknown)

export const IssuerIn = nameSchema(
  'FederationIssuerIn',
  closedObject({
    name: Name,
    issuer_url: Url.meta({ description: 'Equal to the tokens’ `iss`, character by character; https.' }),
    jwks_url: Url.nullable()
      .optional()
      .meta({ description: 'Where the keys are; without it, discovery tells.' }),
  }),
)

export const IssuerChanges = nameSchema(
  'FederationIssuerChanges',
  closedObject({ name: Name.optional(), issuer_url: Url.optional(), jwks_url: Url.nullable().optional() }),
)

const ClaimChecks = closedObject({
  scopes: Claim.nullable()
    .optional()
    .meta({ description: 'An entry that the list `scopes` must have, or without it the text `scope`.' }),
  token_type: Claim.nullable().optional().meta({ description: 'What the claim `token_type` must be.' }),
})

const policyFields = {
  issuer_id: Id,
  audience: Claim.meta({ description: 'Equal to one entry of `aud`.' }),
  api_key_hash: Id.meta({ description: 'Hash of the workspace key that tokens act as.' }),
}
const policyOptions = {
  subject: Claim.nullable().optional().meta({ description: 'Equal to `sub`; needed without a condition.' }),
  condition: Condition.nullable().optional().meta({
    description: 'CEL over `subject`, `audience`, `scopes` and `token_type`; needed without a subject.',
  }),
  enabled: z.boolean().optional(),
  claim_checks: ClaimChecks.optional(),
}

export const PolicyIn = nameSchema('FederationPolicyIn', closedObject({ ...policyFields, ...policyOptions }))

export const PolicyChanges = nameSchema(
  'FederationPolicyChanges',
  closedObject({
    issuer_id: policyFields.issuer_id.optional(),
    audience: policyFields.audience.optional(),
    api_key_hash: policyFields.api_key_hash.optional(),
    ...policyOptions,
  }),
)

const times = { created_at: z.string(), updated_at: z.string().nullable() }

export const Issuer = nameSchema(
  'FederationIssuer',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    name: z.string(),
    issuer_url: z.string(),
    jwks_url: z.string().nullable(),
    ...times,
  }),
)

export const Policy = nameSchema(
  'FederationPolicy',
  z.object({
    id: z.string().meta({ description: 'What workloads send as `federation_policy_id`.' }),
    organization_id: z.string(),
    issuer_id: z.string(),
    subject: z.string().nullable(),
    audience: z.string(),
    condition: z.string().nullable(),
    api_key_hash: z.string(),
    enabled: z.boolean(),
    claim_checks: z.object({ scopes: z.string().optional(), token_type: z.string().optional() }),
    ...times,
  }),
)

const AuditEntry = nameSchema(
  'FederationAuditEntry',
  z.object({
    id: z.string(),
    created_at: z.string(),
    trail: z.enum(AUDIT_TRAILS),
    action: z.string(),
    actor: z.string().nullable().meta({
      description: 'Hash of the management key, or the `sub` of a verified token; null when unknown.',
    }),
    policy_id: z.string().nullable(),
    issuer_id: z.string().nullable(),
    api_key_hash: z.string().nullable(),
    outcome: z.string(),
    reason: z.string().nullable(),
    request_id: z.string().nullable(),
    address: z.string().nullable(),
  }),
)

export const AuditList = pageAnswer(AuditEntry)
export const SigningKid = dataAnswer(
  z.object({ kid: z.string().meta({ description: 'The key that signs from now on.' }) }),
)

// ── Records as answers ──────────────────────────────────────────────────────

export const encodeIssuer = recordEncoder(Issuer)
const encodePolicyRecord = recordEncoder(Policy)
const encodeAuditRecord = recordEncoder(AuditEntry)

export function encodePolicy(policy: FederationPolicy): z.infer<typeof Policy> {
  const { scopes, tokenType } = policy.claimChecks
  const claimChecks = {
    ...(scopes !== null && { scopes }),
    ...(tokenType !== null && { token_type: tokenType }),
  }
  return encodePolicyRecord({ ...policy, claimChecks })
}

export function encodeAuditRow(row: FederationAuditRow): z.infer<typeof AuditEntry> {
  return encodeAuditRecord({ ...row, createdAt: row.at, apiKeyHash: row.keyHash })
}
