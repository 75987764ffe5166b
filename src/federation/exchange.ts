/** The exchange of a subject token for an access token (RFC 8693): once for the wire and once for the policy tester. */
import type { ConditionExplanation } from '../../workers/tasks.js'
import type { Cancellation } from '../base/cancellation.js'
import { unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { AccessTokenAuthority, MintedAccessToken } from '../identity/access-token.js'
import { type AuditLogWriter, exchangeAuditRow } from './audit-log.js'
import {
  conditionClaims,
  type ExchangeFindings,
  ExchangeProgress,
  type ExchangeStepPorts,
  type ExchangeStepReport,
  runAllSteps,
  runStepsFailFast,
} from './exchange-steps.js'
import { type StepWitness, witnessOf } from './exchange-witness.js'
import type { SubjectClaims } from './subject-token.js'
import type { TimingEqualizer } from './timing-equalizer.js'

export interface TokenExchangeRequest {
  readonly policyId: string
  readonly subjectToken: string
  /** Who waits for the answer. */
  readonly caller: Cancellation
  /** For the audit. */
  readonly address: string
  readonly requestId: string
}

interface TokenExchangePorts extends ExchangeStepPorts {
  readonly accessTokens: Pick<AccessTokenAuthority, 'mint' | 'seemsIssuedHere'>
  readonly audit: Pick<AuditLogWriter, 'append'>
  readonly timing: Pick<TimingEqualizer, 'spendVerificationTime'>
}

/** What the policy tester is told. */
export interface DryRunReport {
  /** Whether an exchange would give a token. */
  readonly passed: boolean
  /** Every step, in the order of the exchange. */
  readonly steps: readonly (ExchangeStepReport & StepWitness)[]
  /** What the policy looks at, as the token says it; null when it cannot be read. */
  readonly claims: SubjectClaims | null
  /** Null when there is none, or the token is not such that it could be run. */
  readonly condition: ConditionExplanation | null
}

export class TokenExchange {
  constructor(private readonly ports: TokenExchangePorts) {}

  /**
   * An access token for a subject token that satisfies the named policy, and only that one: other policies for the same
   * issuer and subject are not looked at. Rejects with `invalid-grant` for every reason that lies in token, policy or
   * key, all alike on the wire; with `unavailable` when keys of the issuer cannot be had or the pool is full.
   */
  async exchange(request: TokenExchangeRequest): Promise<MintedAccessToken> {
    const progress = new ExchangeProgress()
    try {
      const findings = await runStepsFailFast({ request, ports: this.ports }, progress)
      const minted = (await this.mint(findings)) ?? progress.refuse('token-too-short-lived')
      this.appendAuditRow(request, progress, 'issued')
      return minted
    } catch (error) {
      if (!progress.hasVerified) await this.ports.timing.spendVerificationTime(request.subjectToken)
      this.appendAuditRow(request, progress, error instanceof Fault ? error.kind : 'internal')
      throw error
    }
  }

  /** Goes through the same steps, past those that fail, and reports each. Issues and audits nothing. */
  async dryRun(request: TokenExchangeRequest): Promise<DryRunReport> {
    const context = { request, ports: this.ports }
    const { findings, steps } = await runAllSteps(context)
    return {
      passed: steps.every(({ outcome }) => outcome !== 'failed'),
      steps: steps.map((report) => ({ ...report, ...witnessOf(report.step, findings, context) })),
      claims: findings.token?.claims ?? null,
      condition: await this.explainCondition(findings, steps, request),
    }
  }

  private async explainCondition(
    { policy, token }: Partial<ExchangeFindings>,
    steps: readonly ExchangeStepReport[],
    { caller }: TokenExchangeRequest,
  ): Promise<ConditionExplanation | null> {
    const isTaken = steps.some(({ step, outcome }) => step === 'condition' && outcome !== 'skipped')
    if (!isTaken || !policy || !token || policy.condition === null) return null
    const claims = conditionClaims(token.claims)
    return this.ports.conditions.explain(policy.condition, claims, policy.organizationId, caller)
  }

  private mint({ policy, signature: claims }: ExchangeFindings): Promise<MintedAccessToken | null> {
    return this.ports.accessTokens.mint({
      subject: claims.subject,
      policyId: policy.id,
      issuerId: policy.issuerId,
      keyHash: policy.apiKeyHash,
      subjectExpiresAt: claims.expiresAt,
    })
  }

  /** No word of a token is written down before its signature is known to be good. */
  private appendAuditRow(
    { requestId, address }: TokenExchangeRequest,
    { findings: { policy, signature }, refusal: reason }: ExchangeProgress,
    outcome: string,
  ): void {
    const at = unixMs(this.ports.clock)
    const actor = signature?.subject ?? null
    this.ports.audit.append(
      exchangeAuditRow(policy ?? null, { at, actor, outcome, reason, requestId, address }),
    )
  }
}
