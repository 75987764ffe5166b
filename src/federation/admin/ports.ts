/** The management of federation, as operations and commands use it. */
import type { Clock } from '../../base/clock.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FederationStore } from '../../store/federation-store.js'
import type { DryRunReport, TokenExchangeRequest } from '../exchange.js'
import type { IssuerCheck, IssuerKeySource } from '../issuer-key-cache.js'
import type { IssuerService } from './issuer-service.js'
import type { PolicyService } from './policy-service.js'
import type { SigningKeyService } from './signing-key-service.js'

export interface FederationAdmin {
  readonly federation: FederationStore
  readonly accounts: AccountStore
  readonly clock: Clock
  readonly issuers: IssuerService
  readonly policies: PolicyService
  readonly signingKeys: SigningKeyService
  /** Reads a token as an exchange would, and tells what each step makes of it. */
  readonly dryRun: (request: TokenExchangeRequest) => Promise<DryRunReport>
  /** Fetches the key set of an issuer as an exchange would, at most every half minute. */
  readonly checkIssuer: (issuer: IssuerKeySource) => Promise<IssuerCheck>
  /** Resolves when rows that this worker has gathered can be read. */
  readonly flushAudit: () => Promise<void>
}
