/** What a step of an exchange has looked at and what it wanted to see, for the policy tester and nobody else. */
import { conditionClaims, type ExchangeStepContext, type FindingsSoFar } from './exchange-steps.js'

type Shown = Readonly<Record<string, string | number | boolean | null | readonly string[]>>

/** Members are named as in the token, in the policy, or on the key. Null where the step could not come to look. */
export interface StepWitness {
  readonly saw: Shown | null
  /** Null where what is wanted is not one value. */
  readonly wanted: Shown | null
}

type Witness = (findings: FindingsSoFar, context: ExchangeStepContext) => StepWitness | null | undefined

const WITNESSES: Readonly<Partial<Record<string, Witness>>> = {
  policy: (_, { request: { policyId } }) => ({ saw: { federation_policy_id: policyId }, wanted: null }),
  enabled: ({ policy }) => policy && { saw: { enabled: policy.enabled }, wanted: { enabled: true } },
  plan: ({ policy }, { ports }) =>
    policy && {
      saw: { plan: ports.accounts.organization(policy.organizationId)?.plan ?? null },
      wanted: { plan: ['business', 'enterprise'] },
    },
  issuer: ({ policy, issuer }) =>
    policy && { saw: { issuer_id: policy.issuerId, issuer_url: issuer?.issuerUrl ?? null }, wanted: null },
  token: ({ token }) =>
    token && { saw: { alg: token.alg, kid: token.kid }, wanted: { alg: ['ES256', 'RS256'] } },
  iss: ({ issuer, token }) =>
    token && { saw: { iss: token.claims.issuer }, wanted: issuer ? { iss: issuer.issuerUrl } : null },
  'issuer-keys': ({ issuer }) =>
    issuer && { saw: { issuer_url: issuer.issuerUrl, jwks_url: issuer.jwksUrl }, wanted: null },
  'signing-key': ({ token, 'signing-key': key }) =>
    token && {
      saw: key ? { kid: key.kid, alg: key.alg } : {},
      wanted: { kid: token.kid, alg: token.alg },
    },
  expiry: ({ token }, { ports }) =>
    token && { saw: { exp: token.claims.expiresAt }, wanted: { exp_after: ports.clock.unixSeconds() } },
  'not-before': ({ token }, { ports }) =>
    token && {
      saw: { nbf: token.claims.notBefore, iat: token.claims.issuedAt },
      wanted: { not_after: ports.clock.unixSeconds() },
    },
  subject: ({ policy, token }) =>
    policy && token
      ? {
          saw: { sub: token.claims.subject },
          wanted: policy.subject === null ? null : { sub: policy.subject },
        }
      : null,
  audience: ({ policy, token }) =>
    policy && token ? { saw: { aud: token.claims.audiences }, wanted: { aud: policy.audience } } : null,
  'scopes-check': ({ policy, token }) => {
    if (!policy || !token) return null
    const { scopes } = policy.claimChecks
    return { saw: { scopes: token.claims.scopes }, wanted: scopes === null ? null : { scopes } }
  },
  'token-type-check': ({ policy, token }) => {
    if (!policy || !token) return null
    const { tokenType } = policy.claimChecks
    const wanted = tokenType === null ? null : { token_type: tokenType }
    return { saw: { token_type: token.claims.tokenType }, wanted }
  },
  condition: ({ policy, token }) => {
    if (!policy || !token || policy.condition === null) return null
    return { saw: { ...conditionClaims(token.claims) }, wanted: { condition: policy.condition } }
  },
  'target-key': ({ policy }) => policy && { saw: { api_key_hash: policy.apiKeyHash }, wanted: null },
}

/** What a step has seen and wanted; without values for a step that tells none. */
export function witnessOf(step: string, findings: FindingsSoFar, context: ExchangeStepContext): StepWitness {
  return WITNESSES[step]?.(findings, context) ?? { saw: null, wanted: null }
}
