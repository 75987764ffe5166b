/** What a management key may do with issuers: those of its own organization and no others. */
import type { Clock } from '../../base/clock.js'
import { Fault, Issue } from '../../base/fault.js'
import { uuidV7 } from '../../base/ids.js'
import type { FederationIssuer, FederationStore } from '../../store/federation-store.js'
import { issuerUrlDefect, jwksUrlDefect } from '../issuer-url.js'
import { type Actor, changeRow } from './actor.js'

/** A new issuer, in the words of the wire (contract/gateway 10.4). */
interface Wish {
  readonly name: string
  readonly issuer_url: string
  readonly jwks_url?: string | null | undefined
}

type Changes = { readonly [K in keyof Wish]?: Wish[K] | undefined }

interface IssuerRules {
  /** Whether identity providers on this machine may be named (SLUICE_ALLOW_LOOPBACK_ISSUERS). */
  readonly allowLoopback: boolean
}

export class OwnIssuers {
  constructor(
    private readonly store: FederationStore,
    private readonly clock: Clock,
    private readonly rules: IssuerRules,
  ) {}

  /** Oldest first. */
  all(organizationId: string): readonly FederationIssuer[] {
    return this.store.issuersOf(organizationId)
  }

  /** Null when there is none or it is somebody else's: callers cannot tell which. */
  find(organizationId: string, id: string): FederationIssuer | null {
    const issuer = this.store.issuer(id)
    return issuer?.organizationId === organizationId ? issuer : null
  }

  /** Fails with `invalid-input` when a URL is not fit. */
  async create(actor: Actor, wish: Wish): Promise<FederationIssuer> {
    this.check(wish)
    const now = this.now()
    const issuer: FederationIssuer = {
      id: uuidV7(now),
      organizationId: actor.organizationId,
      name: wish.name,
      issuerUrl: wish.issuer_url,
      jwksUrl: wish.jwks_url ?? null,
      createdAt: now,
      updatedAt: null,
    }
    await this.store.addIssuer(issuer, changeRow(actor, 'issuer.create', now, { issuerId: issuer.id }))
    return issuer
  }

  /** A member that is absent leaves what it names. Null when there is nothing to change. */
  async change(actor: Actor, id: string, changes: Changes): Promise<FederationIssuer | null> {
    if (this.find(actor.organizationId, id) === null) return null
    this.check(changes)
    const now = this.now()
    const row = changeRow(actor, 'issuer.update', now, { issuerId: id })
    return this.store.changeIssuer(id, (current) => changed(current, changes, now), row)
  }

  /** Its policies stay and refuse (contract/decisions 38). False when there is nothing to delete. */
  async remove(actor: Actor, id: string): Promise<boolean> {
    if (this.find(actor.organizationId, id) === null) return false
    return this.store.removeIssuer(id, changeRow(actor, 'issuer.delete', this.now(), { issuerId: id }))
  }

  private check({ issuer_url, jwks_url }: Changes): void {
    const { allowLoopback } = this.rules
    const issues = [
      issueOf('issuer_url', issuer_url === undefined ? null : issuerUrlDefect(issuer_url, allowLoopback)),
      issueOf('jwks_url', jwks_url == null ? null : jwksUrlDefect(jwks_url, allowLoopback)),
    ].filter((each) => each !== null)
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
  }

  private now(): number {
    return Math.floor(this.clock.unixSeconds() * 1000)
  }
}

function issueOf(field: string, note: string | null): Issue | null {
  return note === null ? null : new Issue(['body', field], 'other', undefined, note)
}

function changed(current: FederationIssuer, changes: Changes, now: number): FederationIssuer {
  const { name, issuer_url, jwks_url } = changes
  const next = {
    name: name ?? current.name,
    issuerUrl: issuer_url ?? current.issuerUrl,
    jwksUrl: jwks_url === undefined ? current.jwksUrl : jwks_url,
  }
  const same = (Object.keys(next) as (keyof typeof next)[]).every((key) => next[key] === current[key])
  return same ? current : { ...current, ...next, updatedAt: now }
}
