/** What a management key may do with issuers: those of its own organization and no others. */
import type { Clock } from '../../base/clock.js'
import { Fault, ValidationIssue } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import type { FederationIssuer, FederationStore } from '../../store/federation-store.js'
import { issuerUrlDefect, jwksUrlDefect } from '../issuer-url.js'
import { type AuditActor, changeAuditRow } from './actor.js'

/** A new issuer, in the words of the wire (contract/gateway 10.4). */
interface NewIssuerInput {
  readonly name: string
  readonly issuer_url: string
  readonly jwks_url?: string | null | undefined
}

type IssuerChanges = { readonly [K in keyof NewIssuerInput]?: NewIssuerInput[K] | undefined }

interface IssuerRules {
  /** Whether identity providers on this machine may be named (SLUICE_ALLOW_LOOPBACK_ISSUERS). */
  readonly allowLoopback: boolean
}

export class IssuerService {
  constructor(
    private readonly store: FederationStore,
    private readonly clock: Clock,
    private readonly rules: IssuerRules,
  ) {}

  /** Oldest first. */
  list(organizationId: string): readonly FederationIssuer[] {
    return this.store.issuersOf(organizationId)
  }

  /** Null when there is none or it is somebody else's: callers cannot tell which. */
  find(organizationId: string, id: string): FederationIssuer | null {
    const issuer = this.store.issuer(id)
    return issuer?.organizationId === organizationId ? issuer : null
  }

  /** Fails with `invalid-input` when a URL is not fit. */
  async create(actor: AuditActor, wish: NewIssuerInput): Promise<FederationIssuer> {
    this.requireValidUrls(wish)
    const now = this.now()
    const issuer: FederationIssuer = {
      id: newUuidV7(now),
      organizationId: actor.organizationId,
      name: wish.name,
      issuerUrl: wish.issuer_url,
      jwksUrl: wish.jwks_url ?? null,
      createdAt: now,
      updatedAt: null,
    }
    await this.store.addIssuer(issuer, changeAuditRow(actor, 'issuer.create', now, { issuerId: issuer.id }))
    return issuer
  }

  /** A member that is absent leaves what it names. Null when there is nothing to change. */
  async change(actor: AuditActor, id: string, changes: IssuerChanges): Promise<FederationIssuer | null> {
    if (this.find(actor.organizationId, id) === null) return null
    this.requireValidUrls(changes)
    const now = this.now()
    const row = changeAuditRow(actor, 'issuer.update', now, { issuerId: id })
    return this.store.changeIssuer(id, (current) => applyIssuerChanges(current, changes, now), row)
  }

  /** Its policies stay and refuse (contract/decisions 38). False when there is nothing to delete. */
  async remove(actor: AuditActor, id: string): Promise<boolean> {
    if (this.find(actor.organizationId, id) === null) return false
    return this.store.removeIssuer(id, changeAuditRow(actor, 'issuer.delete', this.now(), { issuerId: id }))
  }

  private requireValidUrls({ issuer_url, jwks_url }: IssuerChanges): void {
    const { allowLoopback } = this.rules
    const issues = [
      urlIssue('issuer_url', issuer_url === undefined ? null : issuerUrlDefect(issuer_url, allowLoopback)),
      urlIssue('jwks_url', jwks_url == null ? null : jwksUrlDefect(jwks_url, allowLoopback)),
    ].filter((each) => each !== null)
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
  }

  private now(): number {
    return Math.floor(this.clock.unixSeconds() * 1000)
  }
}

function urlIssue(field: string, note: string | null): ValidationIssue | null {
  return note === null ? null : new ValidationIssue(['body', field], 'other', undefined, note)
}

function applyIssuerChanges(
  current: FederationIssuer,
  changes: IssuerChanges,
  now: number,
): FederationIssuer {
  const { name, issuer_url, jwks_url } = changes
  const next = {
    name: name ?? current.name,
    issuerUrl: issuer_url ?? current.issuerUrl,
    jwksUrl: jwks_url === undefined ? current.jwksUrl : jwks_url,
  }
  const same = (Object.keys(next) as (keyof typeof next)[]).every((key) => next[key] === current[key])
  return same ? current : { ...current, ...next, updatedAt: now }
}
