/** Workload identity as the API tells it; only what is shown. */

export interface Issuer {
  readonly id: string
  readonly name: string
  readonly issuer_url: string
  readonly jwks_url: string | null
  readonly created_at: string
}

export interface IssuerCheck {
  readonly ok: boolean
  readonly reason: string | null
  readonly checked_ago_s: number
  readonly jwks_url: string | null
  readonly keys: readonly { readonly kid: string | null; readonly alg: string }[]
  readonly total_keys: number
}

export interface Policy {
  readonly id: string
  readonly issuer_id: string
  readonly subject: string | null
  readonly audience: string
  readonly condition: string | null
  readonly api_key_hash: string
  readonly enabled: boolean
  readonly claim_checks: { readonly scopes?: string; readonly token_type?: string }
  readonly created_at: string
  readonly updated_at: string | null
}

/** What people change of a policy; null where nothing is asked for. */
export interface Rules {
  readonly issuer_id: string
  readonly api_key_hash: string
  readonly audience: string
  readonly subject: string | null
  readonly condition: string | null
  readonly scopes: string | null
  readonly token_type: string | null
}

export function rulesOf({
  issuer_id,
  api_key_hash,
  audience,
  subject,
  condition,
  claim_checks,
}: Policy): Rules {
  const { scopes = null, token_type = null } = claim_checks
  return { issuer_id, api_key_hash, audience, subject, condition, scopes, token_type }
}

/** Rules as the API takes them. */
export function bodyOf({ scopes, token_type, ...rules }: Rules) {
  return { ...rules, claim_checks: { scopes, token_type } }
}

/** A record with its version. */
export interface Versioned<T> {
  readonly of: T
  readonly etag: string | null
}

/** A key that tokens can act as. */
export interface TargetKey {
  readonly hash: string
  readonly name: string
  readonly creator_user_id: string | null
}

export interface ConditionPart {
  readonly text: string
  readonly kind: string
  readonly type: string
  readonly value: string | null
  readonly error: string | null
  readonly children: readonly ConditionPart[]
}

type Shown = Readonly<Record<string, unknown>> | null

export interface TestedStep {
  readonly step: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly reason: string | null
  readonly saw: Shown
  readonly wanted: Shown
}

export interface PolicyTest {
  readonly passed: boolean
  readonly steps: readonly TestedStep[]
  readonly condition: ConditionPart | null
  readonly would_pass_if: readonly string[]
}

export interface ConditionCheck {
  readonly ok: boolean
  readonly fault: { readonly reason: string; readonly position: number } | null
}

const FEDERATION = 'api/v1/federation'
export const ISSUERS = `${FEDERATION}/issuers`
export const POLICIES = `${FEDERATION}/policies`
export const CONDITION_CHECK = `${FEDERATION}/conditions/check`
export const issuerPath = (id: string): string => `${ISSUERS}/${encodeURIComponent(id)}`
export const policyPath = (id: string): string => `${POLICIES}/${encodeURIComponent(id)}`
