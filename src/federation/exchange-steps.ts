/**
 * The checks of an exchange, in their order (RFC 8693; contract/gateway 10.1, contract/decisions 14 to 20 and 37), and
 * two ways to go through them: until the first that fails, or through all of them.
 */
import type { ConditionClaims } from '../../workers/tasks.js'
import type { Cancellation } from '../base/cancellation.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { type MaybePromise, mapMaybe } from '../base/maybe-promise.js'
import type { AccessTokenAuthority } from '../identity/access-token.js'
import { keyRefusal } from '../identity/api-keys.js'
import type { AccountStore } from '../store/account-store.js'
import type { FederationIssuer, FederationPolicy, FederationStore } from '../store/federation-store.js'
import type { ConditionEvaluator } from './condition.js'
import { type IssuerKeyCache, IssuerKeysUnavailable } from './issuer-key-cache.js'
import { type ExchangeRefusal, REFUSAL_SENTENCES } from './refusal.js'
import {
  checkClaimSizes,
  checkExpiry,
  checkNotBeforeAndIssuedAt,
  isTokenSignedBy,
  parseSubjectToken,
  type SubjectClaims,
  type SubjectToken,
} from './subject-token.js'
import type { ImportedKey } from './verification-key.js'

export interface ExchangeStepPorts {
  readonly federation: {
    readonly policies: Pick<FederationStore['policies'], 'get'>
    readonly issuers: Pick<FederationStore['issuers'], 'get'>
  }
  readonly accounts: Pick<AccountStore, 'organization' | 'key'>
  readonly issuerKeys: Pick<IssuerKeyCache, 'find'>
  readonly accessTokens: Pick<AccessTokenAuthority, 'seemsIssuedHere'>
  readonly conditions: Pick<ConditionEvaluator, 'evaluate' | 'explain'>
  readonly clock: Clock
}

/** What a step looks at beside the findings of the steps before it. */
export interface ExchangeStepContext {
  readonly request: {
    readonly policyId: string
    readonly subjectToken: string
    readonly caller: Cancellation
  }
  readonly ports: ExchangeStepPorts
}

/** What steps find, each under its own name; the other steps only pass or fail. */
export interface ExchangeFindings {
  readonly policy: FederationPolicy
  readonly issuer: FederationIssuer
  readonly token: SubjectToken
  readonly 'issuer-keys': { readonly selected: ImportedKey | ExchangeRefusal }
  readonly 'signing-key': ImportedKey
  /** Claims that the issuer is known to have signed. */
  readonly signature: SubjectClaims
}

type ExchangeCheckName =
  | ('enabled' | 'plan' | 'iss' | 'expiry' | 'not-before' | 'sizes' | 'subject' | 'audience')
  | ('scopes-check' | 'token-type-check' | 'condition' | 'target-key')
type ExchangeStepName = keyof ExchangeFindings | ExchangeCheckName

/**
 * What a step comes to: its finding, null when it passes without one, undefined when the policy does not ask for it, or
 * why it fails.
 */
type ExchangeStepOutcome<N extends ExchangeStepName> = N extends keyof ExchangeFindings
  ? ExchangeFindings[N] | ExchangeRefusal
  : ExchangeRefusal | null | undefined

interface ExchangeStep {
  readonly name: ExchangeStepName
  /** Steps without which this one cannot be taken. */
  readonly needs: readonly ExchangeStepName[]
  readonly check: (
    findings: ExchangeFindings,
    context: ExchangeStepContext,
  ) => MaybePromise<object | ExchangeRefusal | null | undefined>
}

/** A check gets to see the findings of the steps it needs, and no others. */
function defineStep<N extends ExchangeStepName, Needs extends ExchangeStepName>(
  name: N,
  needs: readonly Needs[],
  check: (
    findings: Pick<ExchangeFindings, Needs & keyof ExchangeFindings>,
    context: ExchangeStepContext,
  ) => MaybePromise<ExchangeStepOutcome<N>>,
): ExchangeStep {
  return { name, needs, check }
}

const STEPS: readonly ExchangeStep[] = [
  defineStep(
    'policy',
    [],
    (_, { request, ports }) => ports.federation.policies.get(request.policyId) ?? 'policy-unknown',
  ),
  defineStep('enabled', ['policy'], ({ policy: { enabled, subject, condition } }) => {
    if (!enabled) return 'policy-paused'
    // No policy is saved without what identifies a workload; this is for records that came another way.
    return subject === null && condition === null ? 'policy-open' : null
  }),
  // Organization and issuer follow from the policy, never from what the caller says (contract/decisions 17 and 37).
  defineStep('plan', ['policy'], ({ policy }, { ports }) => {
    const plan = ports.accounts.organization(policy.organizationId)?.plan
    return plan === 'business' || plan === 'enterprise' ? null : 'plan-too-small'
  }),
  defineStep('issuer', ['policy'], ({ policy }, { ports }) => {
    const issuer = ports.federation.issuers.get(policy.issuerId)
    return issuer?.organizationId === policy.organizationId ? issuer : 'issuer-unknown'
  }),
  defineStep('token', [], (_, { request }) => parseSubjectToken(request.subjectToken)),
  defineStep('iss', ['issuer', 'token'], ({ issuer, token }, { ports }) => {
    // Whoever takes this gateway for an issuer would let a token live on for ever (contract/decisions 19 and 52).
    if (ports.accessTokens.seemsIssuedHere(token.claims.issuer, token.kid)) return 'token-of-ours'
    return token.claims.issuer === issuer.issuerUrl ? null : 'iss-mismatch'
  }),
  defineStep('issuer-keys', ['issuer', 'token', 'iss'], ({ issuer, token }, { ports }) =>
    mapMaybe(ports.issuerKeys.find(issuer, token.alg, token.kid), (selected) => ({ selected })),
  ),
  defineStep('signing-key', ['issuer-keys'], (findings) => findings['issuer-keys'].selected),
  defineStep('signature', ['token', 'signing-key'], async ({ token, 'signing-key': key }) =>
    (await isTokenSignedBy(token, key)) ? token.claims : 'signature-invalid',
  ),
  defineStep('expiry', ['token'], ({ token }, { ports }) =>
    checkExpiry(token.claims, ports.clock.unixSeconds()),
  ),
  defineStep('not-before', ['token'], ({ token }, { ports }) =>
    checkNotBeforeAndIssuedAt(token.claims, ports.clock.unixSeconds()),
  ),
  defineStep('sizes', ['policy', 'token'], ({ policy: { condition, claimChecks }, token }) =>
    checkClaimSizes(token.claims, condition !== null || claimChecks.scopes !== null),
  ),
  defineStep('subject', ['policy', 'token'], ({ policy: { subject }, token }) =>
    subject === null || subject === token.claims.subject ? null : 'subject-mismatch',
  ),
  defineStep('audience', ['policy', 'token'], ({ policy, token }) =>
    token.claims.audiences.includes(policy.audience) ? null : 'audience-mismatch',
  ),
  defineStep('scopes-check', ['policy', 'token'], ({ policy, token }) => {
    const { scopes } = policy.claimChecks
    return scopes === null || token.claims.scopes?.includes(scopes) === true ? null : 'scopes-check'
  }),
  defineStep('token-type-check', ['policy', 'token'], ({ policy, token }) => {
    const { tokenType } = policy.claimChecks
    return tokenType === null || tokenType === token.claims.tokenType ? null : 'token-type-check'
  }),
  defineStep('condition', ['policy', 'token', 'sizes'], ({ policy, token }, context) =>
    policy.condition === null ? undefined : checkCondition(policy.condition, policy, token.claims, context),
  ),
  defineStep('target-key', ['policy'], ({ policy }, { ports }) => {
    const key = ports.accounts.key(policy.apiKeyHash)
    if (key === null || key.organizationId !== policy.organizationId) return 'key-not-found'
    if (key.kind !== 'workspace') return 'key-kind'
    const refusal = keyRefusal(key, ports.clock.unixSeconds() * 1000)
    return refusal && `key-${refusal}`
  }),
]

async function checkCondition(
  condition: string,
  { organizationId }: FederationPolicy,
  claims: SubjectClaims,
  { request, ports }: ExchangeStepContext,
): Promise<ExchangeRefusal | null> {
  const seen = conditionClaims(claims)
  const { met, failure } = await ports.conditions.evaluate(condition, seen, organizationId, request.caller)
  if (met) return null
  return failure === null ? 'condition-false' : 'condition-failed'
}

/** What a condition sees of a token. */
export function conditionClaims({ subject, audiences, scopes, tokenType }: SubjectClaims): ConditionClaims {
  return { subject, audience: audiences, scopes: scopes ?? [], token_type: tokenType ?? '' }
}

/** The names of the steps, in their order. */
export const EXCHANGE_STEPS = STEPS.map(({ name }) => name)

export type FindingsSoFar = { -readonly [N in keyof ExchangeFindings]?: ExchangeFindings[N] }

/** How far an exchange has come, and why it ended there. */
export class ExchangeProgress {
  readonly findings: FindingsSoFar = {}
  /** Whether a signature has been verified, be it with success or not. */
  hasVerified = false
  /** Null while there is none, or when the exchange ended for a reason outside. */
  refusal: ExchangeRefusal | null = null

  /** Ends the exchange with `invalid-grant`: the log gets the reason, the caller does not. */
  refuse(refusal: ExchangeRefusal): never {
    this.refusal = refusal
    throw new Fault('invalid-grant', { detail: REFUSAL_SENTENCES[refusal] })
  }
}

/** Takes one step after the other until one fails, which ends the exchange. */
export async function runStepsFailFast(
  context: ExchangeStepContext,
  progress: ExchangeProgress,
): Promise<ExchangeFindings> {
  const findings = progress.findings as ExchangeFindings
  const found: Partial<Record<ExchangeStepName, object>> = progress.findings
  for (const { name, check } of STEPS) {
    const pending = check(findings, context)
    const outcome = pending instanceof Promise ? await pending : pending
    if (name === 'signature') progress.hasVerified = true
    if (typeof outcome === 'string') progress.refuse(outcome)
    if (outcome) found[name] = outcome
  }
  return findings
}

export interface ExchangeStepReport {
  readonly step: ExchangeStepName
  /** `skipped` when the step does not apply, or cannot be taken because of one that failed. */
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Stable name of the reason; null when the step has not failed, or failed for a reason outside. */
  readonly refusal: ExchangeRefusal | null
  /** A sentence for people; null when the step has not failed. */
  readonly reason: string | null
}

/** Takes every step that can be taken, past those that fail, and reports them all. */
export async function runAllSteps(
  context: ExchangeStepContext,
): Promise<{ readonly findings: FindingsSoFar; readonly steps: readonly ExchangeStepReport[] }> {
  const findings: FindingsSoFar = {}
  const passed = new Set<ExchangeStepName>()
  const steps: ExchangeStepReport[] = []
  for (const each of STEPS) {
    const isPossible = each.needs.every((needed) => passed.has(needed))
    const result = isPossible ? await tryExchangeStep(each, findings as ExchangeFindings, context) : SKIPPED
    if (result.outcome === 'passed') passed.add(each.name)
    steps.push({ step: each.name, ...result })
  }
  return { findings, steps }
}

const SKIPPED = { outcome: 'skipped', refusal: null, reason: null } as const
const PASSED = { outcome: 'passed', refusal: null, reason: null } as const

async function tryExchangeStep(
  { name, check }: ExchangeStep,
  findings: ExchangeFindings,
  context: ExchangeStepContext,
): Promise<Omit<ExchangeStepReport, 'step'>> {
  try {
    const outcome = await check(findings, context)
    if (outcome === undefined) return SKIPPED
    if (typeof outcome === 'string') {
      return { outcome: 'failed', refusal: outcome, reason: REFUSAL_SENTENCES[outcome] }
    }
    if (outcome !== null) Object.assign(findings, { [name]: outcome })
    return PASSED
  } catch (error) {
    // An issuer whose keys cannot be had fails its step. A full pool decides nothing, so there is no report at all.
    if (!(error instanceof IssuerKeysUnavailable)) throw error
    return { outcome: 'failed', refusal: null, reason: error.reason }
  }
}
