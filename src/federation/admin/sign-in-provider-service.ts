/** What a management key may do with the OpenID providers that members of its organization sign in with. */
import { isDeepStrictEqual } from 'node:util'
import type { Cancellation } from '../../base/cancellation.js'
import { applyChanges } from '../../base/changes.js'
import { type Clock, unixMs } from '../../base/clock.js'
import { invalidInput } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import type { Sealer } from '../../identity/sealing-key.js'
import type { DirectoryConnections } from '../../store/directory-store.js'
import type { SessionStore, SignInProvider } from '../../store/session-store.js'
import { type AuditActor, changeAuditRow } from '../audit-log.js'
import { issuerUrlDefect } from '../issuer-url.js'
import { changeIf } from './conditional-change.js'

/**
 * What can be changed of a provider, in the words of the wire. Its issuer, its members and the claim that binds the two
 * are what it is: with others it would be another one, and somebody else might be a member.
 */
interface ProviderChanges {
  readonly name?: string | undefined
  readonly client_id?: string | undefined
  readonly client_secret?: string | null | undefined
  readonly scopes?: readonly string[] | undefined
}

type NewProviderInput = ProviderChanges & {
  readonly name: string
  readonly issuer: string
  readonly client_id: string
  readonly connection_id?: string | null | undefined
  readonly subject_claim?: string | undefined
}

interface SignInProviderPorts {
  readonly providers: SessionStore['providers']
  readonly connections: Pick<DirectoryConnections, 'connection'>
  readonly sealer: Pick<Sealer, 'seal'>
  readonly clock: Clock
  readonly allowLoopback: boolean
}

export class SignInProviderService {
  constructor(
    private readonly ports: SignInProviderPorts,
    /** Public base URL, without a slash at its end. */
    readonly baseUrl: string,
  ) {}

  /** Oldest first. */
  list(organizationId: string): readonly SignInProvider[] {
    return this.ports.providers.listOf(organizationId)
  }

  /** Null when there is none or it belongs to another organization: callers cannot tell which. */
  find(organizationId: string, id: string): SignInProvider | null {
    const provider = this.ports.providers.get(id)
    return provider?.organizationId === organizationId ? provider : null
  }

  /** Fails with `invalid-input` when the issuer is not fit or the connection is not the organization's. */
  async create(actor: AuditActor, input: NewProviderInput): Promise<SignInProvider> {
    const { organizationId } = actor
    const { name, issuer, client_id: clientId, connection_id: connectionId = null } = input
    const defect = issuerUrlDefect(issuer, this.ports.allowLoopback)
    if (defect !== null) throw invalidInput(['body', 'issuer'], defect)
    if (connectionId !== null) this.requireOwnConnection(organizationId, connectionId)
    const now = unixMs(this.ports.clock)
    const id = newUuidV7(now)
    const provider: SignInProvider = {
      ...{ id, organizationId, name, connectionId, issuer, clientId },
      sealedSecret: this.sealed(id, input.client_secret ?? null),
      subjectClaim: input.subject_claim ?? 'sub',
      scopes: askedScopes(input.scopes ?? []),
      createdAt: now,
      updatedAt: null,
    }
    await this.ports.providers.add(
      provider,
      changeAuditRow(actor, 'sign-in-provider.create', now, { issuerId: id }),
    )
    return provider
  }

  /**
   * A member that is absent leaves what it names. Null when there is nothing to change. Fails with
   * `precondition-failed` when `allows` does not let the record be replaced.
   */
  async change(
    actor: AuditActor,
    id: string,
    changes: ProviderChanges,
    _caller?: Cancellation,
    allows: (current: SignInProvider) => boolean = () => true,
  ): Promise<SignInProvider | null> {
    if (this.find(actor.organizationId, id) === null) return null
    const { name, client_id: clientId, client_secret: secret, scopes } = changes
    const wanted = {
      name,
      clientId,
      sealedSecret: secret === undefined ? undefined : this.sealed(id, secret),
      scopes: scopes && askedScopes(scopes),
    }
    const now = unixMs(this.ports.clock)
    const row = changeAuditRow(actor, 'sign-in-provider.update', now, { issuerId: id })
    const apply = (current: SignInProvider): SignInProvider => {
      const changed = applyChanges(current, wanted)
      return isDeepStrictEqual(changed, current) ? current : { ...changed, updatedAt: now }
    }
    return changeIf(this.ports.providers, id, allows, apply, row)
  }

  /** False when there is nothing to delete. */
  async remove(actor: AuditActor, id: string): Promise<boolean> {
    if (this.find(actor.organizationId, id) === null) return false
    const now = unixMs(this.ports.clock)
    const row = changeAuditRow(actor, 'sign-in-provider.delete', now, { issuerId: id })
    return await this.ports.providers.remove(id, row)
  }

  private requireOwnConnection(organizationId: string, connectionId: string): void {
    if (this.ports.connections.connection(connectionId)?.organizationId === organizationId) return
    throw invalidInput(['body', 'connection_id'], 'is no connection of this organization')
  }

  private sealed(id: string, secret: string | null): string | null {
    return secret === null ? null : this.ports.sealer.seal(Buffer.from(secret), id)
  }
}

/** Without `openid` there is no ID token. */
function askedScopes(scopes: readonly string[]): readonly string[] {
  return [...new Set(['openid', ...scopes])]
}
