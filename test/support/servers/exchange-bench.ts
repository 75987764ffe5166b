/** An exchange with everything around it in memory, and the clock in the test's hands. */

import { randomBytes } from 'node:crypto'
import { NEVER_ABORTED } from '../../../src/base/cancellation.js'
import { Fault } from '../../../src/base/fault.js'
import {
  type DryRunReport,
  TokenExchange,
  type TokenExchangeRequest,
} from '../../../src/federation/exchange.js'
import { IssuerKeyCache } from '../../../src/federation/issuer-key-cache.js'
import { AccessTokenAuthority, type MintedAccessToken } from '../../../src/identity/access-token.js'
import { createSealer } from '../../../src/identity/sealing-key.js'
import { SigningKeys } from '../../../src/identity/signing-keys.js'
import type { ApiKey, Organization } from '../../../src/store/account-store.js'
import type {
  FederationAuditRow,
  FederationIssuer,
  FederationPolicy,
} from '../../../src/store/federation-store.js'
import type { ConditionClaims, ConditionOutcome } from '../../../workers/tasks.js'
import { keyOf, organizationOf } from '../data/accounts.js'
import { issuerOf, policyOf } from '../data/federation.js'
import { issuerKey, NOW } from '../data/subject-tokens.js'
import { RingInMemory } from '../models/federation-memory.js'
import { ScriptedIssuers } from '../providers/scripted-issuers.js'
import { FakeClock } from '../timing/fake-clock.js'

/** Signs the tokens of issuer 1. */
export const ISSUER_KEY = issuerKey('ES256', 'issuer key')

export class ExchangeBench {
  readonly clock = new FakeClock(NOW)
  readonly issuers = new Map<string, FederationIssuer>()
  readonly policies = new Map<string, FederationPolicy>()
  readonly organizations = new Map<string, Organization>()
  readonly keys = new Map<string, ApiKey>()
  readonly web = new ScriptedIssuers()
  readonly audit: FederationAuditRow[] = []
  readonly judged: { readonly text: string; readonly claims: ConditionClaims }[] = []
  /** Tokens that were refused before their signature was checked, and cost as much nevertheless. */
  readonly equalized: string[] = []
  /** What conditions come to. */
  condition: ConditionOutcome | Fault = { met: true, failure: null }
  readonly signingKeys = new SigningKeys({
    store: new RingInMemory(),
    sealer: createSealer(randomBytes(32)),
    clock: this.clock,
  })
  readonly tokens = new AccessTokenAuthority({
    signingKeys: this.signingKeys,
    clock: this.clock,
    baseUrl: 'https://gateway.example',
  })
  readonly exchange = new TokenExchange({
    federation: {
      policies: { get: (id) => this.policies.get(id) ?? null },
      issuers: { get: (id) => this.issuers.get(id) ?? null },
    },
    accounts: {
      organization: (id) => this.organizations.get(id) ?? null,
      key: (hash) => this.keys.get(hash) ?? null,
    },
    issuerKeys: new IssuerKeyCache({ fetch: this.web.fetch, clock: this.clock, allowLoopback: false }),
    conditions: {
      evaluate: async (text, claims) => {
        this.judged.push({ text, claims })
        if (this.condition instanceof Fault) throw this.condition
        return this.condition
      },
      explain: async () => null,
    },
    accessTokens: this.tokens,
    audit: { append: (row) => void this.audit.push(row) },
    timing: { spendVerificationTime: async (token) => void this.equalized.push(token) },
    clock: this.clock,
  })

  /** With one organization, issuer, policy and key, which fit. */
  static async start(): Promise<ExchangeBench> {
    const bench = new ExchangeBench()
    await bench.signingKeys.maintain()
    bench.add(organizationOf(1, { plan: 'business' }), issuerOf(1), policyOf(1), keyOf(1))
    bench.web.publish(issuerOf(1).jwksUrl!, [ISSUER_KEY.jwk])
    return bench
  }

  add(organization: Organization, issuer: FederationIssuer, policy: FederationPolicy, key: ApiKey): void {
    this.organizations.set(organization.id, organization)
    this.issuers.set(issuer.id, issuer)
    this.policies.set(policy.id, policy)
    this.keys.set(key.hash, key)
  }

  /** Other values for the policy every test begins with. */
  policy(more: Partial<FederationPolicy>): void {
    this.policies.set(policyOf(1).id, policyOf(1, more))
  }

  request(subjectToken: string, policyId = policyOf(1).id): TokenExchangeRequest {
    return { policyId, subjectToken, caller: NEVER_ABORTED, address: '192.0.2.7', requestId: 'req-7' }
  }

  /** A minted token, or the fault. */
  async run(subjectToken: string, policyId?: string): Promise<MintedAccessToken | Fault> {
    try {
      return await this.exchange.exchange(this.request(subjectToken, policyId))
    } catch (error) {
      if (error instanceof Fault) return error
      throw error
    }
  }

  /** Why a token is refused; null when it is not. */
  async refusal(subjectToken: string, policyId?: string): Promise<string | null> {
    const outcome = await this.run(subjectToken, policyId)
    if (!(outcome instanceof Fault)) return null
    return outcome.kind === 'invalid-grant' ? this.audit.at(-1)!.reason : outcome.kind
  }

  examine(subjectToken: string, policyId?: string): Promise<DryRunReport> {
    return this.exchange.dryRun(this.request(subjectToken, policyId))
  }
}
