/**
 * The exchange of a subject token for an access token (RFC 8693; contract/gateway 10.1, contract/decisions 14 to 20
 * and 37): the ordered checks, once for the wire and once for the policy tester.
 */
import type { Cancellation } from '../base/cancellation.js'
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { AccessTokenAuthority, MintedToken } from '../identity/access-token.js'
import type { AccountStore } from '../store/account-store.js'
import type { FederationIssuer, FederationPolicy, FederationStore } from '../store/federation-store.js'
import { type AuditLogWriter, exchangeAuditRow } from './audit-log-writer.js'
import type { ConditionClaims, ConditionEvaluator, ConditionOutcome } from './condition.js'
import type { IssuerKeyCache } from './issuer-key-cache.js'
import {
  checkAudienceClaim,
  checkPolicyIsRestricted,
  checkScopesClaim,
  checkSubjectClaim,
  checkTargetKey,
  checkTokenTypeClaim,
  planIncludesFederation,
} from './policy.js'
import type { ExchangeRefusal } from './refusal.js'
import {
  type ClockLeeway,
  checkClaimSizes,
  checkExpiry,
  checkNotBeforeAndIssuedAt,
  isTokenSignedBy,
  parseSubjectToken,
  type SubjectClaims,
  type SubjectToken,
} from './subject-token.js'
import type { TimingEqualizer } from './timing-equalizer.js'
import { DryRun, type ExchangeStepReport, FailFast, type StepRunner } from './trial.js'

export interface TokenExchangeRequest {
  readonly policyId: string
  readonly subjectToken: string
  /** Who waits for the answer. */
  readonly caller: Cancellation
  /** For the audit. */
  readonly address: string
  readonly requestId: string
}

interface TokenExchangePorts {
  readonly federation: Pick<FederationStore, 'policy' | 'issuer'>
  readonly accounts: Pick<AccountStore, 'organization' | 'key'>
  readonly issuerKeys: Pick<IssuerKeyCache, 'find'>
  readonly conditions: Pick<ConditionEvaluator, 'explainCondition'>
  readonly accessTokens: Pick<AccessTokenAuthority, 'mint'>
  readonly audit: Pick<AuditLogWriter, 'append'>
  readonly timing: Pick<TimingEqualizer, 'spendVerificationTime'>
  readonly clock: Clock
  readonly leeway: ClockLeeway
}

/** What the policy tester is told. */
export interface DryRunReport {
  /** Whether an exchange would give a token. */
  readonly passed: boolean
  /** Every step, in the order of the exchange. */
  readonly steps: readonly ExchangeStepReport[]
  /** What the policy looks at, as the token says it; null when it cannot be read. */
  readonly claims: SubjectClaims | null
}

/** Records that belong together. */
interface PolicyBinding {
  readonly policy: FederationPolicy
  readonly issuer: FederationIssuer | null
}

/** Everything that an exchange has found, in whatever order it failed. */
interface ExchangeFindings {
  policy: FederationPolicy | null
  token: SubjectToken | null
  /** Whether the token is known to be from the issuer; until then none of its words is written down. */
  genuine: boolean
}

export class TokenExchange {
  constructor(private readonly ports: TokenExchangePorts) {}

  /**
   * An access token for a subject token that satisfies the named policy, and only that one: whatever else trusts
   * the same issuer and subject is not looked at. Rejects with `invalid-grant` for every reason that lies in token,
   * policy or key, all alike on the wire; with `unavailable` when keys of the issuer cannot be had or the pool is
   * full.
   */
  async exchange(request: TokenExchangeRequest): Promise<MintedToken> {
    const findings: ExchangeFindings = { policy: null, token: null, genuine: false }
    const trial = new FailFast()
    try {
      await this.run(request, trial, findings)
      const minted = await this.mint(findings.policy!, findings.token!.claims)
      if (minted === null) return trial.refuse('token-too-short-lived')
      this.note(request, findings, 'issued', null)
      return minted
    } catch (error) {
      if (!trial.reached('signature')) await this.ports.timing.spendVerificationTime(request.subjectToken)
      this.note(request, findings, error instanceof Fault ? error.kind : 'internal', trial.refusal)
      throw error
    }
  }

  /** Goes through the same steps, past those that fail, and tells what came of each. Issues and audits nothing. */
  async dryRun(request: TokenExchangeRequest): Promise<DryRunReport> {
    const findings: ExchangeFindings = { policy: null, token: null, genuine: false }
    const trial = new DryRun()
    await this.run(request, trial, findings)
    return { passed: trial.passed, steps: trial.report(), claims: findings.token?.claims ?? null }
  }

  private async run(
    request: TokenExchangeRequest,
    trial: StepRunner,
    findings: ExchangeFindings,
  ): Promise<void> {
    const binding = this.bind(request.policyId, trial, findings)
    const token = trial.took('token', parseSubjectToken(request.subjectToken))
    findings.token = token
    if (token !== null) {
      findings.genuine = await this.authenticate(token, binding?.issuer ?? null, trial)
      this.checkTimesAndSizes(token.claims, trial)
      if (binding !== null) await this.apply(binding.policy, token.claims, request.caller, trial)
    }
    if (binding !== null) trial.checked('target-key', this.targetRefusal(binding.policy))
  }

  /** The policy, its issuer and its organization. Their ids come from the policy, never from the caller. */
  private bind(policyId: string, trial: StepRunner, findings: ExchangeFindings): PolicyBinding | null {
    const { federation, accounts } = this.ports
    const policy = trial.took('policy', federation.policy(policyId) ?? 'policy-unknown')
    if (policy === null) return null
    // Before anything is judged: a refusal belongs into the trail of the policy's organization.
    findings.policy = policy
    trial.checked('enabled', policy.enabled ? checkPolicyIsRestricted(policy) : 'policy-paused')
    const organization = accounts.organization(policy.organizationId)
    const included = organization !== null && planIncludesFederation(organization)
    trial.checked('plan', included ? null : 'plan-too-small')
    const issuer = federation.issuer(policy.issuerId)
    const ours = issuer?.organizationId === policy.organizationId ? issuer : null
    return { policy, issuer: trial.took('issuer', ours ?? 'issuer-unknown') }
  }

  /** Whether the issuer has signed the token. */
  private async authenticate(
    token: SubjectToken,
    issuer: FederationIssuer | null,
    trial: StepRunner,
  ): Promise<boolean> {
    if (issuer === null) return false
    const named = trial.checked('iss', token.claims.issuer === issuer.issuerUrl ? null : 'iss-mismatch')
    if (!named) return false
    const { issuerKeys } = this.ports
    const found = await trial.attempted('issuer-keys', () => issuerKeys.find(issuer, token.alg, token.kid))
    const key = found === null ? null : trial.took('signing-key', found)
    if (key === null) return false
    return trial.checked('signature', (await isTokenSignedBy(token, key)) ? null : 'signature-invalid')
  }

  private checkTimesAndSizes(claims: SubjectClaims, trial: StepRunner): void {
    const now = this.ports.clock.unixSeconds()
    trial.checked('expiry', checkExpiry(claims, now))
    trial.checked('not-before', checkNotBeforeAndIssuedAt(claims, now, this.ports.leeway))
    trial.checked('sizes', checkClaimSizes(claims))
  }

  private async apply(
    policy: FederationPolicy,
    claims: SubjectClaims,
    caller: Cancellation,
    trial: StepRunner,
  ): Promise<void> {
    trial.checked('subject', checkSubjectClaim(policy, claims))
    trial.checked('audience', checkAudienceClaim(policy, claims))
    trial.checked('scopes-check', checkScopesClaim(policy, claims))
    trial.checked('token-type-check', checkTokenTypeClaim(policy, claims))
    if (policy.condition === null || checkClaimSizes(claims) !== null) return
    const outcome = await this.ports.conditions.explainCondition(
      policy.condition,
      conditionClaims(claims),
      caller,
    )
    trial.checked('condition', conditionRefusal(outcome))
  }

  private targetRefusal(policy: FederationPolicy): ExchangeRefusal | null {
    const key = this.ports.accounts.key(policy.apiKeyHash)
    return checkTargetKey(policy, key, this.ports.clock.unixSeconds() * 1000)
  }

  private mint(policy: FederationPolicy, claims: SubjectClaims): Promise<MintedToken | null> {
    return this.ports.accessTokens.mint({
      subject: claims.subject,
      policyId: policy.id,
      issuerId: policy.issuerId,
      keyHash: policy.apiKeyHash,
      subjectExpiresAt: claims.expiresAt,
    })
  }

  private note(
    request: TokenExchangeRequest,
    { policy, token, genuine }: ExchangeFindings,
    outcome: string,
    reason: ExchangeRefusal | null,
  ): void {
    const at = Math.floor(this.ports.clock.unixSeconds() * 1000)
    const actor = genuine && token !== null ? token.claims.subject : null
    this.ports.audit.append(exchangeAuditRow(request, policy, { at, actor, outcome, reason }))
  }
}

/** All that a condition sees. */
function conditionClaims({ subject, audiences, scopes, tokenType }: SubjectClaims): ConditionClaims {
  return { subject, audience: audiences, scopes: scopes ?? [], token_type: tokenType ?? '' }
}

function conditionRefusal({ met, failure }: ConditionOutcome): ExchangeRefusal | null {
  if (met) return null
  return failure === null ? 'condition-false' : 'condition-failed'
}
