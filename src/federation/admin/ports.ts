/** What the management of federation needs, whoever asks for it: an operation or a command. */
import type { Clock } from '../../base/clock.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FederationStore } from '../../store/federation-store.js'
import type { ConditionEvaluator } from '../condition.js'
import type { DryRunReport, TokenExchangeRequest } from '../exchange.js'

/** Reads a token as an exchange would, and tells what each step makes of it. */
export type DryRunExchange = (request: TokenExchangeRequest) => Promise<DryRunReport>

export interface FederationAdminPorts {
  readonly federation: FederationStore
  readonly accounts: AccountStore
  readonly conditions: Pick<ConditionEvaluator, 'check'>
  readonly clock: Clock
  readonly allowLoopback: boolean
  readonly dryRun: DryRunExchange
  /** Lets the next signing key sign; resolves with its `kid`. */
  readonly rotateKeys: () => Promise<string>
  /** Takes a signing key out of use; resolves with the `kid` that signs now, null when there is no such key. */
  readonly dropKey: (kid: string) => Promise<string | null>
  /** Resolves when rows that this worker has gathered can be read. */
  readonly flushAudit: () => Promise<void>
}
