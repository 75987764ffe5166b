/** Policies: what may be saved, and what a token must be to satisfy one. Exact texts, no patterns, no conversion. */
import { notedIssue, type ValidationIssue } from '../base/fault.js'
import { keyRefusal } from '../identity/api-keys.js'
import type { ApiKey, Organization } from '../store/account-store.js'
import type { FederationPolicy } from '../store/federation-store.js'
import type { ExchangeRefusal } from './refusal.js'
import { fitsClaimLength, MAX_CLAIM_CHARS, type SubjectClaims } from './subject-token.js'

/** Whether an organization may use federation (contract/decisions 17). */
export function planIncludesFederation({ plan }: Organization): boolean {
  return plan === 'business' || plan === 'enterprise'
}

/** `sub` is the subject of the policy, when it names one. */
export function checkSubjectClaim(
  { subject }: FederationPolicy,
  claims: SubjectClaims,
): ExchangeRefusal | null {
  return subject === null || subject === claims.subject ? null : 'subject-mismatch'
}

export function checkAudienceClaim(
  { audience }: FederationPolicy,
  claims: SubjectClaims,
): ExchangeRefusal | null {
  return claims.audiences.includes(audience) ? null : 'audience-mismatch'
}

export function checkScopesClaim(
  { claimChecks }: FederationPolicy,
  claims: SubjectClaims,
): ExchangeRefusal | null {
  const { scopes } = claimChecks
  return scopes === null || claims.scopes?.includes(scopes) === true ? null : 'scopes-check'
}

export function checkTokenTypeClaim(
  { claimChecks }: FederationPolicy,
  claims: SubjectClaims,
): ExchangeRefusal | null {
  const { tokenType } = claimChecks
  return tokenType === null || tokenType === claims.tokenType ? null : 'token-type-check'
}

/** What identifies a workload is saved with every policy; this is for records that came another way. */
export function checkPolicyIsRestricted({ subject, condition }: FederationPolicy): ExchangeRefusal | null {
  return subject === null && condition === null ? 'policy-open' : null
}

/** Whether the target key may be acted for now. `now` is Unix time in milliseconds. */
export function checkTargetKey(
  policy: FederationPolicy,
  key: ApiKey | null,
  now: number,
): ExchangeRefusal | null {
  if (key === null || key.organizationId !== policy.organizationId) return 'key-not-found'
  if (key.kind !== 'workspace') return 'key-kind'
  const refusal = keyRefusal(key, now)
  return refusal === null ? null : `key-${refusal}`
}

/** What an administrator decides about a policy. */
export type PolicyDraft = Pick<
  FederationPolicy,
  'issuerId' | 'subject' | 'audience' | 'condition' | 'apiKeyHash' | 'claimChecks'
>

/**
 * Why a draft cannot be saved in an organization; empty when it can. `issuer` and `key` are the records the draft
 * names, or null. Whether the condition is one is for the pool to say (`ConditionEvaluator.check`).
 */
export function policyIssues(
  draft: PolicyDraft,
  organizationId: string,
  issuer: { readonly organizationId: string } | null,
  key: ApiKey | null,
): ValidationIssue[] {
  const { subject, audience, condition, claimChecks } = draft
  const isOwnIssuer = issuer?.organizationId === organizationId
  return [
    fieldIssue(['issuer_id'], isOwnIssuer ? null : 'must be an issuer of the organization'),
    fieldIssue(['subject'], claimTextDefect(subject)),
    fieldIssue(['audience'], claimTextDefect(audience)),
    fieldIssue(['claim_checks', 'scopes'], claimTextDefect(claimChecks.scopes)),
    fieldIssue(['claim_checks', 'token_type'], claimTextDefect(claimChecks.tokenType)),
    fieldIssue(
      ['subject'],
      subject === null && condition === null ? 'must be set when there is no condition' : null,
    ),
    fieldIssue(['api_key_hash'], targetKeyDefect(organizationId, key)),
  ].filter((each) => each !== null)
}

/** @param field its path on the wire (contract/gateway 10.4) */
function fieldIssue(field: readonly string[], defect: string | null): ValidationIssue | null {
  return defect === null ? null : notedIssue(['body', ...field], defect)
}

function claimTextDefect(text: string | null): string | null {
  if (text === null) return null
  if (text === '') return 'must not be empty'
  return fitsClaimLength(text) ? null : `must have at most ${MAX_CLAIM_CHARS} characters`
}

function targetKeyDefect(organizationId: string, key: ApiKey | null): string | null {
  const isKnown = key !== null && key.organizationId === organizationId && key.deletedAt === null
  if (!isKnown) return 'must be a key of the organization'
  return key.kind === 'workspace' ? null : 'must be a workspace key'
}
