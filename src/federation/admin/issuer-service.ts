/** What a management key may do with issuers: those of its own organization and no others. */
import { isDeepStrictEqual } from 'node:util'
import type { Cancellation } from '../../base/cancellation.js'
import { applyChanges } from '../../base/changes.js'
import { type Clock, unixMs } from '../../base/clock.js'
import { Fault, notedIssue } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import type { FederationIssuer, FederationStore } from '../../store/federation-store.js'
import { type AuditActor, changeAuditRow } from '../audit-log.js'
import { issuerUrlDefect, jwksUrlDefect } from '../issuer-url.js'
import { changeIf } from './conditional-change.js'

/** A new issuer, in the words of the wire (contract/gateway 10.4). */
interface NewIssuerInput {
  readonly name: string
  readonly issuer_url: string
  readonly jwks_url?: string | null | undefined
}

type IssuerChanges = { readonly [K in keyof NewIssuerInput]?: NewIssuerInput[K] | undefined }

export class IssuerService {
  /** @param allowLoopback whether identity providers on this machine may be named */
  constructor(
    private readonly store: FederationStore,
    private readonly clock: Clock,
    private readonly allowLoopback: boolean,
  ) {}

  /** Oldest first. */
  list(organizationId: string): readonly FederationIssuer[] {
    return this.store.issuers.listOf(organizationId)
  }

  /** Null when there is none or it belongs to another organization: callers cannot tell which. */
  find(organizationId: string, id: string): FederationIssuer | null {
    const issuer = this.store.issuers.get(id)
    return issuer?.organizationId === organizationId ? issuer : null
  }

  /** Fails with `invalid-input` when a URL is not fit. */
  async create(actor: AuditActor, input: NewIssuerInput): Promise<FederationIssuer> {
    this.requireValidUrls(input)
    const now = unixMs(this.clock)
    const issuer: FederationIssuer = {
      id: newUuidV7(now),
      organizationId: actor.organizationId,
      name: input.name,
      issuerUrl: input.issuer_url,
      jwksUrl: input.jwks_url ?? null,
      createdAt: now,
      updatedAt: null,
    }
    await this.store.issuers.add(issuer, changeAuditRow(actor, 'issuer.create', now, { issuerId: issuer.id }))
    return issuer
  }

  /**
   * A member that is absent leaves what it names. Null when there is nothing to change. Fails with
   * `precondition-failed` when `allows` does not let the record be replaced.
   */
  async change(
    actor: AuditActor,
    id: string,
    changes: IssuerChanges,
    _caller?: Cancellation,
    allows: (current: FederationIssuer) => boolean = () => true,
  ): Promise<FederationIssuer | null> {
    if (this.find(actor.organizationId, id) === null) return null
    this.requireValidUrls(changes)
    const now = unixMs(this.clock)
    const row = changeAuditRow(actor, 'issuer.update', now, { issuerId: id })
    const apply = (current: FederationIssuer) => applyIssuerChanges(current, changes, now)
    return changeIf(this.store.issuers, id, allows, apply, row)
  }

  /** Its policies stay and refuse (contract/decisions 38). False when there is nothing to delete. */
  async remove(actor: AuditActor, id: string): Promise<boolean> {
    if (this.find(actor.organizationId, id) === null) return false
    const row = changeAuditRow(actor, 'issuer.delete', unixMs(this.clock), { issuerId: id })
    return this.store.issuers.remove(id, row)
  }

  private requireValidUrls({ issuer_url: issuerUrl, jwks_url: jwksUrl }: IssuerChanges): void {
    const defects = {
      issuer_url: issuerUrl === undefined ? null : issuerUrlDefect(issuerUrl, this.allowLoopback),
      jwks_url: jwksUrl == null ? null : jwksUrlDefect(jwksUrl, this.allowLoopback),
    }
    const issues = Object.entries(defects).flatMap(([field, note]) =>
      note === null ? [] : [notedIssue(['body', field], note)],
    )
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
  }
}

/** The very record when nothing changes. */
function applyIssuerChanges(
  current: FederationIssuer,
  { name, issuer_url: issuerUrl, jwks_url: jwksUrl }: IssuerChanges,
  now: number,
): FederationIssuer {
  const changed = applyChanges(current, { name, issuerUrl, jwksUrl })
  return isDeepStrictEqual(changed, current) ? current : { ...changed, updatedAt: now }
}
