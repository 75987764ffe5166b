/** What the operator may do with the keys that sign access tokens. Each change leaves a row in the audit. */
import { type Clock, unixMs } from '../../base/clock.js'
import type { SigningKeys } from '../../identity/signing-keys.js'
import type { FederationStore } from '../../store/federation-store.js'
import { type AuditActor, changeAuditRow } from '../audit-log.js'

export class SigningKeyService {
  constructor(
    private readonly keys: Pick<SigningKeys, 'rotate' | 'drop'>,
    private readonly store: Pick<FederationStore, 'appendAudit'>,
    private readonly clock: Clock,
  ) {}

  /** Lets the next key sign, in every worker; resolves with its `kid`. */
  async rotate(actor: AuditActor): Promise<string> {
    const kid = await this.keys.rotate()
    await this.appendRow(actor, 'signing-key.rotate', kid)
    return kid
  }

  /** Takes a key out of use; resolves with the `kid` that signs now, null when there is no such key. */
  async drop(actor: AuditActor, kid: string): Promise<string | null> {
    const active = await this.keys.drop(kid)
    if (active !== null) await this.appendRow(actor, 'signing-key.drop', kid)
    return active
  }

  private appendRow(
    actor: AuditActor,
    action: `signing-key.${'rotate' | 'drop'}`,
    kid: string,
  ): Promise<void> {
    const row = changeAuditRow(actor, action, unixMs(this.clock), { reason: `kid ${kid}` })
    return this.store.appendAudit([row])
  }
}
