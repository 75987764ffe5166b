/** Policies: what may be saved, and what a token must be to satisfy one. Exact texts, no patterns, no conversion. */
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

interface PolicyDefect {
  /** Path of the field on the wire (contract/gateway 10.4). */
  readonly field: readonly string[]
  /** End of a sentence that begins with the field's name. */
  readonly note: string
}

/**
 * Why a draft cannot be saved in an organization; empty when it can. `issuer` and `key` are the records the draft
 * names, or null. Whether the condition is one is for the pool to say (`ConditionEvaluator.check`).
 */
export function policyDefects(
  draft: PolicyDraft,
  organizationId: string,
  issuer: { readonly organizationId: string } | null,
  key: ApiKey | null,
): readonly PolicyDefect[] {
  const { subject, audience, condition, claimChecks } = draft
  const defects: (PolicyDefect | null)[] = [
    issuer?.organizationId === organizationId
      ? null
      : policyDefect(['issuer_id'], 'must be an issuer of the organization'),
    claimTextDefect(['subject'], subject),
    claimTextDefect(['audience'], audience),
    claimTextDefect(['claim_checks', 'scopes'], claimChecks.scopes),
    claimTextDefect(['claim_checks', 'token_type'], claimChecks.tokenType),
    subject === null && condition === null
      ? policyDefect(['subject'], 'must be set when there is no condition')
      : null,
    targetKeyDefect(organizationId, key),
  ]
  return defects.filter((each) => each !== null)
}

function claimTextDefect(field: readonly string[], text: string | null): PolicyDefect | null {
  if (text === null) return null
  if (text === '') return policyDefect(field, 'must not be empty')
  return fitsClaimLength(text) ? null : policyDefect(field, `must have at most ${MAX_CLAIM_CHARS} characters`)
}

function targetKeyDefect(organizationId: string, key: ApiKey | null): PolicyDefect | null {
  const known = key !== null && key.organizationId === organizationId && key.deletedAt === null
  if (!known) return policyDefect(['api_key_hash'], 'must be a key of the organization')
  return key.kind === 'workspace' ? null : policyDefect(['api_key_hash'], 'must be a workspace key')
}

function policyDefect(field: readonly string[], note: string): PolicyDefect {
  return { field, note }
}
